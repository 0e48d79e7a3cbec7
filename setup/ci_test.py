"""What CI checks in the record is refused when it does not hold."""
import copy
import importlib.util
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]


def load():
    spec = importlib.util.spec_from_file_location("check_record", ROOT / ".ci/check_record.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def comparison(experiment, case, path, **changes):
    return {"type": "comparison", "experiment": experiment, "case": case, "path": path, "device": "cpu",
            "reference": {"source": "live"}, "seconds": {"subject": 0.5, "reference": 0.25}, "metrics": {}} | changes


def good():
    return ([{"type": "run"}, comparison("EXP-101", "", "", metrics={"parameters@1": 134515008})]
            + [comparison("EXP-102", case, path) for case in range(10) for path in range(4)]
            + [comparison("EXP-103", case, path) for case in range(10) for path in range(2)])


def test_a_whole_record_holds(capsys):
    load().check(good())
    assert capsys.readouterr().out.count("EXP-10") == 3


@pytest.mark.parametrize("harm, says", [
    (lambda records: records.pop(), "EXP-103 has 19 comparisons, expected 20"),
    (lambda records: records.__delitem__(slice(2, 42)), "EXP-102 has 0 comparisons"),
    (lambda records: records.__setitem__(-1, records[-2]), "EXP-103 compares only 19 different"),
    (lambda records: records[5]["reference"].update(source="recorded"), "the reference is recorded"),
    (lambda records: records[5]["seconds"].update(subject=0.0), "the subject took 0.0 seconds"),
    (lambda records: records[5]["seconds"].update(reference=None), "the reference took None seconds"),
    (lambda records: records[1]["metrics"].update({"parameters@1": 134515009}), "EXP-101 counts [134515009]"),
    (lambda records: records.pop(1), "EXP-101 counts []"),
])
def test_what_is_not_so_is_named(harm, says):
    records = copy.deepcopy(good())
    harm(records)
    with pytest.raises(SystemExit) as refused:
        load().check(records)
    assert says in str(refused.value)


def test_a_clone_with_autocrlf_has_the_same_bytes(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("not run: not a git checkout")
    files = ["experiments/ledger.jsonl", "experiments/registered/EXP-102.json", "experiments/prompts/tool-call.json", "octlm"]
    subprocess.run(["git", "-c", "core.autocrlf=true", "clone", "-q", "--no-checkout", ROOT, tmp_path / "clone"], check=True)
    there = [name for name in files if (ROOT / name).exists()]
    subprocess.run(["git", "-c", "core.autocrlf=true", "checkout", "-q", "HEAD", "--", ".gitattributes", *there], cwd=tmp_path / "clone", check=True)
    assert len(there) >= 3
    for name in there:
        assert b"\r" not in (tmp_path / "clone" / name).read_bytes(), name
