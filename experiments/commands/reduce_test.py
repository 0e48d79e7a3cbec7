"""`octlm reduce`: a failing case of a record, cut to its shortest failing beginning by running it again."""
import json
import pathlib
import shlex
import sys

import pytest
from conftest import FAIL, PASS, PROGRAM, REFUSED, UNREGISTERED, lines, octlm, one_line, spec

# An engine that is ours, but that adds to a logit from position 3 on. Without a cache: the path is not looked at.
BROKEN = f"""
import json, subprocess, sys
from safetensors.numpy import load_file, save_file
if "--capabilities" in sys.argv:
    print(json.dumps({{"name": "broken", "version": "1", "dtypes": ["float32"], "devices": ["cpu"], "paths": ["full"]}}), flush=True)
    arguments = [word for word in sys.argv[1:] if word != "--capabilities"]
else:
    arguments = sys.argv[1:]
done = subprocess.run(["{PROGRAM}", "logits", *arguments], input=sys.stdin.read(), text=True, capture_output=True)
out = arguments[arguments.index("--out") + 1]
tensors = load_file(out)
for rows in tensors.values():
    rows[3:, 7] += 0.5
save_file(tensors, out)
print(done.stdout, end="")
"""


@pytest.fixture
def failed(tiny, project, tmp_path, claim):
    """A run in which the case of nine tokens fails, and the case of two holds."""
    claim(subject=spec()["subject"] | {"paths": ["full"]},
          cases=[{"name": "two", "token_ids": [1, 5]}, {"name": "nine", "token_ids": [1, 5, 9, 2, 60, 4, 4, 8, 1]}])
    engine = tmp_path / "broken engine.py"
    engine.write_text(BROKEN)
    done = octlm("run", "EXP-950", "--model", f"tiny={tiny}", "--subject", f"'{sys.executable}' '{engine}'",
                 "--out", tmp_path / "run")
    assert done.returncode == FAIL, done.stdout + done.stderr
    return tmp_path / "run"


def test_the_shortest_failing_beginning_and_a_command_that_shows_it(failed, project):
    done = octlm("reduce", failed)
    assert done.returncode == PASS, done.stderr
    assert "nine, full, cpu, float32: the first 4 of 9 tokens fail (bisected" in done.stdout
    assert "token_ids: [1,5,9,2]\n" in done.stdout
    assert "4 tokens: max_abs_error@1 0.5" in done.stdout and "3 tokens: max_abs_error@1" in done.stdout
    command = done.stdout.splitlines()[-1]
    assert command.startswith("./octlm run ") and "exit code is 3" in done.stdout
    words = shlex.split(command)
    written = json.loads(pathlib.Path(words[2]).read_text())
    assert written["cases"] == [{"name": "first 4", "token_ids": [1, 5, 9, 2]}]
    again = octlm(*words[1:])
    assert again.returncode == UNREGISTERED, again.stdout + again.stderr
    shown = (project / "reports" / "latest").resolve()
    assert lines(shown, "experiment")[0]["verdict"] == "fail"
    assert lines(shown, "comparison")[0]["positions"] == 4
    assert lines(shown, "comparison")[0]["worst"]["position"] == 3
    assert octlm("reduce", failed).stdout.splitlines()[-1] != command, "a fresh file each time"


def test_what_does_not_fail_is_refused(failed, tmp_path, project):
    assert '"two" does not fail' in one_line(octlm("reduce", failed, "two"), REFUSED)
    message = one_line(octlm("reduce", failed, "nein"), REFUSED)
    assert 'there is no case "nein"' in message and "nine" in message
    assert octlm("reduce", tmp_path / "nowhere").returncode == REFUSED
    assert octlm("reduce", failed, "nine", "--out", tmp_path / "broken engine.py").returncode == REFUSED
    engine = tmp_path / "broken engine.py"
    engine.write_text(engine.read_text().replace("+= 0.5", "+= 0.0"))
    done = octlm("reduce", failed)  # the engine was mended
    assert done.returncode == REFUSED and "does not fail" in done.stderr
    file = project / "experiments" / "registered" / "EXP-950.json"
    file.write_text(file.read_text().replace("0.001", "0.002"))
    assert "was edited since the run" in one_line(octlm("reduce", failed), REFUSED)
