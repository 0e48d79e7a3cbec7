"""A program of somebody else's ends when octlm does, however octlm ends, with the folder that it worked in."""
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time
import uuid

import pytest
from conftest import PROGRAM, lines

GONE_WITHIN_S = 6  # two seconds of grace, and a slow machine

IGNORES = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
"""
# Leaves its process group, its session and its parent.
LEAVES = IGNORES + """
if os.fork() == 0:
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
"""
HANGS = """
print("here", file=sys.stderr, flush=True)
time.sleep(600)
"""
# Stays, and hangs in its first answer.
SESSION = """
import json
greeting = {"name": "fake", "version": "1", "dtypes": ["float32"], "devices": ["cpu"], "paths": ["full", "cached:every"],
            "session": True}
print(json.dumps(greeting), flush=True)
if "--session" in sys.argv:
    print('{"ready": true}', flush=True)
    sys.stdin.readline()
"""


def processes(marker):
    """Of this marker, zombies left out: a zombie has no command line."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and marker.encode() in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            pass
    return found


def wait_for(holds, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return holds()


@pytest.fixture
def started(tiny, claim, tmp_path, monkeypatch):
    """octlm, at work with the program `body`; the folder of its temporary files; the marker."""
    running = []

    def start(body):
        claim()
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        monkeypatch.setenv("TMPDIR", str(scratch))
        engine = tmp_path / "engine.py"
        engine.write_text(body)
        marker = f"marker-{uuid.uuid4()}"
        command = shlex.join([sys.executable, "-B", "-I", str(engine), marker])
        octlm = subprocess.Popen([PROGRAM, "run", "EXP-950", "--model", f"tiny={tiny}", "--subject", command],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        running.append((octlm, marker))
        return octlm, scratch, marker

    yield start
    for octlm, marker in running:
        octlm.kill()
        octlm.wait()
        for process in processes(marker):
            os.kill(process, signal.SIGKILL)


def at_work(scratch, said="here"):
    return any(said in file.read_text(errors="replace") for file in scratch.glob("*/stderr"))


ENDS = {
    "SIGINT": ([signal.SIGINT], 130),
    "SIGTERM": ([signal.SIGTERM], 143),
    "SIGINT twice": ([signal.SIGINT, signal.SIGINT], -signal.SIGINT),
    "SIGHUP": ([signal.SIGHUP], -signal.SIGHUP),
    "SIGKILL": ([signal.SIGKILL], -signal.SIGKILL),
}


@pytest.mark.parametrize("body", [IGNORES, LEAVES], ids=["ignores SIGTERM", "leaves its session"])
@pytest.mark.parametrize("end", ENDS)
def test_it_ends_with_octlm(end, body, started):
    signals, code = ENDS[end]
    octlm, scratch, marker = started(body + HANGS)
    assert wait_for(lambda: at_work(scratch), 30)
    assert len(processes(marker)) >= 3  # octlm, the supervisor, the program
    for number in signals:
        octlm.send_signal(number)
        time.sleep(0.3)
    assert octlm.wait(GONE_WITHIN_S) == code
    assert wait_for(lambda: not processes(marker), GONE_WITHIN_S), "it is still at work"
    assert wait_for(lambda: not list(scratch.iterdir()), GONE_WITHIN_S), "its folder was left"


def test_one_that_stays_ends_with_octlm(started):
    octlm, scratch, marker = started(LEAVES + SESSION + HANGS)
    assert wait_for(lambda: at_work(scratch), 90)
    octlm.kill()
    assert wait_for(lambda: not processes(marker), GONE_WITHIN_S), "it is still at work"
    assert wait_for(lambda: not list(scratch.iterdir()), GONE_WITHIN_S), "its folder was left"


def test_a_run_that_was_interrupted_while_it_hung_goes_on_later(started, project):
    """What the signal stopped is not run, so --resume makes it; a crash of the program would be an error."""
    octlm, scratch, _ = started(IGNORES + HANGS)
    assert wait_for(lambda: at_work(scratch), 30)
    octlm.send_signal(signal.SIGINT)
    assert octlm.wait(GONE_WITHIN_S) == 130
    left, = {line["reason"] for line in lines(project / "reports" / "latest", "not_compared")}
    assert left == "the run was interrupted"


def test_it_does_not_outlive_its_supervisor(started):
    octlm, scratch, marker = started(IGNORES + HANGS)
    assert wait_for(lambda: at_work(scratch), 30)
    for process in processes(marker):
        if pathlib.Path(f"/proc/{process}/comm").read_text().startswith("octlm-superviso"):
            os.kill(process, signal.SIGKILL)
    assert octlm.wait(GONE_WITHIN_S) == 4
    assert not processes(marker)
