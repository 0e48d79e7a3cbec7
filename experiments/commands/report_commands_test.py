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
    assert done.stdout.splitlines()[-1] == "nothing changed; in both: 6 experiments, 81 comparisons"  # one was not run


def test_what_got_worse_ends_with_1(sample):
    done = octlm("compare", sample("green", "a"), sample("red", "b"))
    assert done.returncode == FAIL
    worse = [line for line in done.stdout.splitlines() if line.startswith("worse")]
    assert any("EXP-102 on cpu: pass -> fail" in line for line in worse)
    assert not any("EXP-073" in line for line in worse)  # B did not run it, which says nothing of it
    assert any("EXP-073" in line and "only in A" in line for line in done.stdout.splitlines())
    back = octlm("compare", sample("red", "a"), sample("green", "b"))
    assert any(line.startswith("better  EXP-102 on cpu: fail -> pass") for line in back.stdout.splitlines())


def test_a_run_of_one_experiment_raises_no_alarm(sample, tmp_path):
    one = sample_runs.write_run(tmp_path / "one", [(sample_runs.parity("EXP-102"), {})])
    for first, second in ((sample("green"), one), (one, sample("green"))):
        done = octlm("compare", first, second)
        assert done.returncode == PASS, done.stdout
        assert "worse" not in done.stdout and "is gone" not in done.stdout
        assert done.stdout.splitlines()[-1].endswith("in one run only; in both: 1 experiments, 20 comparisons")


def test_a_published_run_of_one_experiment_is_no_baseline_for_the_rest(sample, project):
    sample_runs.write_run(project / "reports" / "published" / "first", [(sample_runs.parity("EXP-102"), {})])
    now = sample("green")
    text = (now / "results.jsonl").read_text().replace("2026-03-01T12:00:00Z", "2026-03-02T12:00:00Z")
    (now / "results.jsonl").write_text(text)
    assert octlm("report", now).returncode == PASS
    page = (now / "report.html").read_text()
    assert "nothing changed; " in page and "is gone" not in page and "is new" not in page


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
    assert red["EXP-102"].count("failure") == 1 and red["EXP-102"].count("passed") == 15
    assert red["EXP-101"] == ["skipped", "error"]
    green = {suite.get("name"): set(outcomes(suite)) for suite in suites(sample("green", "d"))}
    assert green["EXP-101"] == {"passed", "skipped"} and green["EXP-074"] == {"skipped"}
    killed = {suite.get("name"): outcomes(suite) for suite in suites(sample("killed", "e"))}
    assert killed["the run"] == ["error"] and "passed" not in killed["EXP-103"]


def test_a_failure_in_junit_is_told_once_and_whole(sample):
    root = suites(sample("red"))
    assert root.get("failures") == "2" and root.get("errors") == "1", "as many as experiments"
    suite = next(suite for suite in root if suite.get("name") == "EXP-102")
    failure = next(suite.iter("failure"))
    lines = failure.text.split("\n")
    assert "fails in story, cached:every, cpu, float32: max_abs_error@1 3.7 not <= 1.000e-03" in lines
    assert '  largest difference at position 29, token 2775 " mat": subject 12.3456789, reference 12.3457891' in lines
    assert "engine: octlm 0.1.0" in lines and "to repeat: ./octlm run EXP-102 --device cpu" in lines
    assert {one.get("name"): one.get("value") for one in suite.iter("property")}["subject"] == "octlm 0.1.0"


def test_the_index_holds_every_run_and_lists_what_is_damaged(sample, project, monkeypatch):
    reports = project / "reports"
    sample_runs.green(reports / "published" / "one")
    sample_runs.red(reports / "two")
    (reports / "broken").mkdir()
    (reports / "broken" / "results.jsonl").write_text("no json\n")
    (reports / "latest").symlink_to("two")
    monkeypatch.setenv("OCTLM_VENV_PYTHON", "/nonexistent/python")
    for arguments in (["--index"], ["--index", reports], [f"--index={reports}"]):
        (reports / "index.html").unlink(missing_ok=True)
        done = octlm("report", *arguments)
        assert done.returncode == PASS and done.stdout == f"{reports / 'index.html'}\n", done.stderr
        assert "broken: damaged: " in done.stderr and done.stderr.count("\n") == 1
        text = (reports / "index.html").read_text()
        assert "octlm: 2 runs" in text and "<b>broken</b>" in text and "latest" not in text
        assert 'href="./published/one/results.jsonl"' in text
        assert "two: fail, 3700 times" in text and "one: pass, 14 %" in text
    one_line(octlm("report", "--index", reports / "nowhere"), ERROR)
    one_line(octlm("report"), REFUSED)
    one_line(octlm("report", reports / "two", "--index"), REFUSED)
    one_line(octlm("report", "--index", "--out", reports), REFUSED)


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
