"""The workflow of ci.md: it is YAML, its commands exist, and what they read is what a run writes."""
import os
import pathlib
import re
import shlex
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "ci.md").read_text()


@pytest.fixture(scope="module")
def steps():
    yaml = pytest.importorskip("yaml", reason="not run: no PyYAML (it comes with the reference's environment)")
    workflow = yaml.safe_load(re.search(r"^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL).group(1))
    assert set(workflow) == {"name", True, "permissions", "jobs"}, "YAML reads the key `on` as true"
    job, = workflow["jobs"].values()
    assert job["container"] == "debian:12", "the system that ./octlm installs packages on"
    return job["steps"]


def commands(steps):
    return [shlex.split(step["run"]) for step in steps if step.get("run", "").startswith("./octlm")]


def test_each_step_does_one_thing(steps):
    for step in steps:
        assert ("run" in step) != ("uses" in step), step
        assert set(step) <= {"name", "run", "uses", "with", "if"}, step
    assert [words[1] for words in commands(steps)] == ["test", "run", "report"]


def test_each_option_is_one_of_its_command(steps):
    for _, command, *words in commands(steps):
        help_text = (ROOT / "setup" / "help" / f"{command}.txt").read_text()
        for word in words:
            if word.startswith("--"):
                assert re.search(rf"^  {re.escape(word)}\b", help_text, re.MULTILINE), f"{command} has no {word}"


def test_what_is_shown_and_kept_is_what_the_run_writes(steps):
    out = next(words[words.index("--out") + 1] for words in commands(steps) if words[1] == "run")
    summary, = [step for step in steps if "GITHUB_STEP_SUMMARY" in step.get("run", "")]
    assert summary["run"] == f'cat {out}/summary.md >> "$GITHUB_STEP_SUMMARY"'
    artifact, = [step for step in steps if step.get("uses", "").startswith("actions/upload-artifact@")]
    assert artifact["with"]["path"] == out
    for step in (summary, artifact):
        assert step["if"] == "${{ !cancelled() }}", "the page of a red run is the one that is wanted"


def test_the_steps_run_where_nothing_can_be_compared(steps, tmp_path):
    """Those after the tests, as the workflow's shell runs them, without weights and reference: 4, and the summary is there."""
    (tmp_path / "octlm").write_text(f'#!/bin/sh\nexec "{os.environ["OCTLM_PROGRAM"]}" "$@"\n')
    (tmp_path / "octlm").chmod(0o755)
    for folder in ("registered", "prompts"):
        (tmp_path / "experiments").mkdir(exist_ok=True)
        (tmp_path / "experiments" / folder).symlink_to(ROOT / "experiments" / folder)
    (tmp_path / "experiments" / "ledger.jsonl").write_bytes((ROOT / "experiments" / "ledger.jsonl").read_bytes())
    variables = os.environ | {"OCTLM_ROOT": str(tmp_path), "OCTLM_VENV_PYTHON": "/no/such/python",
                              "XDG_CACHE_HOME": str(tmp_path / "cache"), "GITHUB_STEP_SUMMARY": str(tmp_path / "shown.md")}
    codes = {}
    for step in steps:
        if "run" not in step or step["run"] == "./octlm test" or step["run"].startswith("apt-get"):
            continue
        done = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, capture_output=True, text=True,
                              timeout=120, env=variables, check=False)
        codes[step["name"]] = done.returncode
    assert list(codes.values()) == [4, 0, 0], codes
    assert (tmp_path / "shown.md").read_text().startswith("## octlm: ")
    assert (tmp_path / "reports" / "index.html").exists() and (tmp_path / "reports" / "ci" / "report.html").exists()
