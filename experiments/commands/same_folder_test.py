"""Two at once in one folder: the second is refused and hears of the first; what a killed one left does not block."""
import signal
import subprocess
import sys
import time

import pytest
from conftest import ERROR, PROGRAM, REFUSED, lines, octlm, one_line

# A subject that is asked what it can do, waits until it may say so, and cannot do what is asked.
SUBJECT = """
import json, os, pathlib, sys, time
folder = pathlib.Path(os.environ["MEETING"])
(folder / "asked").touch()
while not (folder / "go").exists():
    time.sleep(0.02)
print(json.dumps({"name": "slow", "version": "1", "dtypes": ["float64"], "devices": ["cpu"], "paths": ["full"]}), flush=True)
"""


@pytest.fixture
def first(write_spec, tiny, tmp_path, monkeypatch):
    """A run that is at work in tmp_path/out."""
    monkeypatch.setenv("MEETING", str(tmp_path))
    (tmp_path / "engine").mkdir()  # alone: what stands beside an engine is part of which one it is
    (tmp_path / "engine" / "subject.py").write_text(SUBJECT)
    process = subprocess.Popen([PROGRAM, "run", str(write_spec()), "--model", f"tiny={tiny}", "--subject",
                                f"{sys.executable} {tmp_path / 'engine' / 'subject.py'}", "--out", str(tmp_path / "out")],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not (tmp_path / "asked").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    yield process
    (tmp_path / "go").touch()
    process.kill()
    process.wait()


# dimensionalOS/dimos#3630: one results.jsonl with the lines of both.
@pytest.mark.parametrize("second", ["out", "resume", "record", "publish"])
def test_the_second_is_refused_and_writes_nothing(first, second, write_spec, tiny, tmp_path):
    out = tmp_path / "out"
    before = (out / "results.jsonl").read_bytes()
    pinned = {"id": "tiny", "files": {"model.safetensors": "sha256:" + "0" * 64}}
    commands = {"out": ["run", write_spec(), "--model", f"tiny={tiny}", "--out", out], "resume": ["run", "--resume", out],
                "record": ["record", write_spec(model=pinned), "--model", f"tiny={tiny}", "--out", out], "publish": ["publish", out]}
    message = one_line(octlm(*commands[second]), REFUSED)
    assert f"{out}: process {first.pid} is at work in it" in message
    assert (out / "results.jsonl").read_bytes() == before
    assert sorted(path.name for path in out.iterdir()) == [".lock", "results.jsonl"]
    (tmp_path / "go").touch()
    first.wait(timeout=60)
    assert not (out / ".lock").exists() and lines(out, "summary")


def test_a_killed_run_blocks_nobody(first, tmp_path):
    first.send_signal(signal.SIGKILL)
    first.wait()
    (tmp_path / "go").touch()
    assert (tmp_path / "out" / ".lock").exists()
    result = octlm("run", "--resume", tmp_path / "out")
    assert result.returncode not in (REFUSED, None), result.stderr
    assert lines(tmp_path / "out", "summary") and not (tmp_path / "out" / ".lock").exists()


def test_a_recording_that_comes_to_nothing_leaves_no_folder(write_spec, tmp_path):
    pinned = {"id": "tiny", "files": {"model.safetensors": "sha256:" + "0" * 64}}
    (tmp_path / "there").mkdir()
    for name in ("new", "there"):
        assert octlm("record", write_spec(model=pinned), "--out", tmp_path / name).returncode == ERROR  # no checkpoint
    assert not (tmp_path / "new").exists() and list((tmp_path / "there").iterdir()) == []
