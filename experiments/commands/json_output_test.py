"""What --json prints: one document, with the names of docs/json-output.md."""
import json
import pathlib
import re

import pytest
from conftest import ERROR, FAIL, PASS, UNREGISTERED, octlm

DOCUMENT = pathlib.Path(__file__).parents[2] / "docs" / "json-output.md"


def document(*arguments, code=PASS):
    done = octlm(*arguments, "--json")
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def documented(command):
    """The names in the tables under the heading of a command."""
    section = DOCUMENT.read_text().partition(f"## octlm {command}\n")[2].partition("\n## ")[0]
    assert section, command
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]*)`", row)}


def names(value):
    """Each name with the names that lead to it: findings[].where."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from (f"{name}{'[]' if isinstance(inner, list) else ''}.{rest}" for rest in names(inner))
    elif isinstance(value, list):
        for one in value:
            yield from names(one)


OPEN = ("criteria[].", "history[].prior_results.", "history[].changes[].", "changes[].")  # of other documents


@pytest.fixture
def sample(tmp_path):
    import sys
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "testing"))
    import sample_runs
    return lambda name, folder: getattr(sample_runs, name)(tmp_path / folder)


def test_list_has_what_its_text_has():
    listed = document("list")["experiments"]
    text = octlm("list").stdout.splitlines()
    assert [one["id"] for one in listed] == [line.split()[0] for line in text]
    for one, line in zip(listed, text):
        assert one["title"] in line and line.endswith("  [" + ", ".join(one["tags"]) + "]")
    assert {one["state"] for one in listed} == {"unregistered"}  # this project's ledger is empty


def test_kinds_metrics_and_faults():
    kinds = {one["name"]: one for one in document("list", "--kinds")["kinds"]}
    assert kinds["logit_parity"]["role"] == "parity" and "swap_k_v_proj" in kinds["logit_parity"]["faults"]
    metrics = {one["name"]: one for one in document("list", "--metrics")["metrics"]}
    assert metrics["max_abs_error@1"]["better"] == "lower" and metrics["finite@1"]["type"] == "bool"
    assert metrics["parameters@1"]["better"] == "neither" and metrics["finite@1"]["better"] == "true"
    faults = {one["name"]: one for one in document("list", "--faults")["faults"]}
    assert "cached_parity" in faults["stale_kv_slot"]["kinds"]
    assert "stale_kv_slot" in octlm("list", "--faults").stdout


def test_show_has_derivations_and_cases(claim):
    claim()
    shown = document("show", "EXP-950")
    assert shown["cases"] == ["five"] and shown["label"] == "confirmatory"
    assert shown["criteria"][0] == {"metric": "max_abs_error@1", "at_most": 1e-3, "derivation": "float32 rounding"}
    assert [line["entry"] for line in shown["history"]] == ["register"] and shown["attempts"] == []
    text = octlm("show", "EXP-950").stdout
    assert "case:       five\n" in text
    assert "criterion:  max_abs_error@1 <= 0.001\n            float32 rounding\n" in text


def test_audit(claim, project):
    claim()
    found = document("audit")
    assert found["problems"] == 0 and found["claims"] == 1 and found["exit_code"] == PASS
    (project / "experiments" / "registered" / "EXP-950.json").unlink()
    found = document("audit", code=UNREGISTERED)
    assert found["problems"] == 1 and any(one["problem"] and one["where"] for one in found["findings"])


def test_compare(sample):
    worse = document("compare", sample("green", "a"), sample("red", "b"), code=FAIL)
    assert worse["got_worse"] and worse["exit_code"] == FAIL
    assert any((one["change"], one["experiment"], one["device"]) == ("worse", "EXP-102", "cpu") for one in worse["changes"])
    assert any(one["change"] == "only_in_a" and one["experiment"] == "EXP-073" for one in worse["changes"])


@pytest.mark.parametrize("command", ["list", "list --kinds", "list --metrics", "list --faults", "show", "audit", "compare", "doctor"])
def test_every_name_is_documented(command, claim, sample):
    claim()
    arguments = command.split()
    if command == "show":
        arguments.append("EXP-950")
    if command == "compare":
        arguments += [sample("green", "a"), sample("red", "b")]
    done = octlm(*arguments, "--json")
    assert done.returncode in (PASS, FAIL, ERROR)
    found = set(names(json.loads(done.stdout)))
    known = documented(command)
    assert {name for name in found if not name.startswith(OPEN) or command == "compare"} <= known
    if command != "show":  # its history and attempts are empty here
        assert known <= found
