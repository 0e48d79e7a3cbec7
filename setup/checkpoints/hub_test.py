"""Downloads from a small server on this machine that answers as the hub does."""
import hashlib
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = bytes(range(256)) * 100_000  # 25.6 MB: huggingface_hub saves what came in pieces of 10 MB
FILES = {
    "config.json": b'{"model_type": "qwen3"}',
    "tokenizer.json": b"{}",
    "README.md": b"not wanted",
    "onnx/model.safetensors": b"not wanted either",
    "model.safetensors": WEIGHTS,
}


class Hub(http.server.ThreadingHTTPServer):
    """`break_after`: bytes of the weights after which transfers break; `corrupted`: a file sent with one bit turned."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.break_after, self.corrupted, self.ranges = None, None, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def declared(self, name):
        content = FILES[name]
        entry = {"rfilename": name, "size": len(FILES[name]), "blobId": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()}
        if name.endswith(".safetensors"):
            entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(FILES[name]), "pointerSize": 100}
        return entry


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == f"/api/models/some/model/revision/{COMMIT}":
            body = json.dumps({"id": "some/model", "sha": COMMIT, "siblings": [self.server.declared(name) for name in FILES]})
            self.answer(200, body.encode(), {"Content-Type": "application/json"})
        elif path.startswith(f"/some/model/resolve/{COMMIT}/") and path.split(COMMIT + "/")[1] in FILES:
            self.send_file(path.split(COMMIT + "/")[1])
        else:
            self.answer(404, b"", {"X-Error-Code": "RepoNotFound" if "absent" in path else "RevisionNotFound"})

    do_HEAD = do_GET

    def send_file(self, name):
        begin = int(re.match(r"bytes=(\d+)-", self.headers.get("Range", "bytes=0-"))[1])
        whole, body = FILES[name], FILES[name][begin:]
        if name == self.server.corrupted:
            body = body[:-1] + bytes([body[-1] ^ 1])
        headers = {"ETag": f'"{hashlib.sha256(whole).hexdigest()}"', "X-Repo-Commit": COMMIT}
        if begin:
            headers["Content-Range"] = f"bytes {begin}-{len(whole) - 1}/{len(whole)}"
        cut = None
        if name == "model.safetensors" and self.command == "GET":
            self.server.ranges.append(begin)
            cut = self.server.break_after
        self.answer(206 if begin else 200, body, headers, None if cut is None else max(0, cut - begin))

    def answer(self, status, body, headers, cut=None):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[:cut])
        if cut is not None:
            self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture
def hub():
    server = Hub()
    yield server
    server.shutdown()
    server.server_close()


def fetch(tmp_path, endpoint, *arguments, **environment):
    setup = pathlib.Path(__file__).resolve().parents[1]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_") and "proxy" not in name.lower()}
    return subprocess.run(
        [sys.executable, "-m", "checkpoints", "fetch", *arguments], capture_output=True, text=True, timeout=120, check=False,
        env=kept | {"PYTHONPATH": str(setup), "XDG_CACHE_HOME": str(tmp_path), "HF_HOME": str(tmp_path / "hf"), "HF_ENDPOINT": endpoint}
        | environment)


def url(server):
    return f"http://127.0.0.1:{server.server_address[1]}"


def folder(tmp_path):
    return tmp_path / "octlm" / "checkpoints" / "some--model" / COMMIT


def test_what_defines_the_function_is_downloaded_and_checked(tmp_path, hub):
    done = fetch(tmp_path, url(hub), "some/model", "--revision", COMMIT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(folder(tmp_path))
    assert sorted(path.name for path in folder(tmp_path).iterdir()) == ["config.json", "manifest.json", "model.safetensors", "tokenizer.json"]
    assert (folder(tmp_path) / "model.safetensors").read_bytes() == WEIGHTS
    manifest = json.loads((folder(tmp_path) / "manifest.json").read_text())
    assert (manifest["name"], manifest["revision"], manifest["source"]["kind"]) == ("some/model", COMMIT, "hub")
    assert manifest["files"]["model.safetensors"] == {"sha256": hashlib.sha256(WEIGHTS).hexdigest(), "bytes": len(WEIGHTS)}
    assert "3 of 3: model.safetensors (25.6 MB)" in done.stderr
    hub.shutdown()  # the second time needs no network
    again = fetch(tmp_path, "http://127.0.0.1:9", "some/model", "--revision", COMMIT, HF_HUB_OFFLINE="1")
    assert (again.returncode, again.stdout) == (0, done.stdout)


def test_a_broken_transfer_is_resumed_by_the_next_run(tmp_path, hub):
    hub.break_after = 15_000_000
    broken = fetch(tmp_path, url(hub), "some/model", "--revision", COMMIT)
    assert broken.returncode == 4
    assert "broke off; run the same command again" in broken.stderr.splitlines()[-1]
    assert not folder(tmp_path).exists()
    hub.break_after, before = None, len(hub.ranges)
    done = fetch(tmp_path, url(hub), "some/model", "--revision", COMMIT)
    assert done.returncode == 0, done.stderr
    assert hub.ranges[before:] and hub.ranges[before] >= 10_000_000
    assert (folder(tmp_path) / "model.safetensors").read_bytes() == WEIGHTS


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_file_with_another_hash_is_refused_and_downloaded_again(tmp_path, hub, name):
    hub.corrupted = name
    refused = fetch(tmp_path, url(hub), "some/model", "--revision", COMMIT)
    assert refused.returncode == 1
    assert f"{name} hashes to" in refused.stderr.splitlines()[-1]
    assert not folder(tmp_path).exists()
    hub.corrupted = None
    assert fetch(tmp_path, url(hub), "some/model", "--revision", COMMIT).returncode == 0


def test_an_absent_model_or_commit_is_bad_input(tmp_path, hub):
    for arguments in (["some/absent", "--revision", COMMIT], ["some/model", "--revision", "f" * 40]):
        done = fetch(tmp_path, url(hub), *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert "no such model or commit" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "octlm").exists()


def test_without_a_network_it_says_so_in_one_line(tmp_path):
    for environment in ({}, {"HF_HUB_OFFLINE": "1"}):
        done = fetch(tmp_path, "http://127.0.0.1:9", "Qwen/Qwen3-0.6B", **environment)
        assert (done.returncode, done.stdout) == (4, "")
        assert "Qwen/Qwen3-0.6B at c1899de289a04d12100db370d81485cdf75e47ca" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "octlm").exists()


def test_the_pin_of_qwen3_names_every_file():
    from checkpoints import hub as hub_module

    checkpoint = hub_module.resolve("Qwen/Qwen3-0.6B", None)
    assert checkpoint.place == "Qwen--Qwen3-0.6B/c1899de289a04d12100db370d81485cdf75e47ca"
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in checkpoint.expected.values()) and len(checkpoint.expected) == 7
    assert hub_module.resolve("Qwen/Qwen3-0.6B", COMMIT).expected == {}
