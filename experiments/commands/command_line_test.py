"""The program as a user meets it: exit codes, filters, refusals, and what is written where.

Each test runs the program itself. A tiny checkpoint is made with numpy and safetensors, and the numbers
of `octlm logits` are held against Transformers in this, another, process.
"""
import json
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest
from conftest import ERROR, FAIL, PASS, PROGRAM, REFUSED, UNREGISTERED, VOCAB, lines, octlm, one_line, spec
from safetensors.numpy import load_file, save_file

# Run.


def test_a_run_that_holds_ends_with_0_and_writes_its_record(tiny, claim, tmp_path):
    out = tmp_path / "out"
    result = octlm("run", claim(), "--model", f"tiny={tiny}", "--out", out)
    assert result.returncode == PASS, result.stdout + result.stderr
    comparisons = lines(out, "comparison")
    assert [c["path"] for c in comparisons] == ["full", "cached:every"]
    assert comparisons[1]["calls"]["subject"] == [[i, 1] for i in range(5)]
    for comparison in comparisons:
        assert comparison["reference"]["source"] == "live"
        assert comparison["seconds"]["subject"] > 0 and comparison["seconds"]["reference"] > 0
        assert comparison["peak_bytes"]["subject"] > 0 and comparison["peak_bytes"]["reference"] > 0
    assert lines(out, "experiment")[0]["verdict"] == "pass"
    assert lines(out, "summary")[0]["exit_code"] == 0
    assert "EXP-950" in (out / "summary.md").read_text()
    assert str(out) in result.stdout


# quantumlib/Cirq#1945, root-project/root#19299: a failure that exits with 0.
def test_a_bound_that_does_not_hold_ends_with_1(tiny, claim, tmp_path):
    criteria = [{"metric": "max_abs_error@1", "at_most": 1e-12, "derivation": "below rounding, to fail"}]
    result = octlm("run", claim(criteria=criteria), "--model", f"tiny={tiny}", "--out", tmp_path / "out")
    assert result.returncode == FAIL
    assert lines(tmp_path / "out", "experiment")[0]["verdict"] == "fail"


def test_what_nobody_registered_runs_and_ends_with_3(tiny, write_spec, tmp_path):
    result = octlm("run", write_spec(), "--model", f"tiny={tiny}", "--out", tmp_path / "out")
    assert result.returncode == UNREGISTERED
    assert lines(tmp_path / "out", "experiment")[0]["verdict"] == "pass"
    assert lines(tmp_path / "out", "experiment")[0]["label"] == "unregistered"
    assert "EXP-950 is unregistered" in result.stdout


def test_absent_weights_are_not_run_and_nothing_compared_is_an_error(claim, tmp_path):
    result = octlm("run", claim(), "--out", tmp_path / "out")
    assert result.returncode == ERROR
    experiment = lines(tmp_path / "out", "experiment")[0]
    assert experiment["verdict"] == "not_run"
    assert "give their folder: --model tiny=FOLDER" in result.stdout


def test_a_required_device_that_is_absent_is_an_error(tiny, claim, tmp_path):
    subject = spec()["subject"] | {"devices": ["cpu", "cuda"]}
    file = claim(subject=subject)
    arguments = ["run", file, "--model", f"tiny={tiny}"]
    result = octlm(*arguments, "--out", tmp_path / "a")
    assert result.returncode == PASS
    assert re.search(r"^EXP-950 +tiny +- +cuda +not run +0/2", result.stdout, re.MULTILINE), result.stdout
    assert octlm(*arguments, "--require", "cuda", "--out", tmp_path / "b").returncode == ERROR


@pytest.mark.parametrize("arguments", [
    [], ["rnu"], ["run", "--tolerence", "1"], ["run", "EXP-999"], ["run", "tag:none"], ["run", "--device", "tpu"],
    ["run", "--require", "wieghts", "EXP-101"], ["run", "--model", "x"], ["run", "--model", "x=/no/such/folder"],
    ["run", "--reference", "/no/such/folder", "EXP-102"], ["run", "no/such/spec.json"],
    ["check"], ["check", "no/such/spec.json"], ["logits", "--model", "x"],
    ["logits", "--model", "x", "--out", "y", "--path", "sideways"],
])
def test_arguments_that_cannot_be_meant_are_refused(arguments, tmp_path):
    result = octlm(*arguments, cwd=tmp_path)
    assert result.returncode == REFUSED, result.stdout + result.stderr
    assert result.stderr.strip()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change, says", [
    ({"tolerence": 1e-3}, "tolerence"),
    ({"cases": []}, "cases"),
    ({"kind": "logit_partiy"}, "logit_parity"),
    ({"schema": 2}, "schema"),
    ({"criteria": []}, "criteria"),
    ({"criteria": [{"metric": "max_abs_eror@1", "at_most": 1, "derivation": "d"}]}, "max_abs_error@1"),
    ({"model": {"id": "tiny", "revison": ""}}, "revison"),
])
def test_a_spec_that_is_not_right_is_refused_in_one_line(change, says, write_spec, tmp_path):
    file = write_spec(**change)
    for command in (["check", file], ["run", file, "--out", tmp_path / "out"]):
        message = one_line(octlm(*command), REFUSED)
        assert str(file) in message and says in message
    assert not (tmp_path / "out").exists()


# What a broken engine would pass as well (an engine of zeros passed each of these, "matches", at an error of 8).
@pytest.mark.parametrize("criteria, says", [
    ([{"metric": "max_abs_error@1", "at_least": 0, "derivation": "d"}], "bounds the good side"),
    ([{"metric": "top1_agreement@1", "at_least": 0, "derivation": "d"}], "always holds"),
    ([{"metric": "kl_max@1", "at_least": -5, "derivation": "d"}], "bounds the good side"),
    ([{"metric": "max_abs_error@1", "at_most": -0.001, "derivation": "d"}], "can never hold"),
    ([{"metric": "max_abs_error@1", "at_most": 1e9, "derivation": "d"}], "no looser than 1"),
    ([{"metric": "finite@1", "equals": True}], "where a fault would show"),
    ([{"metric": "top1_agreement@1", "at_least": 1, "derivation": "d"}], "where a fault would show"),
    ([{"metric": "max_abs_error@1", "at_most": 1e-3, "derivation": "d", "when": {"path": "full"}},
      {"metric": "finite@1", "equals": True}], "five, cached:every"),
])
@pytest.mark.parametrize("command", ["check", "register", "run"])
def test_a_criterion_that_says_nothing_is_refused(command, criteria, says, put_claim, project):
    file = put_claim(criteria=criteria)
    more = ["--prior-results", "none"] if command == "register" else []
    assert says in one_line(octlm(command, file, *more), REFUSED)
    assert not (project / "experiments" / "ledger.jsonl").exists() and not (project / "reports").exists()


def test_a_bound_above_what_constant_rows_err_is_no_pass(tiny, claim, tmp_path):
    """Allowed by the kind, and beyond what this checkpoint's logits span: only the run can tell."""
    small = tmp_path / "small"
    shutil.copytree(tiny, small)
    tensors = load_file(small / "model.safetensors")
    tensors["model.norm.weight"] *= 1e-3  # and so are the logits
    save_file(tensors, small / "model.safetensors", metadata={"format": "pt"})
    file = claim(criteria=[{"metric": "max_abs_error@1", "at_most": 0.5, "derivation": "d"}])
    result = octlm("run", file, "--model", f"tiny={small}", "--out", tmp_path / "out")
    assert result.returncode == ERROR
    assert "says nothing here: constant_error@1 is" in result.stdout
    assert octlm("run", file, "--model", f"tiny={tiny}", "--out", tmp_path / "out2").returncode == PASS


def test_check_says_all_that_is_wrong_at_once(write_spec):
    file = write_spec(id="nothing", title="", criteria=[{"metric": "max_abs_eror@1", "at_most": 1, "derivation": "d"}],
                      model={"id": "tiny", "revison": ""}, cases=[{"name": "a", "token_ids": ["x"]}, {"name": "b"}])
    result = octlm("check", file)
    assert result.returncode == REFUSED and result.stdout == ""
    said = [line.removeprefix("octlm: ") for line in result.stderr.splitlines()]
    for place in ("$.id: ", "$.title: ", '$.criteria[0].metric: "max_abs_eror@1" is not known; did you mean '
                  '"max_abs_error@1"?', '$.model.revison: unknown key; did you mean "revision"?',
                  "$.cases[0].token_ids[0]: ", '$.cases[1]: the key "token_ids" is missing'):
        assert any(line.startswith(f"{file}: {place}") for line in said), (place, said)
    assert len(said) == 6, said
    document = json.loads(octlm("check", file, "--json").stdout)
    assert document["findings"] == said and document["exit_code"] == REFUSED


def test_check_finds_what_a_run_could_not_do(tiny, write_spec, put_claim, project):
    absent = octlm("check", write_spec())
    assert absent.returncode == ERROR and "$.model: not here: no weights of tiny" in absent.stderr
    assert octlm("check", write_spec(), "--model", f"tiny={tiny}").returncode == PASS
    other = write_spec(model={"id": "tiny", "files": {"config.json": "sha256:" + "0" * 64}})
    changed = octlm("check", other, "--model", f"tiny={tiny}")
    assert changed.returncode == ERROR and "config.json: sha256 is" in changed.stderr
    document = json.loads(octlm("check", other, "--model", f"tiny={tiny}", "--json").stdout)
    assert document["exit_code"] == ERROR and len(document["findings"]) == 1
    misnamed = put_claim().rename(project / "experiments" / "registered" / "EXP-951.json")
    assert '"EXP-950" stands in a file that is called EXP-951.json' in one_line(octlm("check", misnamed), REFUSED)


def test_the_place_of_the_schema_may_stand_in_a_spec(tiny, write_spec):
    file = write_spec()
    plain = octlm("check", file, "--model", f"tiny={tiny}").stdout
    file.write_text(json.dumps({"$schema": "../../docs/spec.schema.json"} | spec()))
    assert octlm("check", file, "--model", f"tiny={tiny}").stdout == plain, "no part of the claim"


def test_a_spec_with_a_duplicate_key_is_refused(tmp_path):
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(spec()).replace('"schema": 1', '"schema": 1, "schema": 1'))
    assert "schema" in one_line(octlm("check", file), REFUSED)


def test_a_folder_that_cannot_be_written_is_one_clear_error(tiny, write_spec, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    result = octlm("run", write_spec(), "--model", f"tiny={tiny}", "--out", tmp_path / "file" / "out")
    assert result.returncode in (REFUSED, ERROR)
    assert str(tmp_path / "file") in result.stderr


# Bad checkpoints.


def truncate(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def endless_header(folder):
    file = folder / "model.safetensors"
    file.write_bytes(b"\xff" * 8 + file.read_bytes()[8:])


def poison(folder):
    tensors = load_file(folder / "model.safetensors")
    tensors["model.norm.weight"][3] = np.nan
    save_file(tensors, folder / "model.safetensors")


def lose(folder):
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, folder / "model.safetensors")


def unknown_scaling(folder):
    config = json.loads((folder / "config.json").read_text())
    config["rope_scaling"] = {"rope_type": "banana"}
    (folder / "config.json").write_text(json.dumps(config))


def no_config(folder):
    (folder / "config.json").unlink()


@pytest.mark.parametrize("damage, says", [
    (truncate, "model.safetensors"), (endless_header, "header"), (poison, "model.norm.weight"),
    (lose, "model.layers.1.mlp.up_proj.weight"), (unknown_scaling, "banana"), (no_config, "config.json")])
def test_a_damaged_checkpoint_is_one_error_and_the_run_goes_on(damage, says, tiny, claim, tmp_path):
    bad = tmp_path / "bad"
    bad.mkdir()
    for file in tiny.iterdir():
        (bad / file.name).write_bytes(file.read_bytes())
    damage(bad)
    out = tmp_path / "logits.safetensors"
    result = octlm("logits", "--model", bad, "--out", out, stdin='{"ids": [1]}\n')
    assert result.returncode == ERROR, result.stderr
    assert says in result.stderr.splitlines()[0] or says in result.stderr
    assert not out.exists()
    result = octlm("run", claim(), "--model", f"tiny={bad}", "--out", tmp_path / "out")
    assert result.returncode == ERROR
    assert lines(tmp_path / "out", "experiment")[0]["verdict"] == "error"


# Logits.


@pytest.fixture(scope="session")
def transformers_logits(tiny):
    torch = pytest.importorskip("torch")
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32, attn_implementation="eager").eval()

    def logits(ids):
        with torch.inference_mode():
            return model(torch.tensor([ids])).logits[0].numpy()

    return logits


@pytest.mark.parametrize("path", ["full", "cached:half", "cached:every", "chunked:3"])
def test_logits_are_those_of_transformers(path, tiny, transformers_logits, tmp_path):
    prompts = [[1, 2, 3, 4, 5, 6, 7], [63], [9] * 40] if path != "cached:half" else [[1, 2, 3, 4, 5, 6, 7], [9, 8]]
    out = tmp_path / "logits.safetensors"
    result = octlm("logits", "--model", tiny, "--out", out, "--path", path,
                   stdin="".join(json.dumps({"ids": ids}) + "\n" for ids in prompts))
    assert result.returncode == PASS, result.stderr
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"name": f"logits.{i}", "shape": [len(ids), VOCAB]} for i, ids in enumerate(prompts)]
    tensors = load_file(out)
    assert len(tensors) == len(prompts)
    for i, ids in enumerate(prompts):
        expected = transformers_logits(ids)
        assert expected.max() - expected.min() > 1
        np.testing.assert_allclose(tensors[f"logits.{i}"], expected, rtol=0, atol=2e-4)


def test_logits_of_chosen_positions(tiny, transformers_logits, tmp_path):
    out = tmp_path / "logits.safetensors"
    result = octlm("logits", "--model", tiny, "--out", out, "--path", "chunked:2",
                   stdin='{"ids": [1, 2, 3, 4, 5], "positions": [0, 3]}\n')
    assert json.loads(result.stdout) == {"name": "logits.0", "shape": [2, VOCAB]}
    np.testing.assert_allclose(load_file(out)["logits.0"], transformers_logits([1, 2, 3, 4, 5])[[0, 3]],
                               rtol=0, atol=2e-4)


def test_the_definition_agrees_with_float32(tiny, tmp_path):
    tensors = []
    for dtype in ("float32", "float64"):
        out = tmp_path / f"{dtype}.safetensors"
        assert octlm("logits", "--model", tiny, "--out", out, "--dtype", dtype,
                     stdin='{"ids": [5, 6, 7, 8]}\n').returncode == PASS
        tensors.append(load_file(out)["logits.0"])
    np.testing.assert_allclose(tensors[0], tensors[1], rtol=0, atol=1e-4)
    assert not np.array_equal(tensors[0], tensors[1])


def test_a_bad_line_is_answered_and_the_others_go_on(tiny, tmp_path):
    out = tmp_path / "logits.safetensors"
    bad = ['{"ids": []}', '{"ids": [64]}', '{"ids": [-1]}', "not json", '{"id": [1]}', '{"ids": [1], "positions": [1]}',
           '{"ids": [1, 2], "positions": [1, 0]}', '{"ids": [' + "1," * 128 + "1]}", '{"ids": "1"}', ""]
    stdin = '{"ids": [1]}\n' + "\n".join(bad) + '\n{"ids": [2]}\n'
    result = octlm("logits", "--model", tiny, "--out", out, stdin=stdin)
    assert result.returncode == ERROR
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(answers) == len(bad) + 2
    assert all(list(answer) == ["error"] for answer in answers[1:-1]), answers
    assert set(load_file(out)) == {"logits.0", f"logits.{len(bad) + 1}"}


def test_rows_know_nothing_of_each_other(tiny, tmp_path):
    """Padded batches make rows share positions or leak NaN (unslothai/unsloth#3699, pytorch/pytorch#103749,
    huggingface/transformers#32390): here rows are never padded, and what would pad them is refused by name."""
    def logits(*rows, name):
        out = tmp_path / name
        assert octlm("logits", "--model", tiny, "--out", out,
                     stdin="".join(json.dumps({"ids": row}) + "\n" for row in rows)).returncode == PASS
        return load_file(out)

    rows = [[5, 6], [1, 2, 3, 4, 5, 6, 7, 8], [9]]
    together = logits(*rows, name="together")
    for i, row in enumerate(rows):
        assert np.isfinite(together[f"logits.{i}"]).all()
        np.testing.assert_array_equal(together[f"logits.{i}"], logits(row, name=f"alone {i}")["logits.0"])
    for key in ("attention_mask", "position_ids"):
        result = octlm("logits", "--model", tiny, "--out", tmp_path / "refused",
                       stdin=json.dumps({"ids": [0, 1], key: [0, 1]}) + "\n")
        assert result.returncode == ERROR and key in json.loads(result.stdout)["error"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8"])
def test_a_type_that_is_not_there_is_refused_by_name(dtype, tiny, tmp_path):
    """Converting would turn 1e5 into inf and 1e-8 into 0 without a word (stas00/ml-engineering#41,
    facebookresearch/metaseq#254): nothing is converted."""
    result = octlm("logits", "--model", tiny, "--out", tmp_path / "out", "--dtype", dtype, stdin='{"ids": [1]}\n')
    assert result.returncode == REFUSED and dtype in result.stderr and result.stdout == ""
    assert not (tmp_path / "out").exists()


def test_logits_that_cannot_be_written(tiny, tmp_path):
    message = one_line(octlm("logits", "--model", tiny, "--out", tmp_path / "no" / "such" / "file", stdin=""), ERROR)
    assert "no/such/file" in message


# List, check, doctor, the executable.


def test_list_and_check():
    listed = octlm("list")
    assert listed.returncode == PASS
    for experiment in ("EXP-073", "EXP-074", "EXP-101", "EXP-102", "EXP-103", "EXP-104", "EXP-105"):
        assert experiment in listed.stdout
    assert "logit_parity" in octlm("list", "--kinds").stdout
    assert "max_abs_error@1" in octlm("list", "--metrics").stdout
    registered = pathlib.Path(__file__).parents[1] / "registered"
    checked = octlm("check", registered / "EXP-102.json")
    assert checked.returncode == PASS
    assert "40 comparisons on cpu" in checked.stdout


def test_doctor_looks_at_everything():
    report = octlm("doctor").stdout
    for word in ("compiler", "cpu", "threads", "kernels", "python", "torch", "transformers", "gpu", "libraries",
                 "cache", "smollm2-135m-instruct", "Qwen3-0.6B"):
        assert word in report, report


# pytorch/pytorch#182263: torch reaches its BLAS through interposable symbols, so none may be ours.
def test_the_executable_needs_no_numeric_library():
    dynamic = subprocess.run(["readelf", "-d", PROGRAM], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert any(name.startswith("libpython") for name in needed), needed
    foreign = [name for name in needed if re.search(r"blas|lapack|mkl|omp|dnn|cuda|cublas|torch|tbb", name)]
    assert foreign == []
