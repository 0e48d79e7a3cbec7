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


def test_the_sizes_that_the_launcher_announces_are_those_of_what_is_locked():
    rows = [line.split("\t") for line in (ROOT / "setup/sizes.tsv").read_text().splitlines()]
    sized = {f"{name}=={version}" for name, version, size in rows if int(size) > 0}
    pinned = {entry.split(" ;")[0] for entry in locked(REFERENCE)}
    for name in ("torch", "transformers", "numpy"):
        assert any(entry.startswith(name + "==") for entry in pinned & sized), name
    stale = {entry for entry in sized - pinned if entry.split("==")[0] in {other.split("==")[0] for other in pinned}}
    assert not stale, f"another version is locked: run setup/lock.sh: {stale}"
    assert not any("torch" in name or "transformers" in name for name in locked(CHECKPOINTS))
