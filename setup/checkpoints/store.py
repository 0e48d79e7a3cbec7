"""The cache of checkpoints, and how one comes to be complete.

    ${XDG_CACHE_HOME:-~/.cache}/octlm/checkpoints/NAME/           a complete checkpoint
                                                 NAME/manifest.json  {"schema": 1, "name", "revision", "source", "files"}
                                                 NAME.partial/    one in the making
                                                 NAME.lock        held by the process that makes it

A checkpoint is made in NAME.partial and renamed whole, so NAME is there entire or not at all. NAME is
one of our own names, or ORG--MODEL/REVISION for one of the hub.
"""
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shutil

from .failure import Failure, NotAsPromised
from .progress import MB, Progress, say

SCHEMA = 1


def root():
    cache = os.environ.get("XDG_CACHE_HOME", "")
    base = pathlib.Path(cache) if os.path.isabs(cache) else pathlib.Path.home() / ".cache"
    return base / "octlm" / "checkpoints"


def write_json(path, value, end="\n"):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + end, encoding="utf-8")


def sha256_of(path, progress=None):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            digest.update(block)
            if progress:
                progress.add(len(block))
    return digest.hexdigest()


def manifest_of(folder):
    """The manifest of a complete checkpoint; None if there is none or files are missing or cut short."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        whole = manifest["schema"] == SCHEMA and all(
            (folder / name).stat().st_size == entry["bytes"] for name, entry in manifest["files"].items())
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return manifest if whole else None


def verify(folder, manifest):
    """Hashes every file again. Raises NotAsPromised naming the first that differs."""
    files = manifest["files"]
    with Progress(f"verifying {folder.name}", sum(entry["bytes"] for entry in files.values())) as progress:
        for name, entry in files.items():
            found = sha256_of(folder / name, progress)
            if found != entry["sha256"]:
                raise NotAsPromised(f"{folder / name}: sha256 is {found}, the manifest says {entry['sha256']}; "
                                    f"remove {folder} and fetch it again")
    say(f"verified: {len(files)} files as the manifest says")


def write_manifest(folder, name, revision, source, expected):
    """Hashes the files of `folder`, compares with `expected` {file: sha256}, and writes the manifest."""
    paths = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "manifest.json")
    files = {}
    with Progress(f"hashing {name}", sum(path.stat().st_size for path in paths)) as progress:
        for path in paths:
            files[path.name] = {"sha256": sha256_of(path, progress), "bytes": path.stat().st_size}
    for file, promised in expected.items():
        found = files.get(file, {"sha256": "absent"})["sha256"]
        if found != promised:
            (folder / file).unlink(missing_ok=True)  # so that a download starts this file afresh
            raise NotAsPromised(f"{name}: {file} has sha256 {found}, expected {promised}; nothing was kept of it, "
                                "fetch again, and report it if the same hash comes back")
    manifest = {"schema": SCHEMA, "name": name, "revision": revision, "source": source, "files": files}
    write_json(folder / "manifest.json", manifest)


@contextlib.contextmanager
def locked(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another process is making {path.stem}; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def present(place, expected):
    """The folder of a complete checkpoint whose manifest agrees with `expected` {file: sha256}, or None."""
    folder = root() / place
    manifest = manifest_of(folder)
    agrees = manifest and all(manifest["files"].get(file, {}).get("sha256") == digest for file, digest in expected.items())
    return folder if agrees else None


def ensure(place, make, *, name, revision, source, expected, keep_partial=False):
    """The folder of the checkpoint at `root()/place`, made by `make(partial)` if it is not there.

    `expected` {file: sha256} is verified after making; a checkpoint whose manifest says otherwise (made by
    an older version of the recipe) is made again. `keep_partial` leaves an interrupted one to `make` to resume.
    """
    folder = root() / place
    with locked(folder.with_name(folder.name + ".lock")):
        if present(place, expected):
            return folder
        partial = folder.with_name(folder.name + ".partial")
        if not keep_partial:
            shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(exist_ok=True)
        make(partial)
        write_manifest(partial, name, revision, source, expected)
        shutil.rmtree(partial / ".cache", ignore_errors=True)  # the download's own bookkeeping
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
        return folder


def require_space(folder, needed_bytes):
    free = shutil.disk_usage(folder).free
    there = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if free + there < needed_bytes:
        raise Failure(f"{folder}: {needed_bytes // MB} MB are needed and {free // MB} MB are free; "
                      "make room, or set XDG_CACHE_HOME to a larger disk")
