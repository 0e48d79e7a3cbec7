"""After a failure: what was mended is told apart from what was not, and only the second stays a failure.

One subject, in Python, that asks octlm and adds an offset: it imports the module with the fault in it.
"""
import json
import os
import shutil
import sys

import pytest
from conftest import FAIL, PASS, lines, octlm

SUBJECT = """
import json, subprocess, sys
import offset
import numpy as np
from safetensors.numpy import load_file, save_file
argument = dict(zip(sys.argv[1::2], sys.argv[2::2]))
print(json.dumps({"name": "wrapped", "version": "1", "dtypes": ["float32"], "devices": ["cpu"], "paths": ["full"]}), flush=True)
line = sys.stdin.readline()
if not line:
    sys.exit()
done = subprocess.run([PROGRAM, "logits", "--model", argument["--model"], "--out", argument["--out"]], input=line,
                      capture_output=True, text=True, check=True)
tensors = {name: tensor + np.float32(offset.VALUE) for name, tensor in load_file(argument["--out"]).items()}
save_file(tensors, argument["--out"])
print(done.stdout, end="", flush=True)
"""


@pytest.fixture
def engine(tmp_path):
    """A subject that is wrong by offset.VALUE, in a folder of its own."""
    folder = tmp_path / "engine"
    folder.mkdir()
    (folder / "engine.py").write_text(f"PROGRAM = {os.environ['OCTLM_PROGRAM']!r}\n" + SUBJECT)
    (folder / "offset.py").write_text("VALUE = 1.0\n")
    return folder


@pytest.fixture
def run(claim, tiny, engine, tmp_path, project):
    checkpoint = shutil.copytree(tiny, tmp_path / "model")
    claim(subject={"engine": "octlm", "dtype": "float32", "devices": ["cpu"], "paths": ["full"]})
    count = iter(range(100))

    def run():
        out = tmp_path / f"run-{next(count)}"
        result = octlm("run", "EXP-950", "--model", f"tiny={checkpoint}", "--out", out, "--subject",
                       f"{sys.executable} {engine / 'engine.py'}")
        return result, lines(out, "experiment")[0], out

    return run


def test_a_mended_import_is_another_engine_and_passes(run, engine):
    result, failed, first = run()
    assert (result.returncode, failed["verdict"]) == (FAIL, "fail"), result.stdout + result.stderr
    attempts = failed["trust"]["attempts"]["cpu"]
    assert "wrapped 1 and 3 files against transformers" in attempts["engines"]
    (engine / "offset.py").write_text("VALUE = 0.0\n")
    result, passed, out = run()
    assert (result.returncode, passed["verdict"]) == (PASS, "pass"), passed
    assert passed["trust"]["attempts"]["cpu"]["attempt"] == 1
    for text in (result.stderr, (out / "summary.md").read_text(), (out / "junit.xml").read_text()):
        assert "wrapped 1 and 3 files against transformers" in text
    shown = octlm("show", "EXP-950").stdout
    told_apart = {line.rpartition("[")[2] for line in shown.splitlines() if "wrapped 1" in line}
    assert len(told_apart) == 2, shown
    # Back to what failed.
    (engine / "offset.py").write_text("VALUE = 1.0\n")
    _, again, _ = run()
    assert again["trust"]["attempts"]["cpu"]["attempt"] == 2
    assert octlm("audit").returncode == PASS


def test_a_pass_after_a_fail_of_the_same_engine_names_the_attempt_and_the_way_on(run, project, engine):
    (engine / "offset.py").write_text("VALUE = 0.0\n")
    result, passed, first = run()
    assert passed["verdict"] == "pass"
    journal = project / "reports" / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"verdict":"pass"', '"verdict":"fail"'))
    intent = json.loads(journal.read_text().splitlines()[0])
    result, again, _ = run()
    assert (result.returncode, again["verdict"]) == (FAIL, "fail")
    reason = again["reason"]
    assert "failed before with the same spec, code and engines" in reason
    assert f"the attempt of {intent['time']}, run {first}" in reason
    assert "change the code or the engines" in reason and "wrapped 1 and 3 files" in reason and "amend the spec" in reason


def test_an_unpinned_checkpoint_that_was_mended_is_another_attempt(run, engine, tmp_path):
    _, failed, _ = run()
    config = tmp_path / "model" / "config.json"
    config.write_text(config.read_text().replace("}", ', "use_cache": true}'))
    _, other, _ = run()
    assert other["trust"]["attempts"]["cpu"]["attempt"] == 1
    config.touch()  # nothing was mended
    _, same, _ = run()
    assert same["trust"]["attempts"]["cpu"]["attempt"] == 2
