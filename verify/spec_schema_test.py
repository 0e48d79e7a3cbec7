"""The published JSON Schema says what the program's strict reader says.

Both are held to verify/spec_variants.json: the reader by spec_test.cpp, the schema here.
"""

import copy
import json
import pathlib

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = json.loads((ROOT / "docs" / "spec.schema.json").read_text(encoding="utf-8"))
TABLE = json.loads((ROOT / "verify" / "spec_variants.json").read_text(encoding="utf-8"))


def apply_patch(document, patch):
    """The RFC 6902 operations that the table uses."""
    document = copy.deepcopy(document)
    for operation in patch:
        if operation["path"] == "":
            document = operation["value"]
            continue
        *parents, last = operation["path"].split("/")[1:]
        target = document
        for name in parents:
            target = target[int(name) if isinstance(target, list) else name]
        if isinstance(target, list):
            last = int(last)
        if operation["op"] == "remove":
            del target[last]
        elif operation["op"] == "add" and isinstance(target, list):
            target.insert(last, operation["value"])
        else:
            assert operation["op"] == "add" or last in target or isinstance(target, list)
            target[last] = operation["value"]
    return document


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("variant", TABLE["variants"], ids=lambda variant: variant["name"])
def test_the_schema_agrees(variant):
    document = apply_patch(TABLE["base"], variant["patch"])
    errors = [
        error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(document)
    ]
    assert (errors == []) == variant["valid"], errors


def test_the_table_is_worth_something():
    valid = [variant for variant in TABLE["variants"] if variant["valid"]]
    assert len(valid) >= 10 and len(TABLE["variants"]) - len(valid) >= 50


@pytest.mark.parametrize(
    "path", sorted((ROOT / "experiments" / "registered").glob("*.json")), ids=lambda path: path.name
)
def test_registered_specs_are_valid(path):
    spec = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(spec)
