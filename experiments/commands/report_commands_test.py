"""octlm report and octlm compare, on runs that nobody made (testing/sample_runs.py); junit.xml as others read it."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from conftest import ERROR, FAIL, PASS, REFUSED, octlm, one_line

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "testing"))
import sample_runs  # noqa: E402

RENDERED = ("summary.md", "junit.xml", "report.html")
SAMPLES = ("green", "red", "not_run", "exploratory", "hostile", "killed")
SCHEMA = pathlib.Path(__file__).parents[2] / "verify" / "testing" / "junit.xsd"


@pytest.fixture
def sample(tmp_path):
    return lambda name, where="run": getattr(sample_runs, name)(tmp_path / where)


def rendered(folder):
    return {name: (folder / name).read_bytes() for name in RENDERED}


@pytest.mark.parametrize("name", SAMPLES)
def test_report_makes_the_pages_again_and_touches_nothing_else(sample, name):
    folder = sample(name)
    results = (folder / "results.jsonl").read_bytes()
    first = octlm("report", folder)
    assert first.returncode == PASS, first.stderr
    assert first.stdout.split("\n") == [str(folder / one) for one in RENDERED] + [""]
    pages = rendered(folder)
    for page in RENDERED:
        (folder / page).write_text("something else")
    assert octlm("report", folder).returncode == PASS
    assert rendered(folder) == pages
    assert (folder / "results.jsonl").read_bytes() == results
    assert sorted(one.name for one in folder.iterdir()) == sorted([*RENDERED, "results.jsonl"])


def test_a_line_cut_off_is_said(sample):
    done = octlm("report", sample("killed"))
    assert done.returncode == PASS
    assert "the last line of results.jsonl was cut off" in done.stderr and "did not end" in done.stderr
    whole = octlm("report", sample("green", "whole"))
    assert whole.stderr == ""


def test_report_needs_neither_python_nor_the_packages(sample, monkeypatch):
    monkeypatch.setenv("OCTLM_VENV_PYTHON", "/nonexistent/python")
    monkeypatch.setenv("PATH", "")
    assert octlm("report", sample("green")).returncode == PASS
    assert octlm("compare", sample("green"), sample("green", "b")).returncode == PASS


@pytest.mark.parametrize("command", [["report"], ["compare", "good"], ["compare", "bad", "good"]])
def test_what_is_no_run_is_refused(sample, tmp_path, command):
    good = sample("green", "good")
    (tmp_path / "empty").mkdir()
    other = tmp_path / "other"
    other.mkdir()
    (other / "results.jsonl").write_text('{"type": "summary"}\n')
    for bad in (tmp_path / "nowhere", tmp_path / "empty", other):
        words = [{"good": good, "bad": bad}.get(word, word) for word in command]
        arguments = words if bad in words else [*words, bad]
        one_line(octlm(*arguments), REFUSED)
        assert not (bad / "report.html").exists()


def test_a_published_run_is_left_as_the_ledger_names_it(sample, project, tmp_path):
    folder = sample_runs.green(project / "reports" / "published" / "first")
    message = one_line(octlm("report", folder), REFUSED)
    assert "--out" in message
    assert [one.name for one in folder.iterdir()] == ["results.jsonl"]
    out = tmp_path / "mine"
    assert octlm("report", folder, "--out", out).returncode == PASS
    assert b"matches transformers" in rendered(out)["report.html"]
    one_line(octlm("report", sample("red"), "--out", folder), REFUSED)
    one_line(octlm("report", folder, "--out", sample("red", "another run")), REFUSED)


def test_the_page_says_what_changed_since_the_last_published_run(sample, project):
    sample_runs.green(project / "reports" / "published" / "first")
    now = sample("red")
    text = (now / "results.jsonl").read_text().replace("2026-03-01T12:00:00Z", "2026-03-02T12:00:00Z")
    (now / "results.jsonl").write_text(text)
    assert octlm("report", now).returncode == PASS
    page = (now / "report.html").read_text()
    assert "Against <code>first</code>" in page and "EXP-102 on cpu: pass -&gt; fail" in page


# Compare.

def test_a_run_compared_with_itself_did_not_change(sample):
    done = octlm("compare", sample("green"), sample("green", "b"))
    assert done.returncode == PASS
    assert done.stdout.splitlines()[-1] == "nothing changed; in both: 7 experiments, 81 comparisons"


def test_what_got_worse_ends_with_1(sample):
    done = octlm("compare", sample("green", "a"), sample("red", "b"))
    assert done.returncode == FAIL
    worse = [line for line in done.stdout.splitlines() if line.startswith("worse")]
    assert any("EXP-102 on cpu: pass -> fail" in line for line in worse)
    assert any("EXP-073: is gone" in line for line in worse)
    back = octlm("compare", sample("red", "a"), sample("green", "b"))
    assert any(line.startswith("better  EXP-102 on cpu: fail -> pass") for line in back.stdout.splitlines())


def test_numbers_that_moved_are_told_and_are_no_verdict(sample, tmp_path):
    then = sample_runs.write_run(tmp_path / "a", [(sample_runs.parity("EXP-102", 1e-4), {})])
    now = sample_runs.write_run(tmp_path / "b", [(sample_runs.parity("EXP-102", 3e-4), {})])
    done = octlm("compare", then, now)
    assert done.returncode == PASS
    assert "EXP-102 on cpu: max_abs_error@1 changed in 20 comparisons" in done.stdout
    assert "3 times larger" in done.stdout


def test_runs_without_a_common_experiment_are_not_compared(sample, tmp_path):
    other = sample_runs.write_run(tmp_path / "b", [(sample_runs.parity("EXP-999"), {})])
    assert octlm("compare", sample("not_run"), other).returncode == ERROR


# Junit.xml.

def suites(folder):
    assert octlm("report", folder).returncode == PASS
    return ElementTree.parse(folder / "junit.xml").getroot()


def outcomes(suite):
    return [case[0].tag if len(case) else "passed" for case in suite.iter("testcase")]


@pytest.mark.parametrize("name", SAMPLES)
def test_junit_adds_up(sample, name):
    root = suites(sample(name))
    total = {"tests": 0, "failures": 0, "errors": 0}
    for suite in root:
        found = outcomes(suite)
        counts = {"tests": len(found), "failures": found.count("failure"), "errors": found.count("error")}
        assert int(suite.get("skipped")) == found.count("skipped")
        for key, count in counts.items():
            assert int(suite.get(key)) == count
            total[key] += count
    assert {key: int(root.get(key)) for key in total} == total


@pytest.mark.parametrize("name", SAMPLES)
def test_junit_follows_the_schema(sample, name):
    if shutil.which("xmllint") is None:
        pytest.skip("not run: no xmllint (Debian: libxml2-utils)")
    folder = sample(name)
    suites(folder)
    done = subprocess.run(["xmllint", "--noout", "--schema", SCHEMA, folder / "junit.xml"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_junit_says_not_run_failed_and_uncounted(sample):
    assert {tag for suite in suites(sample("not_run", "a")) for tag in outcomes(suite)} == {"skipped"}
    assert {tag for suite in suites(sample("exploratory", "b")) for tag in outcomes(suite)} == {"skipped"}
    red = {suite.get("name"): outcomes(suite) for suite in suites(sample("red", "c"))}
    assert red["EXP-102"].count("failure") == 6 and red["EXP-102"].count("passed") == 15
    assert red["EXP-101"] == ["error", "error"]
    green = {suite.get("name"): set(outcomes(suite)) for suite in suites(sample("green", "d"))}
    assert green["EXP-101"] == {"passed", "skipped"} and green["EXP-074"] == {"skipped"}
    killed = {suite.get("name"): outcomes(suite) for suite in suites(sample("killed", "e"))}
    assert killed["the run"] == ["error"] and "passed" not in killed["EXP-103"]


def test_every_rendering_is_utf8_without_control_characters(sample):
    folder = sample("hostile")
    assert octlm("report", folder).returncode == PASS
    for name, content in rendered(folder).items():
        text = content.decode("utf-8")
        forbidden = [c for c in text if (ord(c) < 0x20 and c != "\n") or c in "\x7f\u202e\u2066\ufffe"]
        assert not forbidden, name


def test_a_large_run_is_a_small_page_that_is_made_at_once(tmp_path):
    folder = sample_runs.large(tmp_path / "run")
    assert octlm("report", folder).returncode == PASS
    assert (folder / "report.html").stat().st_size < 2_500_000
    assert (folder / "summary.md").stat().st_size < 1 << 20


def test_the_samples_are_as_a_run_writes_them(tiny, project, claim, tmp_path):
    """Each field of a sample's lines is one that the program writes; without PyTorch nothing is compared."""
    claim()
    octlm("run", "EXP-950", "--model", f"tiny={tiny}", "--out", tmp_path / "real")
    lines = [json.loads(line) for line in (tmp_path / "real" / "results.jsonl").read_text().splitlines()]
    real = {line["type"]: line for line in lines}
    folder = sample_runs.green(tmp_path / "sample")
    for line in map(json.loads, (folder / "results.jsonl").read_text().splitlines()):
        if line["type"] in real and line["type"] != "comparison":
            assert set(line) <= set(real[line["type"]]), line["type"]
    for name in RENDERED:
        assert (tmp_path / "real" / name).exists(), name
    assert os.path.getsize(tmp_path / "real" / "report.html") > 1000


# Killed after its engines were ready and before its first comparison: it was begun, and nobody reads that it was not.
def test_what_was_begun_and_killed_is_not_called_never_begun(sample):
    folder = sample("green")
    run, *rest = map(json.loads, (folder / "results.jsonl").read_text().splitlines())
    ids = list(dict.fromkeys(line["experiment"] for line in rest if line["type"] == "comparison"))
    started = {"type": "started", "experiment": ids[0], "device": "cpu", "spec_sha256": "5" * 64, "intent": "", "identity": {}}
    run["specs"] = {name: "5" * 64 for name in ids[:2]}
    (folder / "results.jsonl").write_text(json.dumps(run) + "\n" + json.dumps(started) + "\n")
    done = octlm("report", folder)
    assert done.returncode == PASS, done.stderr
    killed = {suite.get("name"): suite for suite in suites(folder)}
    assert ids[0] in killed and "did not end" in ElementTree.tostring(killed[ids[0]], encoding="unicode")
    summary = (folder / "summary.md").read_text()
    assert ids[0] in summary and "passed" not in outcomes(killed[ids[0]])
    before_it = [line for line in summary.splitlines() if "interrupted before it" in line]
    assert not any(ids[0] in line for line in before_it), before_it
