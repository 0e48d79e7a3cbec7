"""The program as a user meets it: exit codes, filters, refusals, and what is written where.

Each test runs the program itself. A tiny checkpoint is made with numpy and safetensors, and the numbers
of `octlm logits` are held against Transformers in this, another, process.
"""
import json
import os
import pathlib
import re
import subprocess

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

PROGRAM = os.environ["OCTLM_PROGRAM"]
HIDDEN, HEADS, KV_HEADS, HEAD_DIM, INTERMEDIATE, VOCAB, LAYERS = 32, 4, 2, 16, 48, 64, 2
PASS, FAIL, REFUSED, ERROR = 0, 1, 2, 4


def octlm(*arguments, stdin="", **keywords):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, text=True,
                          timeout=120, **keywords)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """A Qwen3 checkpoint of two layers, float32, with norms away from one."""
    folder = tmp_path_factory.mktemp("tiny")
    rng = np.random.Generator(np.random.PCG64(5))

    def matrix(*shape):
        return (rng.standard_normal(shape) * 0.2).astype(np.float32)

    def norm(width):
        return np.exp(0.3 * rng.standard_normal(width)).astype(np.float32)

    tensors = {"model.embed_tokens.weight": matrix(VOCAB, HIDDEN) * 5, "model.norm.weight": norm(HIDDEN)}
    for i in range(LAYERS):
        at = f"model.layers.{i}."
        tensors |= {
            at + "input_layernorm.weight": norm(HIDDEN),
            at + "self_attn.q_proj.weight": matrix(HEADS * HEAD_DIM, HIDDEN),
            at + "self_attn.k_proj.weight": matrix(KV_HEADS * HEAD_DIM, HIDDEN),
            at + "self_attn.v_proj.weight": matrix(KV_HEADS * HEAD_DIM, HIDDEN),
            at + "self_attn.q_norm.weight": norm(HEAD_DIM),
            at + "self_attn.k_norm.weight": norm(HEAD_DIM),
            at + "self_attn.o_proj.weight": matrix(HIDDEN, HEADS * HEAD_DIM),
            at + "post_attention_layernorm.weight": norm(HIDDEN),
            at + "mlp.gate_proj.weight": matrix(INTERMEDIATE, HIDDEN),
            at + "mlp.up_proj.weight": matrix(INTERMEDIATE, HIDDEN),
            at + "mlp.down_proj.weight": matrix(HIDDEN, INTERMEDIATE),
        }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": HIDDEN,
        "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM,
        "intermediate_size": INTERMEDIATE, "vocab_size": VOCAB, "num_hidden_layers": LAYERS,
        "max_position_embeddings": 128, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "rope_scaling": None,
        "hidden_act": "silu", "tie_word_embeddings": True, "attention_bias": False,
        "use_sliding_window": False, "sliding_window": None, "torch_dtype": "float32"}))
    return folder


def spec(**changes):
    """A small logit_parity experiment on the checkpoint that --model calls `tiny`."""
    document = {
        "schema": 1, "id": "EXP-950", "title": "tiny", "kind": "logit_parity", "tags": [], "question": "q",
        "prediction": "p", "model": {"id": "tiny"},
        "reference": {"engine": "transformers", "attention": "eager", "dtype": "float32", "tf32": False},
        "subject": {"engine": "octlm", "dtype": "float32", "devices": ["cpu"], "paths": ["full", "cached:every"]},
        "cases": [{"name": "five", "token_ids": [1, 5, 9, 2, 60]}], "parameters": {},
        "criteria": [{"metric": "max_abs_error@1", "at_most": 1e-3, "derivation": "float32 rounding"},
                     {"metric": "finite@1", "equals": True}],
        "also_record": [], "must_catch": [], "stop_rule": "s"}
    return document | changes


@pytest.fixture
def write_spec(tmp_path):
    def write(**changes):
        file = tmp_path / "spec.json"
        file.write_text(json.dumps(spec(**changes)))
        return file

    return write


def lines(folder, kind):
    parsed = map(json.loads, (folder / "results.jsonl").read_text().splitlines())
    return [line for line in parsed if line["type"] == kind]


def one_line(result, code):
    """The program ended with `code` and said why in one line."""
    assert result.returncode == code, result.stdout + result.stderr
    message = result.stderr.strip()
    assert message and "\n" not in message, message
    return message


# --- run ---------------------------------------------------------------------------------------------


def test_a_run_that_holds_ends_with_0_and_writes_its_record(tiny, write_spec, tmp_path):
    out = tmp_path / "out"
    result = octlm("run", write_spec(), "--model", f"tiny={tiny}", "--out", out)
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
def test_a_bound_that_does_not_hold_ends_with_1(tiny, write_spec, tmp_path):
    criteria = [{"metric": "max_abs_error@1", "at_most": 1e-12, "derivation": "below rounding, to fail"}]
    result = octlm("run", write_spec(criteria=criteria), "--model", f"tiny={tiny}", "--out", tmp_path / "out")
    assert result.returncode == FAIL
    assert lines(tmp_path / "out", "experiment")[0]["verdict"] == "fail"


def test_absent_weights_are_not_run_and_nothing_compared_is_an_error(write_spec, tmp_path):
    result = octlm("run", write_spec(), "--out", tmp_path / "out")
    assert result.returncode == ERROR
    experiment = lines(tmp_path / "out", "experiment")[0]
    assert experiment["verdict"] == "not_run"
    assert "./octlm fetch tiny" in result.stdout


def test_a_required_device_that_is_absent_is_an_error(tiny, write_spec, tmp_path):
    subject = spec()["subject"] | {"devices": ["cpu", "cuda"]}
    file = write_spec(subject=subject)
    arguments = ["run", file, "--model", f"tiny={tiny}"]
    result = octlm(*arguments, "--out", tmp_path / "a")
    assert result.returncode == PASS
    assert "not run (cuda)" in result.stdout
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


def test_a_spec_with_a_duplicate_key_is_refused(tmp_path):
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(spec()).replace('"schema": 1', '"schema": 1, "schema": 1'))
    assert "schema" in one_line(octlm("check", file), REFUSED)


def test_a_folder_that_cannot_be_written_is_one_clear_error(tiny, write_spec, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    result = octlm("run", write_spec(), "--model", f"tiny={tiny}", "--out", tmp_path / "file" / "out")
    assert result.returncode in (REFUSED, ERROR)
    assert str(tmp_path / "file") in result.stderr


# --- bad checkpoints ---------------------------------------------------------------------------------


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
def test_a_damaged_checkpoint_is_one_error_and_the_run_goes_on(damage, says, tiny, write_spec, tmp_path):
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
    result = octlm("run", write_spec(), "--model", f"tiny={bad}", "--out", tmp_path / "out")
    assert result.returncode == ERROR
    assert lines(tmp_path / "out", "experiment")[0]["verdict"] == "error"


# --- logits ------------------------------------------------------------------------------------------


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


def test_logits_that_cannot_be_written(tiny, tmp_path):
    message = one_line(octlm("logits", "--model", tiny, "--out", tmp_path / "no" / "such" / "file", stdin=""), ERROR)
    assert "no/such/file" in message


# --- list, check, doctor, the executable ----------------------------------------------------------------


def test_list_and_check():
    listed = octlm("list")
    assert listed.returncode == PASS
    for experiment in ("EXP-073", "EXP-074", "EXP-101", "EXP-102", "EXP-103", "EXP-104", "EXP-105"):
        assert experiment in listed.stdout
    assert "logit_parity" in octlm("list", "--kinds").stdout
    assert "max_abs_error@1" in octlm("list", "--metrics").stdout
    registered = pathlib.Path(__file__).parent / "registered"
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
