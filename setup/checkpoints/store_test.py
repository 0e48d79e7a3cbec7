import json
import multiprocessing
import time

import pytest

from checkpoints import store
from checkpoints.__main__ import main
from checkpoints.failure import Failure, NotAsPromised

HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "octlm" / "checkpoints"


def ensure(make, expected=None):
    return store.ensure("x", make, name="x", revision=None, source={"kind": "test"}, expected=expected or {})


def write_hello(folder):
    (folder / "config.json").write_text("hello")


def test_a_made_checkpoint_has_a_manifest_and_is_not_made_again(cache):
    folder = ensure(write_hello, {"config.json": HELLO})
    assert folder == cache / "x"
    assert json.loads((folder / "manifest.json").read_text()) == {
        "schema": 1, "name": "x", "revision": None, "source": {"kind": "test"},
        "files": {"config.json": {"sha256": HELLO, "bytes": 5}}}
    assert ensure(lambda partial: pytest.fail("made again"), {"config.json": HELLO}) == folder
    assert not (cache / "x.partial").exists()


def test_a_failure_half_way_leaves_no_checkpoint_and_is_repaired(cache):
    def breaks(partial):
        (partial / "left-over").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ensure(breaks)
    assert not (cache / "x").exists()
    folder = ensure(write_hello)
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "manifest.json"]


def test_other_bytes_than_expected_are_refused(cache):
    with pytest.raises(NotAsPromised, match="config.json has sha256 2cf24d"):
        ensure(write_hello, {"config.json": "0" * 64})
    with pytest.raises(NotAsPromised, match="model.safetensors has sha256 absent"):
        ensure(write_hello, {"model.safetensors": "0" * 64})
    assert not (cache / "x").exists()


def test_a_checkpoint_of_another_recipe_is_made_again():
    ensure(lambda folder: (folder / "config.json").write_text("older"))
    assert store.present("x", {"config.json": HELLO}) is None
    assert (ensure(write_hello, {"config.json": HELLO}) / "config.json").read_text() == "hello"


@pytest.mark.parametrize("harm", [
    lambda folder: (folder / "config.json").unlink(),
    lambda folder: (folder / "config.json").write_text("hell"),
    lambda folder: (folder / "manifest.json").write_text("{"),
    lambda folder: (folder / "manifest.json").write_text("[]"),
    lambda folder: (folder / "manifest.json").unlink(),
])
def test_an_incomplete_checkpoint_is_not_present(harm):
    harm(ensure(write_hello))
    assert store.present("x", {}) is None
    assert (ensure(write_hello) / "config.json").read_text() == "hello"


def test_verify_finds_a_changed_byte():
    folder = ensure(write_hello)
    store.verify(folder, store.manifest_of(folder))
    (folder / "config.json").write_text("hellO")
    with pytest.raises(NotAsPromised, match="config.json: sha256 is"):
        store.verify(folder, store.manifest_of(folder))


def slow_make(folder):
    with open(folder.parent / "makers", "a") as file:
        file.write("made\n")
    time.sleep(0.5)
    write_hello(folder)


def test_two_at_once_make_it_once(cache):
    processes = [multiprocessing.get_context("fork").Process(target=ensure, args=(slow_make,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert (cache / "makers").read_text() == "made\n"


def test_a_full_disk_is_one_line(cache):
    cache.mkdir(parents=True)
    with pytest.raises(Failure, match="MB are free; make room"):
        store.require_space(cache, 1 << 60)


def test_the_cache_folder_follows_the_xdg_rule(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for ignored in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert store.root() == tmp_path / ".cache" / "octlm" / "checkpoints"


@pytest.mark.parametrize("arguments, says", [
    (["no-such"], "there is no checkpoint 'no-such': known are smollm2-135m-instruct, qwen3-0.6b-synthetic"),
    (["smollm2-135m-instruct", "--revision", "main"], "has no revisions"),
    (["some/model"], "give --revision COMMIT"),
    (["some/model", "--revision", "main"], "is not a full commit"),
    (["../model"], "is no hub id"),
    (["some/../model"], "is no hub id"),
])
def test_bad_input_is_one_line_and_writes_nothing(arguments, says, capsys, cache):
    assert main(["fetch", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err and err.count("\n") == 1
    assert not cache.exists()


def test_fetch_prints_the_folder_as_its_last_line(capsys, cache):
    for _ in range(2):
        assert main(["fetch", "qwen3-mini-synthetic", "--verify"]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == str(cache / "qwen3-mini-synthetic")
    weights = cache / "qwen3-mini-synthetic" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert main(["fetch", "qwen3-mini-synthetic", "--verify"]) == 1
    assert "model.safetensors: sha256 is" in capsys.readouterr().err
