"""A verdict rests on the files that its spec pins, and on nothing else in the checkpoint's folder."""
import hashlib
import os
import shutil

import pytest
from conftest import PASS, UNREGISTERED, lines, octlm, pinned

ERROR = 4


@pytest.fixture
def checkpoint(tiny, tmp_path):
    return shutil.copytree(tiny, tmp_path / "checkpoint")


def run(project, checkpoint):
    result = octlm("run", "EXP-950", "--model", f"tiny={checkpoint}")
    return result, lines(project / "reports" / "latest", "experiment")[0]


def test_what_is_pinned_counts_and_what_nobody_reads_may_lie_there(project, claim, checkpoint):
    claim()
    for name in ("README.md", "generation_config.json", "chat_template.jinja", "vocab.json"):
        (checkpoint / name).write_text("{}")  # no engine of an experiment about logits with ids reads them
    result, experiment = run(project, checkpoint)
    assert (result.returncode, experiment["label"]) == (PASS, "confirmatory"), result.stdout + result.stderr
    assert "unpinned" not in experiment["trust"]


@pytest.mark.parametrize("name", ["adapter_config.json", "other.safetensors.index.json", "modeling.py"])
def test_a_file_that_is_read_and_not_pinned_does_not_count(name, project, claim, checkpoint):
    claim()
    (checkpoint / name).write_text("{}")
    result, experiment = run(project, checkpoint)
    assert (result.returncode, experiment["label"], experiment["verdict"]) == (UNREGISTERED, "unpinned", "pass")
    digest = hashlib.sha256(b"{}").hexdigest()
    assert experiment["trust"]["unpinned"] == {name: digest}
    folder = project / "reports" / "latest"
    assert lines(folder, "started")[0]["identity"]["unpinned"] == {name: digest}
    said = f"EXP-950 is unpinned: confirmatory in the ledger, but files were read that its spec does not pin: {name};"
    assert said in " ".join(result.stdout.split()), result.stdout
    assert name in (folder / "summary.md").read_text()
    assert octlm("publish", folder).returncode == PASS
    assert octlm("audit").returncode == PASS


def test_weights_that_no_hash_pins_do_not_count(project, claim, tiny, checkpoint):
    claim(model=pinned(tiny, ["config.json"]))
    result, experiment = run(project, checkpoint)
    assert (result.returncode, experiment["label"]) == (UNREGISTERED, "unpinned")
    assert list(experiment["trust"]["unpinned"]) == ["model.safetensors"]


def test_a_fifo_in_the_folder_is_one_line_and_no_wait(project, claim, checkpoint):
    claim()
    os.mkfifo(checkpoint / "generation_config.json")
    result, experiment = run(project, checkpoint)
    assert (result.returncode, experiment["verdict"]) == (ERROR, "error")
    assert experiment["reason"].endswith("generation_config.json: not a regular file")


@pytest.mark.parametrize("name", ["../config.json", "/etc/passwd", "a/../../b", "a\\b", "a\u0000b", "", "sub/"])
def test_a_spec_pins_no_file_elsewhere(name, put_claim):
    file = put_claim(model={"id": "tiny", "files": {name: "sha256:" + "0" * 64}})
    result = octlm("check", file)
    assert result.returncode == 2 and "not the name of a file in the checkpoint's folder" in result.stderr
