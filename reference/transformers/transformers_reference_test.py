"""What the reference computes, against Transformers' own model(...).logits."""
import json
import os
import pathlib
import shutil
import sys

import numpy
import pytest
import torch
import transformers

sys.path[:0] = [os.fspath(pathlib.Path(__file__).parent), os.fspath(pathlib.Path(__file__).parents[1] / "testing")]
import environment  # noqa: E402
import tiny_checkpoint  # noqa: E402
import transformers_reference as reference  # noqa: E402

# Logits here reach some tens, where a float32 ulp is 2e-6 to 4e-6; another order of the sums over three small
# layers moves them by a few of these. A wrong position or mask moves them by more than 1.
ROUNDING = 2e-4


@pytest.fixture(scope="module", params=["llama", "qwen3"])
def folder(request, tmp_path_factory):
    return str(tiny_checkpoint.write(tmp_path_factory.mktemp(request.param), request.param))


@pytest.fixture(scope="module")
def engine(folder):
    return reference.Engine(folder)


def ids_of(n, first=7):
    return (numpy.arange(n, dtype=numpy.int64) * 131 + first) % 307


def run(engine, ids, calls=None, wanted=None, use_cache=None):
    """All blocks of a pass, stacked; and the pass."""
    calls = calls or [(0, len(ids))]
    wanted = list(range(len(ids))) if wanted is None else wanted
    one = engine.session(goes_on=bool(use_cache))  # a pass of several calls has a cache all the same
    one.begin(ids, calls, wanted)
    blocks = []
    while (block := one.advance()) is not None:
        assert block.dtype == numpy.float32 and block.flags["C_CONTIGUOUS"]
        blocks.append(block.copy())
    return numpy.concatenate(blocks), one


def plain_logits(folder, ids, **arguments):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    with torch.no_grad():
        return model.eval()(torch.from_numpy(ids)[None], **arguments).logits[0].numpy()


def largest_difference(a, b):
    assert a.shape == b.shape
    assert numpy.isfinite(a).all() and numpy.isfinite(b).all()
    return numpy.abs(a - b).max()


def test_the_head_in_blocks_is_the_models_own_logits(engine, folder):
    ids = ids_of(40)
    plain = plain_logits(folder, ids)
    assert numpy.abs(plain).max() > 3
    assert largest_difference(run(engine, ids)[0], plain) <= ROUNDING
    small = reference.Engine(folder)
    small.rows_per_block = 7
    logits, _ = run(small, ids)
    assert largest_difference(logits, plain) <= ROUNDING


@pytest.mark.parametrize("calls", [[(0, 10), (10, 11)], [(i, 1) for i in range(21)], [(0, 8), (8, 8), (16, 5)]])
def test_every_split_computes_the_same_function(engine, folder, calls):
    ids = ids_of(21)
    logits, one = run(engine, ids, calls)
    assert one.calls_made == len(calls)
    assert largest_difference(logits, plain_logits(folder, ids)) <= ROUNDING


def test_each_call_computes_its_own_positions_only(engine, monkeypatch):
    """A cached path that recomputed everything would give the same logits: count what goes through the layers."""
    seen = []
    layer = engine.model.model.layers[0]
    hook = layer.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0].shape[1]))
    run(engine, ids_of(11), [(0, 5), (5, 1), (6, 5)])
    hook.remove()
    assert seen == [5, 1, 5]


def test_without_a_cache_none_is_made(engine, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a cache was made")
    monkeypatch.setattr(transformers.DynamicCache, "__init__", refuse)
    run(engine, ids_of(9))


def test_wanted_positions_only(engine):
    ids = ids_of(30)
    every, _ = run(engine, ids)
    wanted = [0, 4, 5, 6, 29]
    for calls in ([(0, 30)], [(0, 5), (5, 20), (25, 5)]):
        some, _ = run(engine, ids, calls, wanted)
        assert largest_difference(some, every[wanted]) <= ROUNDING


def test_calls_after_the_last_wanted_position_are_not_made(engine):
    _, one = run(engine, ids_of(9), [(0, 3), (3, 3), (6, 3)], wanted=[1])
    assert one.calls_made == 1


def test_a_session_that_goes_on_makes_them_all(engine):
    _, one = run(engine, ids_of(9), [(0, 3), (3, 3), (6, 3)], wanted=[1], use_cache=True)
    assert one.calls_made == 3 and one.cache.get_seq_length() == 9


def test_the_array_is_the_tensors_memory(engine):
    one = engine.session(goes_on=False)
    one.begin(ids_of(5), [(0, 5)], [0, 1, 2, 3, 4])
    block = one.advance()
    assert block.__array_interface__["data"][0] == one.block.data_ptr()


def test_a_row_alone_is_what_left_padding_with_right_positions_gives(engine, folder):
    """Why sequences run alone: padding gives the same logits only when mask and positions are both right.

    With the positions of the padded batch (no position_ids given), or without the mask, a row's logits
    differ from its solo run: that is what cannot happen here, where there is no padding.
    """
    short, long = ids_of(2, first=11), ids_of(8)
    batch = torch.stack([torch.cat([torch.zeros(6, dtype=torch.int64), torch.from_numpy(short)]), torch.from_numpy(long)])
    mask = torch.tensor([[0] * 6 + [1] * 2, [1] * 8])
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    with torch.no_grad():
        padded = engine.model(batch, attention_mask=mask, position_ids=positions).logits
        unmasked = engine.model(batch, position_ids=positions).logits
    assert largest_difference(padded[0, 6:].numpy(), run(engine, short)[0]) <= ROUNDING
    assert largest_difference(padded[1].numpy(), run(engine, long)[0]) <= ROUNDING
    assert largest_difference(unmasked[0, 6:].numpy(), run(engine, short)[0]) > 0.1


def test_settings_are_read_from_the_live_objects(engine, folder):
    settings = engine.settings()
    assert json.loads(json.dumps(settings)) == settings
    config = json.loads(pathlib.Path(folder, "config.json").read_text())
    assert settings["model_class"] == config["architectures"][0]
    assert settings["rms_norm_eps"] == config["rms_norm_eps"]
    assert settings["rope_theta"] == 10000.0
    assert settings["attention"] == "eager" and settings["dtype"] == "float32" and settings["training"] is False
    assert settings["tf32_probe"]["found"] == {"64": 1.00048828125, "512": 1.00048828125}
    assert settings["device"] == "cpu"
    engine.model.model.layers[0].mlp.train()
    try:
        assert engine.settings()["training"] is True
    finally:
        engine.model.eval()
    engine.model.config._attn_implementation = "sdpa"
    try:
        assert engine.settings()["attention"] == "sdpa"
    finally:
        engine.model.config._attn_implementation = "eager"


def test_settings_that_do_not_read_back_are_refused(folder, monkeypatch):
    right = reference.Engine.settings
    for name, value in {"attention": "sdpa", "dtype": ["bfloat16", "float32"], "training": True,
                        "cuda.matmul.allow_tf32": True}.items():
        monkeypatch.setattr(reference.Engine, "settings", lambda self, n=name, v=value: {**right(self), n: v})
        with pytest.raises(reference.Refusal, match=f"{name} was set to .* reads back as"):
            reference.Engine(folder)


def test_a_product_that_rounds_to_tf32_is_refused(folder, monkeypatch):
    """microsoft/onnxruntime#19541. TF32 drops the last 13 bits of the significand."""
    product = torch.Tensor.__matmul__
    monkeypatch.setattr(torch.Tensor, "__matmul__",
                        lambda a, b: product(a, b).view(torch.int32).bitwise_and(~0x1FFF).view(torch.float32))
    assert not reference.tf32_probe("cpu")["exact"]
    with pytest.raises(reference.Refusal, match="not float32"):
        reference.Engine(folder)


def test_tf32_is_off_whatever_was_on(engine):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True
    run(engine, ids_of(3))
    settings = engine.settings()
    assert settings["cuda.matmul.allow_tf32"] is settings["cudnn.allow_tf32"] is False
    assert settings["float32_matmul_precision"] == "highest"
    assert settings["allow_bf16_reduced_precision_reduction"] is False


@pytest.mark.parametrize("version, known", [("4.57.0", True), ("4.57.6", True), ("5.17.0", True), ("4.100.1.dev0", True),
                                            ("4.56.2", False), ("6.0.0", False), ("6.0.0rc1", False), ("odd", False)])
def test_transformers_versions(version, known):
    if known:
        return reference.check_version(version)
    with pytest.raises(reference.Refusal, match="4.57 or later, before 6"):
        reference.check_version(version)


def changed(folder, into, change):
    """A copy of the checkpoint with its tensors changed."""
    import safetensors.torch
    shutil.copytree(folder, into)
    file = into / "model.safetensors"
    tensors = safetensors.torch.load_file(file)
    change(tensors)
    safetensors.torch.save_file(tensors, file, metadata={"format": "pt"})
    return str(into)


def test_every_tensor_is_accounted_for(folder, tmp_path):
    norm = "model.layers.1.input_layernorm.weight"
    with pytest.raises(reference.Refusal, match=f"missing_keys: {norm}"):
        reference.Engine(changed(folder, tmp_path / "missing", lambda t: t.pop(norm)))
    with pytest.raises(reference.Refusal, match="unexpected_keys: model.extra"):
        reference.Engine(changed(folder, tmp_path / "extra", lambda t: t.update({"model.extra": torch.ones(2)})))
    with pytest.raises(Exception, match="(?s)mismatch|mismatched_keys"):
        reference.Engine(changed(folder, tmp_path / "shape", lambda t: t.update({norm: torch.ones(2)})))


# deepspeedai/DeepSpeed#8345, sgl-project/sglang#22739: rope_theta moved into rope_parameters.
def test_a_base_that_transformers_does_not_read_is_refused(folder, tmp_path):
    copy = pathlib.Path(shutil.copytree(folder, tmp_path / "copy"))
    config = json.loads((copy / "config.json").read_text())
    config["rope_theta"] = 500000.0
    (copy / "config.json").write_text(json.dumps(config))
    assert reference.Engine(str(copy)).settings()["rope_theta"] == 500000.0
    config["rope_parameters"] = {"rope_theta": config.pop("rope_theta"), "rope_type": "default"}
    (copy / "config.json").write_text(json.dumps(config))
    if int(transformers.__version__.split(".")[0]) < 5:
        with pytest.raises(reference.Refusal, match="states rope_theta 500000.0 and rope_type default"):
            reference.Engine(str(copy))


def edited(folder, target, **fields):
    copy = pathlib.Path(shutil.copytree(folder, target))
    config = json.loads((copy / "config.json").read_text()) | fields
    (copy / "config.json").write_text(json.dumps({name: value for name, value in config.items() if value != "absent"}))
    return str(copy)


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 128}


# THUDM/slime#1720, sgl-project/SpecForge#265: a scaling where Transformers before 5 does not look for it. Its logits
# are another model's, so nothing may be laid at the subject's door.
@pytest.mark.parametrize("fields", [
    {"rope_theta": 10000.0, "rope_parameters": LLAMA3},
    {"rope_theta": 10000.0, "rope_parameters": {**LLAMA3, "rope_theta": 10000.0}},
    {"rope_theta": "absent", "rope_parameters": {"rope_type": "default", "rope_theta": 20000.0}},
    {"rope_theta": 10000.0, "rope_scaling": {"rope_type": "default"}, "rope_parameters": {**LLAMA3, "rope_type": "banana"},
     "head_dim": 16} | {"rope_scaling": None},
])
def test_a_scaling_that_transformers_does_not_read_is_refused(folder, tmp_path, fields):
    if int(transformers.__version__.split(".")[0]) >= 5:
        pytest.skip("not run: Transformers 5 reads rope_parameters")
    with pytest.raises(reference.Refusal, match="so it is no reference for this checkpoint"):
        reference.Engine(edited(folder, tmp_path / "copy", **fields))


# pytorch's vectorised pow rounds otherwise than the correctly rounded power, by machine: the record says by how much.
@pytest.mark.parametrize("fields", [{}, {"rope_theta": 150000.0}, {"rope_theta": 1e6, "rope_scaling": LLAMA3},
                                    {"rope_theta": 500000.0, "rope_scaling": {"type": "default"}}])
def test_frequencies_are_compared_with_what_the_config_means(folder, tmp_path, fields):
    engine = reference.Engine(edited(folder, tmp_path / "copy", **fields))
    settings = engine.settings()
    assert settings["rope_type"] == (fields.get("rope_scaling") or {}).get("rope_type", "default")
    found = settings["rope_frequencies"]
    assert found["of"] == 8 and 0 <= found["largest_ulps"] <= 4 and (found["differing"] > 0) == (found["largest_ulps"] > 0)
    with torch.no_grad():  # three ulps on one pair, and no more is reported than that
        frequencies = engine.model.model.rotary_emb.inv_freq
        theta, scaling = reference.stated_rope(str(tmp_path / "copy"))
        frequencies.copy_(torch.from_numpy(reference.meant_frequencies(theta, scaling, 16)))
        for _ in range(3):
            frequencies[5] = torch.nextafter(frequencies[5], torch.tensor(1.0))
    assert reference.frequency_difference(engine.model, str(tmp_path / "copy")) == {"largest_ulps": 3, "differing": 1, "of": 8}


# ggml-org/llama.cpp#8676: the values of Llama 3.2's settings, from known calculations.
def test_what_the_config_means_by_llama3():
    scaling = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 8192}
    meant = reference.meant_frequencies(500000.0, scaling, 64)
    plain = reference.meant_frequencies(500000.0, {}, 64)
    assert (meant[:15] == plain[:15]).all() and (meant[18:] == plain[18:] / numpy.float32(32)).all()
    assert meant[15:18] == pytest.approx([0.00129055, 0.000429557, 9.70829e-5], rel=1e-5)


# jzhang38/TinyLlama#127: keys that change what a call returns, not what is computed.
@pytest.mark.parametrize("fields", [{"return_dict": False}, {"output_hidden_states": True},
                                    {"output_attentions": True}, {"return_dict": False, "output_attentions": True}])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_what_a_call_returns_changes_nothing(folder, tmp_path, fields, attention):
    expected, _ = run(reference.Engine(folder, attention=attention), ids_of(9), [(0, 4), (4, 5)])
    engine = reference.Engine(edited(folder, tmp_path / "copy", **fields), attention=attention)
    assert numpy.array_equal(run(engine, ids_of(9), [(0, 4), (4, 5)])[0], expected)


# jzhang38/TinyLlama#127, huggingface/transformers#35255
def test_stored_buffers_are_ignored_and_named(folder, tmp_path):
    expected, _ = run(reference.Engine(folder), ids_of(9))
    names = ["model.layers.0.self_attn.masked_bias", "model.layers.1.self_attn.rotary_emb.inv_freq"]
    copy = changed(folder, tmp_path / "copy", lambda t: t.update({names[0]: torch.tensor(-1e4), names[1]: torch.ones(8)}))
    engine = reference.Engine(copy)
    assert engine.settings()["ignored_tensors"] == names
    assert numpy.array_equal(run(engine, ids_of(9))[0], expected)


def test_other_folders_are_refused(tmp_path):
    with pytest.raises(reference.Refusal, match="no config.json"):
        reference.Engine(str(tmp_path))
    other = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=1, n_embd=8, n_head=2, vocab_size=11))
    other.save_pretrained(tmp_path / "gpt2")
    with pytest.raises(reference.Refusal, match="GPT2LMHeadModel; the reference knows LlamaForCausalLM"):
        reference.Engine(str(tmp_path / "gpt2"))


def test_pickled_weights_and_code_are_not_run(folder, tmp_path):
    pickled = tmp_path / "pickled"
    shutil.copytree(folder, pickled)
    torch.save(transformers.AutoModelForCausalLM.from_pretrained(folder).state_dict(), pickled / "pytorch_model.bin")
    (pickled / "model.safetensors").unlink()
    with pytest.raises(OSError, match="safetensors"):
        reference.Engine(str(pickled))
    coded = tmp_path / "coded"
    shutil.copytree(folder, coded)
    (coded / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    config = json.loads((coded / "config.json").read_text())
    config.update(model_type="own", auto_map={"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"})
    (coded / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="trust_remote_code"):
        reference.Engine(str(coded))
    assert not (tmp_path / "ran").exists()


def test_peak_bytes_count_shared_weights_once(engine):
    model = engine.model
    tied = model.config.tie_word_embeddings
    distinct = sum(p.numel() for p in model.parameters())  # parameters() already lists a shared one once
    assert (model.lm_head.weight is model.model.embed_tokens.weight) == tied
    assert 4 * distinct <= engine.weight_bytes <= 4 * distinct + 4096
    before = engine.peak_bytes()
    run(engine, ids_of(2000), [(0, 1000), (1000, 1000)])
    cache = 4 * 2 * 3 * 2 * 16 * 2000  # float32, keys and values, layers, kv heads, head_dim, positions
    assert engine.peak_bytes() >= engine.weight_bytes + cache > before - engine.working_bytes


def test_the_environment_is_described_and_a_broken_torch_is_a_value(monkeypatch):
    described = environment.environment()
    assert described["packages"]["torch"] == torch.__version__.split("+")[0]
    assert described["torch"]["version"] == torch.__version__
    assert json.dumps(described)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(environment, "PACKAGES", ("torch", "no-such-package"))
    described = environment.environment()
    assert described["torch"]["error"].startswith("ModuleNotFoundError")
    assert described["packages"]["no-such-package"] is None
