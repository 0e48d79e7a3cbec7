"""What commands write never replaces what they read, nor anything that is no file; what is replaced keeps its mode."""
import json
import os
import shutil
import stat
import subprocess

import pytest
from conftest import ERROR, PASS, PROGRAM, REFUSED, octlm, one_line

LINE = '{"ids": [1, 2, 3]}\n'


@pytest.fixture
def model(tiny, tmp_path):
    return shutil.copytree(tiny, tmp_path / "model")


def logits(model, out, stdin=LINE, **keywords):
    return octlm("logits", "--model", model, "--out", out, stdin=stdin, **keywords)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


# sahib/rmlint#763: the input written over. By its path, a symbolic link, a hard link, in the folder of another link.
@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
@pytest.mark.parametrize("way", ["path", "link", "hard link", "folder"])
def test_a_file_of_the_checkpoint_is_never_written_over(model, tmp_path, way, name):
    before = contents(model)
    out = tmp_path / "out"
    if way == "path":
        out = model / name
    elif way == "link":
        out.symlink_to(model / name)
    elif way == "hard link":
        os.link(model / name, out)
    else:
        out.symlink_to(model)
        out = out / name
    message = one_line(logits(model, out), REFUSED)
    assert f"{out}: is " in message and "is not overwritten" in message
    assert contents(model) == before


def test_a_session_writes_over_no_file_of_the_checkpoint_and_goes_on(model, tmp_path):
    before = contents(model)
    asked = [{"ids": [1], "keep": 0, "out": str(out)} for out in (model / "model.safetensors", tmp_path / "good")]
    result = octlm("logits", "--model", model, "--session", stdin="".join(json.dumps(line) + "\n" for line in asked))
    answers = [json.loads(line) for line in result.stdout.splitlines()[2:]]
    assert "is not overwritten" in answers[0]["error"] and answers[1]["shape"] == [1, 64]
    assert contents(model) == before and (tmp_path / "good").exists()


def test_neither_stdin_nor_stdout_is_written_over(model, tmp_path):
    requests = tmp_path / "requests"
    requests.write_text(LINE)
    with open(requests) as stdin:
        result = subprocess.run([PROGRAM, "logits", "--model", model, "--out", requests], stdin=stdin, capture_output=True, text=True)
    assert "the standard input" in one_line(result, REFUSED) and requests.read_text() == LINE


# bazelbuild/bazel#31038: a device node replaced by a file. Never tried with a device of the system.
def test_what_is_no_file_is_refused_and_stays(model, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("fifo")
    names = ["fifo", "folder", "link"]
    try:
        os.mknod(tmp_path / "device", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        names.append("device")
    except PermissionError:
        pass  # not run as root
    kinds = {name: stat.S_IFMT((tmp_path / name).lstat().st_mode) for name in names}
    for name in names:
        assert "not a regular file" in one_line(logits(model, tmp_path / name), ERROR)
        assert stat.S_IFMT((tmp_path / name).lstat().st_mode) == kinds[name]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "model"])


def test_mode_and_link_of_what_is_replaced_are_kept(model, tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("before")
    file.chmod(0o600)
    link.symlink_to("file")
    assert logits(model, link).returncode == PASS
    assert link.is_symlink() and file.read_bytes()[8:9] == b"{" and stat.S_IMODE(file.stat().st_mode) == 0o600


# The data that is not whole yet: a link of its name is not followed.
def test_a_link_where_the_unfinished_file_goes_is_not_followed(model, tmp_path):
    before = contents(model)
    out = tmp_path / "out"
    (tmp_path / "out.data.partial").symlink_to(model / "model.safetensors")
    assert logits(model, out).returncode == PASS
    assert contents(model) == before and sorted(path.name for path in tmp_path.iterdir()) == ["model", "out"]


@pytest.mark.parametrize("name", ["summary.md", "junit.xml", "report.html"])
def test_a_run_writes_over_none_of_its_inputs(model, write_spec, tmp_path, name):
    spec, out = write_spec(), tmp_path / "out"
    text = spec.read_text()
    for link in (os.symlink, os.link):
        for source in (spec, model / "config.json"):
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            link(source, out / name)
            assert "is not overwritten" in one_line(octlm("run", spec, "--model", f"tiny={model}", "--out", out), REFUSED)
            assert [path.name for path in out.iterdir()] == [name]
    assert spec.read_text() == text


def test_a_page_is_not_written_over_the_record_it_is_made_from(write_spec, tmp_path):
    assert octlm("run", write_spec(), "--out", tmp_path / "out").returncode in (ERROR, 3)
    record = (tmp_path / "out" / "results.jsonl").read_bytes()
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "summary.md").symlink_to(tmp_path / "out" / "results.jsonl")
    assert "is not overwritten" in one_line(octlm("report", tmp_path / "out", "--out", tmp_path / "pages"), REFUSED)
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == record


def test_a_recording_is_not_written_over_its_spec(model, write_spec, tmp_path):
    import hashlib
    digest = hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()
    spec = write_spec(model={"id": "tiny", "files": {"model.safetensors": f"sha256:{digest}"}})
    (tmp_path / "out").mkdir()
    os.link(spec, tmp_path / "out" / "logits.0.safetensors")
    result = octlm("record", spec, "--model", f"tiny={model}", "--out", tmp_path / "out")
    assert "is not overwritten" in one_line(result, REFUSED)


def test_a_new_spec_replaces_nothing_through_a_link(model, tmp_path):
    (tmp_path / "link.json").symlink_to(model / "config.json")
    before = contents(model)
    (tmp_path / "dangling.json").symlink_to(tmp_path / "elsewhere.json")
    for name in ("link.json", "dangling.json"):
        assert "is not overwritten" in one_line(octlm("new", "logit_parity", "--model", model, "--out", tmp_path / name), REFUSED)
    assert contents(model) == before and not (tmp_path / "elsewhere.json").exists()
