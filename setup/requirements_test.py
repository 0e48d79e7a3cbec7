"""The three levels of the environment are contained in each other, so that growing one never breaks the smaller."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD, CHECKPOINTS, REFERENCE = (ROOT / path for path in (
    "setup/requirements-build.txt", "setup/checkpoints/requirements.txt", "reference/requirements.txt"))


def locked(path):
    """{requirement with version and marker: set of its hashes}"""
    joined = re.sub(r"\\\n", " ", path.read_text())
    entries = [line.split("--hash=") for line in joined.splitlines() if re.match(r"[a-z0-9]", line)]
    return {" ".join(entry[0].split()): {part.strip() for part in entry[1:]} for entry in entries}


@pytest.mark.parametrize("smaller, larger", [(BUILD, CHECKPOINTS), (CHECKPOINTS, REFERENCE)])
def test_each_level_holds_the_one_before(smaller, larger):
    small, large = locked(smaller), locked(larger)
    assert small and {name: large.get(name) for name in small} == small


@pytest.mark.parametrize("path", [BUILD, CHECKPOINTS, REFERENCE])
def test_every_requirement_is_pinned_with_hashes_and_names_no_index(path):
    for name, hashes in locked(path).items():
        assert re.match(r"[a-z0-9-]+==\S+", name), name
        assert hashes, f"{name} has no hash"
    assert not re.search(r"index-url|find-links|https?://", path.read_text())


def test_what_the_launcher_announces_is_what_is_locked():
    steps = (ROOT / "setup/steps.sh").read_text()
    names = {name.split("==")[0]: name for name in (entry.split(" ;")[0] for entry in locked(REFERENCE))}
    for package in ("torch", "transformers"):
        assert names[package].replace("==", " ") in steps
    assert not any("torch" in name or "transformers" in name for name in locked(CHECKPOINTS))
