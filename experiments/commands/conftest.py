"""What the tests of the program share: a tiny checkpoint, a project root of their own, and the program itself.

Every test has a root with the project's registered experiments, an empty ledger and no reports: nothing is
written into the checkout, and its journal does not count what tests do.
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

PROGRAM = os.environ["OCTLM_PROGRAM"]
HIDDEN, HEADS, KV_HEADS, HEAD_DIM, INTERMEDIATE, VOCAB, LAYERS = 32, 4, 2, 16, 48, 64, 2
PASS, FAIL, REFUSED, UNREGISTERED, ERROR = 0, 1, 2, 3, 4


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


@pytest.fixture(autouse=True)
def project(tmp_path_factory, monkeypatch):
    """The root that the program works for, in place of the checkout."""
    root = tmp_path_factory.mktemp("project")
    shutil.copytree(pathlib.Path(__file__).parents[1] / "registered", root / "experiments" / "registered")
    shutil.copytree(pathlib.Path(__file__).parents[1] / "prompts", root / "experiments" / "prompts")
    monkeypatch.setenv("OCTLM_ROOT", str(root))
    monkeypatch.setenv("OCTLM_VENV_PYTHON", os.environ.get("OCTLM_VENV_PYTHON", sys.executable))
    return root


@pytest.fixture
def write_spec(tmp_path):
    """Writes spec(**changes) where nobody registered it."""
    def write(**changes):
        file = tmp_path / "spec.json"
        file.write_text(json.dumps(spec(**changes)))
        return file

    return write


def pinned(folder, names=("config.json", "model.safetensors")):
    """`model` of a spec about the checkpoint in the folder, with the files that decide its logits."""
    return {"id": "tiny", "files": {name: "sha256:" + hashlib.sha256((folder / name).read_bytes()).hexdigest()
                                    for name in names}}


@pytest.fixture
def put_claim(project, tiny):
    """Writes spec(**changes), with its files pinned, where claims stand, without registering it."""
    def put(**changes):
        document = spec(**({"model": pinned(tiny)} | changes))
        file = project / "experiments" / "registered" / f"{document['id']}.json"
        file.write_text(json.dumps(document))
        return file

    return put


@pytest.fixture
def claim(put_claim):
    """The same, registered."""
    def register(**changes):
        file = put_claim(**changes)
        result = octlm("register", file, "--prior-results", "none")
        assert result.returncode == PASS, result.stderr
        return file

    return register


def lines(folder, kind):
    parsed = map(json.loads, (folder / "results.jsonl").read_text().splitlines())
    return [line for line in parsed if line["type"] == kind]


def one_line(result, code):
    """The program ended with `code` and said why in one line."""
    assert result.returncode == code, result.stdout + result.stderr
    message = result.stderr.strip()
    assert message and "\n" not in message, message
    return message
