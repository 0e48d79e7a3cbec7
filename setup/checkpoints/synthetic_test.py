import hashlib
import math

import numpy as np
import pytest

from checkpoints import store, synthetic
from checkpoints.catalogue import CHECKPOINTS, QWEN3_0_6B, QWEN3_MINI
from checkpoints.tensor_file import TensorFile

# Of the header of Qwen/Qwen3-0.6B's model.safetensors, names, types, shapes and offsets.
PUBLISHED_HEADER_SHA256 = "399d16f500e925c7e923fe05966c6df6862ab64da60916843119e802f1801bca"
PUBLISHED_FILE_BYTES = 1_503_300_328


def test_the_layout_is_that_of_the_published_file(tmp_path):
    entries = synthetic.entries_of(QWEN3_0_6B)
    with pytest.raises(AssertionError), TensorFile(tmp_path / "f", entries) as file:
        data_bytes = file.data_bytes
    written = (tmp_path / "f").read_bytes()  # the header alone
    assert len(entries) == 311
    assert len(written) + data_bytes == PUBLISHED_FILE_BYTES
    assert hashlib.sha256(written[8:]).hexdigest() == PUBLISHED_HEADER_SHA256


def test_the_same_seed_gives_the_recorded_bytes(tmp_path):
    checkpoint = CHECKPOINTS["qwen3-mini-synthetic"]
    synthetic.write_weights(tmp_path / "model.safetensors", checkpoint.config, checkpoint.seed)
    assert store.sha256_of(tmp_path / "model.safetensors") == checkpoint.expected["model.safetensors"]


def test_another_seed_gives_other_bytes(tmp_path):
    checkpoint = CHECKPOINTS["qwen3-mini-synthetic"]
    synthetic.write_weights(tmp_path / "model.safetensors", checkpoint.config, checkpoint.seed + 1)
    assert store.sha256_of(tmp_path / "model.safetensors") != checkpoint.expected["model.safetensors"]


def test_the_pieces_do_not_change_the_draw():
    shape = [3, synthetic.PIECE // 2 + 1]
    pieces = np.concatenate(list(synthetic.draw(np.random.Generator(np.random.PCG64(1)), "x", shape, 0.02)))
    whole = np.random.Generator(np.random.PCG64(1)).standard_normal(math.prod(shape)) * 0.02
    np.testing.assert_array_equal(pieces, synthetic.to_bfloat16(whole))


def test_rounding_to_bfloat16_is_torchs():
    import torch

    ties = np.float32(1) + np.arange(-8, 8, dtype=np.float32) / 256  # halfway cases, even and odd
    values = np.concatenate([ties.astype(np.float64), np.random.Generator(np.random.PCG64(2)).standard_normal(100_000)])
    expected = torch.from_numpy(values).to(torch.float32).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
    np.testing.assert_array_equal(synthetic.to_bfloat16(values), expected)


@pytest.mark.parametrize("name, parameters", [
    ("model.layers.3.self_attn.q_norm.weight", (0.4, 0.3)),
    ("model.layers.3.self_attn.k_norm.weight", (0.2, 0.35)),
    ("model.norm.weight", (1.75, 0.25)),
    ("model.layers.3.input_layernorm.weight", (0.0, 0.3)),
    ("model.layers.3.post_attention_layernorm.weight", (0.0, 0.3)),
])
def test_norm_weights_are_spread_as_recorded(name, parameters):
    generator = np.random.Generator(np.random.PCG64(3))
    bits = np.concatenate(list(synthetic.draw(generator, name, [20_000], 0.02))).astype(np.uint32) << 16
    logs = np.log(bits.view(np.float32))
    mu, sigma = parameters
    assert abs(logs.mean() - mu) < 5 * sigma / math.sqrt(20_000)
    assert abs(logs.std() - sigma) < 0.02 * sigma


def test_transformers_loads_the_small_one_and_its_logits_spread(tmp_path):
    import torch
    import transformers

    checkpoint = CHECKPOINTS["qwen3-mini-synthetic"]
    synthetic.write(tmp_path, checkpoint)
    model, loading = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    assert not any(loading.values())
    assert model.config.num_hidden_layers == QWEN3_MINI["num_hidden_layers"]
    with torch.no_grad():
        logits = model(torch.arange(100, 150)[None]).logits[0]
    span = logits.amax(-1) - logits.amin(-1)
    assert span.min() > 10  # plain initialisation, unit norms: about 2
