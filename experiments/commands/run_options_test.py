"""The options of `octlm run` that choose, end and hand out: -k, --last-failed, --fail-fast, --dry-run, --junit, --open.

The experiments count the tensors of the tiny checkpoint, which takes no reference: one that expects another count fails.
"""
import fcntl
import json
import os
import pty
import shlex
import struct
import subprocess
import termios

import pytest
from conftest import ERROR, FAIL, PASS, PROGRAM, REFUSED, UNREGISTERED, lines, octlm, one_line, spec

TENSORS = 2 + 2 * 11


def load_spec(id, tensors=TENSORS, **changes):
    document = spec(id=id, kind="checkpoint_load", subject={"engine": "octlm", "devices": ["cpu"]},
                    cases=[{"name": "weights"}], criteria=[{"metric": "stored_tensors@1", "equals": tensors}], **changes)
    del document["reference"]
    return document


@pytest.fixture
def three(project):
    """EXP-951 holds, EXP-952 fails, EXP-953 holds and is tagged slow; nothing else is registered."""
    registered = project / "experiments" / "registered"
    for file in registered.glob("*.json"):
        file.unlink()
    documents = [load_spec("EXP-951", title="Counts tensors", tags=["load"]),
                 load_spec("EXP-952", TENSORS - 1, title="Counts wrongly", tags=["wrong"]),
                 load_spec("EXP-953", title="Counts again", tags=["slow"])]
    for document in documents:
        file = registered / f"{document['id']}.json"
        file.write_text(json.dumps(document))
        done = octlm("register", file, "--prior-results", "none")
        assert done.returncode == PASS, done.stderr
    return registered


@pytest.fixture
def run(three, tiny, tmp_path):
    def go(*arguments, out="out", **keywords):
        return octlm("run", *arguments, "--model", f"tiny={tiny}", "--out", tmp_path / out, **keywords)

    return go


def ran(folder):
    return [line["id"] for line in lines(folder, "experiment")]


# -k.


@pytest.mark.parametrize("expression, ids", [
    ("951", ["EXP-951"]), ("wrong", ["EXP-952"]), ("counts and not wrong", ["EXP-951"]),
    ("wrongly or LOAD", ["EXP-951", "EXP-952"]), ("checkpoint_load", ["EXP-951", "EXP-952"])])
def test_k_chooses_by_id_title_tag_and_kind(expression, ids, run, tmp_path):
    run("-k", expression)
    assert ran(tmp_path / "out") == ids


def test_k_chooses_among_those_named(run, tmp_path):
    assert run("*", "-k", "again").returncode == PASS
    assert ran(tmp_path / "out") == ["EXP-953"]


@pytest.mark.parametrize("expression, says", [
    ("nothing_like_it", "matches none of EXP-951, EXP-952"), ("again", "tagged slow"),
    ("951 and", "column 8: expected a word"), ("(951", "expected ')'")])
def test_k_that_selects_nothing_is_refused(expression, says, run, tmp_path):
    assert says in one_line(run("-k", expression), REFUSED)
    assert not (tmp_path / "out").exists()


# --fail-fast.


def test_fail_fast_ends_after_the_first_that_fails(run, tmp_path):
    done = run("*", "--fail-fast")
    assert done.returncode == FAIL
    assert ran(tmp_path / "out") == ["EXP-951", "EXP-952"]
    summary = lines(tmp_path / "out", "summary")[0]
    assert summary["not_started"] == ["EXP-953"] and summary["interrupted"] is False
    assert summary["not_run"] == 1 and summary["pass"] == 1
    assert "2 of 3 planned comparisons were made" in done.stdout
    assert "EXP-953 everything: not started" in done.stdout
    assert "EXP-953" in (tmp_path / "out" / "report.html").read_text()


def test_fail_fast_ends_after_one_that_breaks(run, tmp_path, tiny):
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "config.json").write_text((tiny / "config.json").read_text())
    (bad / "model.safetensors").write_bytes(b"\xff" * 64)
    done = octlm("run", "EXP-951", "EXP-953", "--fail-fast", "--model", f"tiny={bad}", "--out", tmp_path / "out")
    assert done.returncode in (FAIL, ERROR)
    assert ran(tmp_path / "out") == ["EXP-951"]


# --last-failed.


def test_last_failed_takes_those_of_the_newest_run(three, tiny, project):
    model = f"tiny={tiny}"
    refused = octlm("run", "--last-failed", "--model", model)
    assert "there is no run in" in one_line(refused, REFUSED)
    assert octlm("run", "*", "--model", model).returncode == FAIL
    assert octlm("run", "--last-failed", "--model", model).returncode == FAIL
    newest = (project / "reports" / "latest").resolve()
    assert ran(newest) == ["EXP-952"]
    assert lines(newest, "run")[0]["request"]["selection"] == ["EXP-952"]  # for --resume, as it was chosen
    assert "none of those named" in one_line(octlm("run", "EXP-951", "--last-failed", "--model", model), REFUSED)
    assert octlm("run", "EXP-951", "--model", model).returncode == PASS
    assert "nothing failed or broke in the newest run" in one_line(octlm("run", "--last-failed", "--model", model), REFUSED)


# --dry-run.


def test_a_dry_run_says_what_and_writes_nothing(three, tiny, project, tmp_path):
    before = sorted(project.rglob("*"))
    done = octlm("run", "*", "--dry-run", "--model", f"tiny={tiny}", "--out", tmp_path / "out")
    assert done.returncode == PASS, done.stderr
    assert "EXP-952  confirmatory  checkpoint_load  Counts wrongly" in done.stdout
    assert "  cpu: 1 comparisons" in done.stdout and "3 experiments, 3 comparisons" in done.stdout
    assert "missing" not in done.stdout
    assert sorted(project.rglob("*")) == before and not (tmp_path / "out").exists()


def test_a_dry_run_says_what_is_missing(claim, tiny):
    claim(subject=spec()["subject"] | {"devices": ["cpu", "cuda"]})
    done = octlm("run", "EXP-950", "--dry-run")
    assert done.returncode == PASS
    assert "--model tiny=FOLDER" in done.stdout
    assert "  cpu: 2 comparisons" in done.stdout and "  cuda: 2 comparisons" in done.stdout
    assert "missing: this build has no cuda backend" in done.stdout
    done = octlm("run", "EXP-950", "--dry-run", "--model", f"tiny={tiny}", "--device", "cpu")
    assert "missing" not in done.stdout and "about" in done.stdout


def test_a_dry_run_says_what_would_not_count(write_spec, tiny):
    done = octlm("run", write_spec(), "--dry-run", "--model", f"tiny={tiny}")
    assert done.returncode == PASS and "exit code 3" in done.stdout


@pytest.mark.parametrize("arguments", [["EXP-999"], ["--device", "tpu"], ["--require", "wieghts"], ["-k", "nothing_like_it"],
                                       ["--last-failed"], ["--model", "tinny=."], ["--resume", "no/such/run"]])
def test_a_dry_run_refuses_as_the_run_would(three, arguments):
    assert octlm("run", *arguments, "--dry-run").returncode == octlm("run", *arguments).returncode == REFUSED


def test_a_dry_run_does_not_trust_a_broken_ledger(three, project):
    ledger = project / "experiments" / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace("confirm", "x").replace("EXP-951", "EXP-999", 1))
    assert octlm("run", "EXP-952", "--dry-run").returncode == UNREGISTERED


# --junit, --open.


def test_junit_is_copied_whole(run, tmp_path):
    assert run("EXP-951", "--junit", tmp_path / "copy.xml").returncode == PASS
    assert (tmp_path / "copy.xml").read_text() == (tmp_path / "out" / "junit.xml").read_text()
    (tmp_path / "copy.xml").write_text("before")
    assert run("EXP-999", "--junit", tmp_path / "copy.xml", out="b").returncode == REFUSED
    assert (tmp_path / "copy.xml").read_text() == "before"
    assert {one.name for one in tmp_path.iterdir()} >= {"out", "copy.xml"} and not list(tmp_path.glob(".copy*"))


def test_a_place_for_junit_that_cannot_be_is_refused_before_the_run(run, tmp_path):
    for place in (tmp_path, tmp_path / "no" / "such" / "folder.xml"):
        assert "--junit" in one_line(run("EXP-951", "--junit", place), REFUSED)
    assert not (tmp_path / "out").exists()


def test_open_shows_the_page_and_never_fails_the_run(run, tmp_path, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    done = run("EXP-951", "--open", out="a")
    assert done.returncode == PASS
    assert f"not opened, there is no display here: {tmp_path / 'a' / 'report.html'}" in done.stderr
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("DISPLAY", ":7")
    monkeypatch.setenv("PATH", str(tools))
    done = run("EXP-951", "--open", out="b")
    assert done.returncode == PASS and "not opened, xdg-open" in done.stderr
    opener = tools / "xdg-open"
    opener.write_text(f'#!/bin/sh\necho "$1" >"{tmp_path}/opened"\nexit 9\n')
    opener.chmod(0o755)
    done = run("EXP-951", "--open", out="c")
    assert done.returncode == PASS and "not opened" not in done.stderr
    for _ in range(200):
        if (tmp_path / "opened").exists() and (tmp_path / "opened").read_text():
            break
        subprocess.run(["/bin/sleep", "0.05"], check=True)
    assert (tmp_path / "opened").read_text() == f"{tmp_path / 'c' / 'report.html'}\n"


def test_the_options_go_together(run, tmp_path):
    done = run("tag:load", "tag:wrong", "-k", "counts", "--fail-fast", "--device", "cpu", "--junit", tmp_path / "j.xml")
    assert done.returncode == FAIL and (tmp_path / "j.xml").exists()
    assert ran(tmp_path / "out") == ["EXP-951", "EXP-952"]
    assert run("tag:load", "tag:wrong", "-k", "counts", "--fail-fast", "--dry-run", out="other").returncode == PASS


# --model, --out.


def test_a_model_that_nothing_uses_is_refused_with_the_nearest(three, tiny, tmp_path):
    message = one_line(octlm("run", "EXP-951", "--model", f"tinny={tiny}", "--out", tmp_path / "out"), REFUSED)
    assert 'no selected experiment is about "tinny"' in message and 'did you mean "tiny"' in message
    assert not (tmp_path / "out").exists()


def test_a_used_folder_is_refused_with_commands_that_go_on(run, tiny, tmp_path):
    assert run("EXP-951", out="a folder").returncode == PASS
    message = one_line(run("EXP-951", out="a folder"), REFUSED)
    used = shlex.quote(str(tmp_path / "a folder"))
    assert f"./octlm run --resume {used};" in message
    command = message.partition("or write elsewhere: ")[2]
    words = shlex.split(command)
    assert words == ["./octlm", "run", "EXP-951", "--model", f"tiny={tiny}", "--out", str(tmp_path / "a folder-2")]
    assert octlm(*words[1:]).returncode == PASS


# What is printed.


def test_the_last_line_of_stdout_is_the_page(run, tmp_path):
    done = run("*")
    assert done.stdout.splitlines()[-1] == str(tmp_path / "out" / "report.html")
    assert (tmp_path / "out" / "report.html").exists()
    assert max(len(line) for line in done.stdout.splitlines()[:5]) <= 100
    assert "tiny" in done.stdout and "octlm" in done.stdout


def test_a_log_has_one_line_for_each_experiment_and_the_failure_at_once(run):
    done = run("*")
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == [
        "EXP-951 cpu", "EXP-952 fails", "EXP-952 cpu", "EXP-953 cpu"]
    assert "stored_tensors@1 24 not = 23 in weights" in done.stderr


def on_a_terminal(arguments, columns=60, **variables):
    """stderr of a run as a terminal of so many columns gets it."""
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"} | variables
    process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=terminal, env=environment)
    os.close(terminal)
    seen = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    process.wait(timeout=60)
    os.close(master)
    return seen.decode()


def test_a_terminal_has_a_live_line_that_fits(three, tiny, tmp_path):
    arguments = ["run", "*", "--model", f"tiny={tiny}", "--out"]
    seen = on_a_terminal([*arguments, tmp_path / "a"])
    assert "\x1b[J" in seen and "1 of 3" in seen and "left" in seen
    drawn = [piece.rpartition("\x1b[J")[2] for piece in seen.split("\r")]
    assert all(len(piece) < 60 for piece in drawn if " of 3" in piece)
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        plain = on_a_terminal([*arguments, tmp_path / str(variables)], **variables)
        assert "\x1b" not in plain and "EXP-951 cpu: pass" in plain
