"""The commands that the program prints, typed as they are printed: vllm-project/vllm#33545."""
import re
import shutil
import subprocess

import pytest
from conftest import PASS, PROGRAM, REFUSED, UNREGISTERED, octlm, one_line

NAMES = ["plain", "with space", "it's", 'a"b', "$HOME `id`", "a\\b", "-dash", "NAME=x", "line\nbreak", "é;&"]


@pytest.fixture
def root(project):
    """The project, with a launcher that hands over."""
    (project / "octlm").write_text(f'#!/bin/sh\nexec "{PROGRAM}" "$@"\n')
    (project / "octlm").chmod(0o755)
    return project


def printed(result):
    return re.findall(r"^  (\./octlm .*|mv .*)$", result.stderr, re.MULTILINE)


def typed(command, root):
    return subprocess.run(["bash", "-c", command], cwd=root, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("name", NAMES)
def test_what_new_prints_works_as_printed(name, tiny, root):
    shutil.copytree(tiny, root / name)
    result = octlm("new", "checkpoint_load", "--model", root / name, "--id", "EXP-955", cwd=root)
    assert result.returncode == PASS, result.stderr
    commands = printed(result)
    assert [command.split()[1] for command in commands] == ["check", "register", "run"]
    assert typed(commands[0], root).returncode == PASS
    assert typed(commands[1], root).returncode == REFUSED, "what says REPLACE is still to be written"
    ran = typed(commands[-1], root)
    assert ran.returncode == UNREGISTERED and "EXP-955 cpu: pass" in ran.stderr, ran.stdout + ran.stderr


@pytest.mark.parametrize("name", ["a b.json", "-x.json", "$x.json"])
def test_a_spec_elsewhere_is_first_moved_to_where_claims_stand(name, tiny, root):
    result = octlm("new", "checkpoint_load", "--model", tiny, "--id", "EXP-955", f"--out={name}", cwd=root)
    assert result.returncode == PASS, result.stderr
    commands = printed(result)
    assert [command.split()[0] for command in commands] == ["./octlm", "mv", "./octlm", "./octlm"]
    for command in commands[:2]:
        assert typed(command, root).returncode == PASS, command
    assert (root / "experiments" / "registered" / "EXP-955.json").exists()
    assert typed(commands[-1], root).returncode == UNREGISTERED


def test_fetch_is_only_offered_for_what_it_can_fetch(write_spec, tmp_path):
    def remedy(model):
        return octlm("run", write_spec(model=model), "--out", tmp_path / str(hash(str(model)))).stdout

    unfetchable = remedy({"id": "tiny"})
    assert "./octlm fetch" not in unfetchable and "--model tiny=FOLDER" in unfetchable
    assert "--model 'my model=FOLDER'" in remedy({"id": "my model"})
    commit = "a" * 40
    assert f"./octlm fetch org/name --revision {commit}" in remedy({"id": "org/name", "revision": commit})


@pytest.mark.parametrize("argument, offered", [
    ("no/such/folder", False), ("./m", False), ("a b", False), ("/abs/none", False),
    ("qwen3-mini-synthetic", True), ("org/name", True)])
def test_a_folder_that_is_not_there_is_not_offered_to_be_fetched(argument, offered, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    message = one_line(octlm("tokenize", "--model", argument), REFUSED)
    assert ("./octlm fetch" in message) == offered, message


def test_a_name_with_an_equals_sign_is_found(tiny, write_spec, tmp_path, monkeypatch):
    monkeypatch.setenv("OCTLM_VENV_PYTHON", "/no/python")
    folder = shutil.copytree(tiny, tmp_path / "a=b")
    result = octlm("run", write_spec(model={"id": "x=y"}), "--model", f"x=y={folder}", "--out", tmp_path / "out")
    assert result.returncode == UNREGISTERED and "no Python environment" in result.stdout
