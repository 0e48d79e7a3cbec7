"""Checkpoints of the Hugging Face hub, at a full commit, through huggingface_hub.

Only what defines the function is downloaded: config, generation config, tokenizer files and safetensors
weights. Every file is checked against what the hub declares for that commit (sha256 for large files, the
git blob id for small ones), and the pinned checkpoints against the hashes recorded here as well. An
interrupted download is resumed where it stopped.
"""
import dataclasses
import fnmatch
import hashlib
import os
import re
import sys

from .failure import BadInput, Failure, NoNetwork, NotAsPromised
from .progress import MB, say
from .store import require_space, sha256_of

FILES = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
         "added_tokens.json", "vocab.json", "merges.txt", "chat_template.jinja", "model.safetensors.index.json",
         "model*.safetensors")


@dataclasses.dataclass(frozen=True)
class Pin:
    revision: str
    sha256: dict


PINS = {
    "Qwen/Qwen3-0.6B": Pin("c1899de289a04d12100db370d81485cdf75e47ca", {
        "config.json": "660db3b73d788119c04535e48cf9be5f55bc3100841a718637ae695b442f27dd",
        "generation_config.json": "2325da0f15bb848e018c5ae071b7943332e9f871d6b60e2ed22ca97d4cb993d2",
        "merges.txt": "8831e4f1a044471340f7c0a83d7bd71306a5b867e95fd870f74d0c5308a904d5",
        "model.safetensors": "f47f71177f32bcd101b7573ec9171e6a57f4f4d31148d38e382306f42996874b",
        "tokenizer.json": "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4",
        "tokenizer_config.json": "d5d09f07b48c3086c508b30d1c9114bd1189145b74e982a265350c923acd8101",
        "vocab.json": "ca10d7e9fb3ed18575dd1e277a2579c16d108e32f27439684afa0e10b1440910",
    }),
}


@dataclasses.dataclass(frozen=True)
class HubCheckpoint:
    repository: str  # ORG/NAME
    revision: str  # 40 hex digits

    @property
    def place(self):
        return f"{self.repository.replace('/', '--')}/{self.revision}"

    @property
    def expected(self):
        pin = PINS.get(self.repository)
        return pin.sha256 if pin and pin.revision == self.revision else {}

    @property
    def source(self):
        return {"kind": "hub", "id": self.repository, "revision": self.revision}


def resolve(repository, revision):
    """The checkpoint of a hub id; without `revision`, the pinned one. Raises BadInput."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", repository, re.ASCII):
        raise BadInput(f"'{repository}' is no hub id: it must read ORG/NAME")
    if revision is None:
        if repository not in PINS:
            raise BadInput(f"{repository}: give --revision COMMIT (40 hex digits); a branch or tag can change what it names")
        revision = PINS[repository].revision
    if not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise BadInput(f"{repository}: --revision {revision} is not a full commit of 40 lower-case hex digits")
    return HubCheckpoint(repository, revision)


def plan(checkpoint):
    """The hub's list of the files to download. Raises BadInput, NoNetwork."""
    from huggingface_hub import HfApi

    with translated_errors(checkpoint):
        info = HfApi().model_info(checkpoint.repository, revision=checkpoint.revision, files_metadata=True, timeout=20)
    files = [file for file in info.siblings if any(fnmatch.fnmatchcase(file.rfilename, pattern) for pattern in FILES)
             and "/" not in file.rfilename]
    names = {file.rfilename for file in files}
    if "config.json" not in names or not any(name.endswith(".safetensors") for name in names):
        raise BadInput(f"{checkpoint.repository} at {checkpoint.revision}: has no config.json with model*.safetensors beside it")
    return files


def write(folder, checkpoint, files):
    """Downloads `files` into `folder`, each checked against the hub's declaration; resumes what is there."""
    from huggingface_hub import hf_hub_download

    total = sum(file.size or 0 for file in files)
    say(f"{checkpoint.repository} at {checkpoint.revision[:12]}: {len(files)} files ({total // MB} MB)")
    require_space(folder, total)
    for number, file in enumerate(sorted(files, key=lambda file: file.size or 0), start=1):
        say(f"{number} of {len(files)}: {file.rfilename} ({(file.size or 0) / MB:.1f} MB)")
        with translated_errors(checkpoint):
            path = hf_hub_download(checkpoint.repository, file.rfilename, revision=checkpoint.revision, local_dir=folder)
        check(path, file, checkpoint)


def check(path, file, checkpoint):
    found, promised = (sha256_of(path), file.lfs.sha256) if file.lfs else (git_blob_id(path), file.blob_id)
    if found != promised:
        os.unlink(path)
        raise NotAsPromised(f"{checkpoint.repository}: {file.rfilename} hashes to {found}, the hub declares {promised}; "
                            "it was removed, run the same command again")


def git_blob_id(path):
    with open(path, "rb") as file:
        content = file.read()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class translated_errors:
    """Turns what huggingface_hub and its transport raise into failures of one line."""

    def __init__(self, checkpoint):
        self.what = f"{checkpoint.repository} at {checkpoint.revision}"

    def __enter__(self):
        return self

    def __exit__(self, _, error, __):
        import requests
        from huggingface_hub import errors

        if error is None or isinstance(error, Failure):
            return False
        if isinstance(error, errors.GatedRepoError):
            raise BadInput(f"{self.what}: access must be asked for on its page, then `huggingface-cli login`") from error
        if isinstance(error, (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.EntryNotFoundError)) \
                and not isinstance(error, errors.LocalEntryNotFoundError):
            raise BadInput(f"{self.what}: the hub has no such model or commit (or it is private)") from error
        if isinstance(error, errors.OfflineModeIsEnabled):
            raise NoNetwork(f"{self.what}: HF_HUB_OFFLINE is set; unset it to download") from error
        if isinstance(error, (requests.RequestException, errors.LocalEntryNotFoundError, errors.FileMetadataError)):
            raise NoNetwork(f"{self.what}: the hub cannot be reached, or broke off; run the same command again, "
                            "it goes on where it stopped") from error
        if isinstance(error, OSError):
            raise Failure(f"{self.what}: {one_line(error)}") from error
        return False


def one_line(error):
    return " ".join(str(error).split())


def configure_environment():
    """Settings that huggingface_hub reads when imported."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    # Plain HTTP for all: it is what resumes by range and what the tests exercise.
    os.environ.setdefault("HF_HUB_DISABLE_XET", "1")
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
