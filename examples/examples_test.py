"""The examples as a user runs them: an engine in numpy passes an experiment, its copy with one bug fails it."""
import difflib
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

PROGRAM = os.environ["OCTLM_PROGRAM"]
HERE = pathlib.Path(__file__).parent
SPEC = HERE / "EXP-9001.json"
PASS, FAIL, REFUSED, UNREGISTERED, ERROR = 0, 1, 2, 3, 4


def octlm(*arguments, **variables):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          env=os.environ | {"OCTLM_VENV_PYTHON": sys.executable} | {n: str(v) for n, v in variables.items()})


def engine(name="numpy_engine"):
    return f"'{sys.executable}' -B '{HERE / name}.py'"


def lines(folder, kind):
    parsed = map(json.loads, (folder / "results.jsonl").read_text().splitlines())
    return [line for line in parsed if line["type"] == kind]


@pytest.fixture(scope="session", autouse=True)
def checkpoint():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = cache / "octlm" / "checkpoints" / "qwen3-mini-synthetic"
    if not (folder / "model.safetensors").exists():
        pytest.skip("not run: no checkpoint; get it with: ./octlm fetch qwen3-mini-synthetic")
    return folder


@pytest.fixture(scope="session", autouse=True)
def project(tmp_path_factory):
    """A root of its own, in which the example is registered: its results count, and the checkout's journal stays as it is."""
    root = tmp_path_factory.mktemp("project")
    shutil.copytree(HERE.parent / "experiments" / "registered", root / "experiments" / "registered")
    shutil.copytree(HERE.parent / "experiments" / "prompts", root / "experiments" / "prompts")
    shutil.copy(SPEC, root / "experiments" / "registered")
    os.environ["OCTLM_ROOT"] = str(root)
    registered = octlm("register", "EXP-9001", "EXP-101", "--prior-results", "none")
    assert registered.returncode == PASS, registered.stderr


@pytest.fixture(scope="session")
def recording(tmp_path_factory):
    """The reference's side, computed once; what is live about it is shown by the tutorials' test."""
    folder = tmp_path_factory.mktemp("recording") / "a folder with spaces"
    result = octlm("record", SPEC, "--out", folder)
    assert result.returncode == PASS, result.stderr
    assert "2 of 2" in result.stderr and result.stdout == f"{folder}\n"
    return folder


def run(recording, subject, out, *more, code=PASS, **variables):
    """Runs the example against the recording, where there is no Python environment and so no PyTorch."""
    result = octlm("run", SPEC, "--reference", recording, "--subject", subject, "--out", out, *more,
                   **({"OCTLM_VENV_PYTHON": "/no/such/python"} | variables))
    assert result.returncode == code, result.stdout + result.stderr
    return result


def test_the_numpy_engine_passes(recording, tmp_path):
    result = run(recording, engine(), tmp_path / "out")
    comparisons = lines(tmp_path / "out", "comparison")
    assert [(c["case"], c["path"]) for c in comparisons] == [("twelve tokens", "full"), ("one token repeated", "full")]
    for comparison in comparisons:
        assert comparison["subject"]["engine"] == "numpy"
        assert comparison["reference"] | {"settings": 0} == {
            "engine": "transformers", "version": "4.57.6", "source": "recorded", "settings": 0}
        assert comparison["calls"]["subject"] == [[0, comparison["positions"]]]
        assert 0 < comparison["metrics"]["max_abs_error@1"] < 1e-3
        assert comparison["peak_bytes"]["subject"] > 8e6
    absent = lines(tmp_path / "out", "not_compared")
    assert {a["reason"] for a in absent} == {"unsupported: numpy has no path cached:half"} and len(absent) == 2
    assert lines(tmp_path / "out", "experiment")[0]["devices"] == {"cpu": "pass"}
    assert "numpy" in (tmp_path / "out" / "results.jsonl").read_text()
    assert result.stdout


def test_the_one_with_a_bug_fails(recording, tmp_path):
    run(recording, engine("numpy_engine_with_a_bug"), tmp_path / "out", code=FAIL)
    comparisons = lines(tmp_path / "out", "comparison")
    assert [c["case"] for c in comparisons] == ["twelve tokens", "one token repeated"]
    assert comparisons[0]["metrics"]["max_abs_error@1"] > 0.05
    assert comparisons[0]["worst"]["position"] > 0, "nothing is rotated at position 0"
    # Attention to equal values gives that value, whatever the scores: there is rounding alone, worst anywhere.
    assert comparisons[1]["metrics"]["max_abs_error@1"] < 1e-3


def test_the_commands_on_the_page_show_the_same_verdict_when_pasted(recording, checkpoint, project, tmp_path):
    """As printed, into a shell, in the checkout: spec, --model in a folder with spaces, --subject, --reference; and no --out."""
    weights = tmp_path / "weights of mine"
    weights.symlink_to(checkpoint)
    out = tmp_path / "out"
    run(recording, engine("numpy_engine_with_a_bug"), out, "--model", f"qwen3-mini-synthetic={weights}", code=FAIL)
    root = pathlib.Path(os.environ["OCTLM_ROOT"])
    (root / "octlm").write_text(f'#!/bin/sh\nexec "{PROGRAM}" "$@"\n')
    (root / "octlm").chmod(0o755)
    page = html.unescape((out / "report.html").read_text())
    panel, whole = (re.search(pattern, page).group(1) for pattern in (
        r"<dt>command</dt><dd><code>(.*?)</code>", r"<pre><code>(.*?)</code></pre>"))
    summary = re.search(r"```sh\n(.*?)\n```", (out / "summary.md").read_text()).group(1)
    junit = re.search(r"to repeat: (.*)", html.unescape((out / "junit.xml").read_text())).group(1)
    assert summary == whole and junit.startswith(panel)
    for command in {panel, whole}:
        assert "--out" not in command and f"--model qwen3-mini-synthetic='{weights}'" in command
        done = subprocess.run(["sh", "-c", command], cwd=root, capture_output=True, text=True, timeout=300,
                              env=os.environ | {"OCTLM_VENV_PYTHON": "/no/such/python"})
        assert done.returncode == FAIL, command + done.stdout + done.stderr
        again, = lines(root / "reports" / "latest", "experiment")
        first, = lines(out, "experiment")
        assert again["devices"] == first["devices"] == {"cpu": "fail"}
        assert [one["value"] for one in again["criteria"]] == [one["value"] for one in first["criteria"]]


def test_the_page_says_what_the_bug_looks_like(recording, tmp_path):
    """Nothing is rotated at position 0, so that is right; the record's series says so."""
    run(recording, engine("numpy_engine_with_a_bug"), tmp_path / "out", code=FAIL)
    series = lines(tmp_path / "out", "comparison")[0]["error_by_position"]
    assert series["first"] == list(range(12)) and series["max_abs_error"][0] < 1e-4 < max(series["max_abs_error"])
    assert sum(n for _, n in series["powers_of_two"]) + series["equal"] + series["not_finite"] == series["positions"] == 12
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<dd>position 0 right, the rest wrong" in page, re.search(r"where it is wrong</dt><dd>[^<]*", page).group()


def test_the_two_differ_in_the_bug_alone():
    texts = [(HERE / f"{name}.py").read_text().splitlines() for name in ("numpy_engine", "numpy_engine_with_a_bug")]
    changed = [line for line in difflib.ndiff(*texts) if line[0] in "-+"]
    assert len([line for line in changed if '"""' not in line]) == 3, changed
    assert len(texts[0]) < 75


def test_octlm_checks_itself_from_outside(recording, tmp_path):
    run(recording, f"'{PROGRAM}' logits", tmp_path / "out")
    comparisons = lines(tmp_path / "out", "comparison")
    assert [c["calls"]["subject"] for c in comparisons if c["path"] == "cached:half"] == [[[0, 6], [6, 6]], [[0, 4], [4, 4]]]
    assert {c["subject"]["engine"] for c in comparisons} == {"octlm"} and len(comparisons) == 4
    assert "logits" in comparisons[0]["subject"]["settings"]["command"]


def test_the_answer_of_a_process_is_bitwise_ours(recording, tmp_path):
    run(recording, f"'{PROGRAM}' logits", tmp_path / "process")
    run(recording, "octlm", tmp_path / "inside")
    process, inside = (lines(tmp_path / folder, "comparison") for folder in ("process", "inside"))
    assert [c["metrics"] for c in process] == [c["metrics"] for c in inside]


def write(file, body):
    file.write_text("#!/bin/sh\n" + body)
    file.chmod(0o755)
    return f"'{file}'"


GREET = """echo '{"name": "fake", "version": "1", "dtypes": ["float32"], "devices": ["cpu"], "paths": ["full"]}'\n"""


# A crash costs one comparison and the run goes on; a hang costs its time limit.
@pytest.mark.parametrize("body, says", [
    ("echo cannot load >&2; exit 3\n", "exit code 3 before its line of capabilities; its stderr ends: cannot load"),
    (GREET + "read line || exit 0; echo Segmentation >&2; kill -SEGV $$\n", "signal 11"),
    (GREET + "read line || exit 0; sleep 600\n", "no sign of life for 1 s"),
    (GREET + "read line || exit 0; echo '{\"name\": \"logits.0\", \"shape\": [1, 1]}'\n", "expected the shape [12, 2048]"),
])
def test_a_program_that_breaks_is_an_error_and_the_run_goes_on(body, says, recording, tmp_path):
    subject = write(tmp_path / "a program", body)
    run(recording, subject, tmp_path / "out", "--subject-timeout", "1", code=ERROR, TMPDIR=tmp_path)
    broken = [a for a in lines(tmp_path / "out", "not_compared") if a["verdict"] == "error"]
    assert broken and says in broken[0]["reason"] and "a program" in broken[0]["reason"]
    if "capabilities" not in says:
        assert [b["case"] for b in broken] == ["twelve tokens", "one token repeated"], "the run went on"
    assert lines(tmp_path / "out", "summary")[0]["exit_code"] == ERROR
    assert sorted(f.name for f in tmp_path.iterdir()) == ["a program", "out"], "temporary files were left"


def test_a_program_without_the_dtype_or_device_is_not_run(recording, tmp_path):
    for missing in ('"float32"', '"cpu"'):
        subject = write(tmp_path / "other", GREET.replace(missing, '"other"'))
        run(recording, subject, tmp_path / missing, code=ERROR)  # nothing was compared
        reasons = {a["reason"] for a in lines(tmp_path / missing, "not_compared")}
        assert len(reasons) == 1 and f'has no {"dtype" if "float" in missing else "device"}' in reasons.pop()
        assert lines(tmp_path / missing, "experiment")[0]["verdict"] == "not_run"


@pytest.mark.parametrize("subject, says", [
    ("no-such-engine", "PATH"), ("/no/such/engine", "no file"), ("a | b", "shell"), ("'open", "quote"), ("", "no program")])
def test_a_subject_that_cannot_be_meant_is_refused(subject, says, recording, tmp_path):
    result = run(recording, subject, tmp_path / "out", code=REFUSED)
    assert says in result.stderr and not (tmp_path / "out").exists()


def test_nothing_in_the_command_reaches_a_shell(recording, tmp_path):
    run(recording, f"'{sys.executable}' -c 'import os; os.abort()' '$(touch {tmp_path}/shell)' '; touch {tmp_path}/shell'",
        tmp_path / "out", code=ERROR)
    assert not (tmp_path / "shell").exists()


def test_what_is_about_our_own_code_is_not_run_with_another_subject(recording, tmp_path):
    result = octlm("run", "EXP-101", "--subject", engine(), "--out", tmp_path / "out")
    assert result.returncode == ERROR
    assert "octlm's own reader" in lines(tmp_path / "out", "not_compared")[0]["reason"]


def test_a_recording_answers_for_nothing_else(recording, tmp_path):
    spec = json.loads(SPEC.read_text())
    spec["cases"][0]["token_ids"][3] += 1
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(spec))
    result = octlm("run", file, "--reference", recording, "--out", tmp_path / "out")
    assert result.returncode == UNREGISTERED
    assert lines(tmp_path / "out", "experiment")[0]["verdict"] == "error"
    assert "has no logits for these 12 token ids" in (tmp_path / "out" / "results.jsonl").read_text()
    assert octlm("record", SPEC, "--out", recording).returncode == REFUSED, "a recording is not overwritten"
    assert octlm("record", "EXP-101", "--out", tmp_path / "r").returncode == REFUSED
    spec["model"].pop("files")
    file.write_text(json.dumps(spec))
    refused = octlm("record", file, "--out", tmp_path / "r")
    assert refused.returncode == REFUSED and "must know its weights" in refused.stderr


@pytest.mark.parametrize("kind", ["logit_parity", "cached_parity", "checkpoint_load", "noise_floor"])
def test_new_passes_check(kind, checkpoint, tmp_path):
    file = tmp_path / "new.json"
    result = octlm("new", kind, "--model", "qwen3-mini-synthetic", "--out", file)
    assert result.returncode == PASS, result.stderr
    assert result.stdout == f"{file}\n" and "REPLACE" in result.stderr
    spec = json.loads(file.read_text())
    registered = [f.stem for f in (HERE.parent / "experiments" / "registered").glob("*.json")]
    assert spec["id"].startswith("EXP-") and spec["id"] not in registered + ["EXP-9001"]
    assert spec["model"]["files"]["model.safetensors"].startswith("sha256:80fbd9b8")
    checked = octlm("check", file)
    assert checked.returncode == PASS, checked.stderr
    assert str(checkpoint) in checked.stdout and "estimate: about" in checked.stdout
    assert "to be written: $.question" in checked.stdout
    refused = octlm("new", kind, "--model", "qwen3-mini-synthetic", "--out", file)
    assert refused.returncode == REFUSED and "not overwritten" in refused.stderr
    assert json.loads(file.read_text()) == spec


@pytest.mark.parametrize("kind", ["tokenizer_parity", "template_parity"])
def test_new_about_text_passes_check(kind, checkpoint, tmp_path):
    smollm2 = checkpoint.parent / "smollm2-135m-instruct"
    if not (smollm2 / "tokenizer.json").exists():
        pytest.skip("not run: no checkpoint; get it with: ./octlm fetch smollm2-135m-instruct")
    shutil.copytree(HERE.parent / "experiments" / "prompts", tmp_path / "prompts")
    file = tmp_path / "new.json"
    assert octlm("new", kind, "--model", "smollm2-135m-instruct", "--out", file).returncode == PASS
    assert set(json.loads(file.read_text())["model"]["files"]) == {"tokenizer.json", "tokenizer_config.json"}
    checked = octlm("check", file)
    assert checked.returncode == PASS, checked.stderr
    assert "to be written: $.question" in checked.stdout


def test_every_kind_has_a_starting_point():
    for line in octlm("list", "--kinds").stdout.splitlines():
        result = octlm("new", line.split()[0], "--model", "/no/such/folder")
        assert "/no/such/folder" in result.stderr, line


def test_new_takes_a_folder_and_an_id(checkpoint, tmp_path):
    file = tmp_path / "new.json"
    assert octlm("new", "logit_parity", "--model", checkpoint, "--id", "MINE-7", "--out", file).returncode == PASS
    assert json.loads(file.read_text())["model"]["id"] == checkpoint.name
    assert json.loads(file.read_text())["id"] == "MINE-7"


@pytest.mark.parametrize("arguments, says", [
    (["logit_partiy", "--model", "qwen3-mini-synthetic"], "logit_parity"),
    (["logit_parity", "--model", "/no/such/folder"], "/no/such/folder"),
    (["logit_parity"], "--model"),
    (["logit_parity", "--model", "qwen3-mini-synthetic", "--id", "lower case"], "id")])
def test_new_refuses(arguments, says, tmp_path):
    result = octlm("new", *arguments, "--out", tmp_path / "new.json")
    assert result.returncode == REFUSED and says in result.stderr
    assert not (tmp_path / "new.json").exists()
