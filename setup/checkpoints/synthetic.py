"""Qwen3 checkpoints without training that behave like a trained one, drawn from a seed.

Plain random initialisation is a poor stand-in for a trained model: its logits span about 6, its float32
rounding is far below any tolerance, and its unit norms hide a missing or swapped norm. So linear layers
and embeddings are drawn as Transformers initialises them, normal with deviation 0.02, and every norm
weight is exp(mu + sigma n), n standard normal, with (mu, sigma) by kind:

    self_attn.q_norm (0.4, 0.3)   self_attn.k_norm (0.2, 0.35)   model.norm (1.75, 0.25)   others (0, 0.3)

With Qwen3-0.6B's config the logits then span 32 to 41 at every position (33 to 36 on a short English
sentence), as a trained model's do.

The same bytes on every machine: numpy's PCG64 and its float64 normal (whose rare branches call libm; in
float64 a last-place difference there cannot reach a bf16), in the order of the file, rounded float64 ->
float32 -> bf16, to nearest even. The resulting sha256 is recorded here and verified.

The file is laid out as Qwen/Qwen3-0.6B's: names sorted, and `lm_head.weight` stored beside
`model.embed_tokens.weight` with the same bytes although the config says tied.
"""
import math

import numpy as np

from .progress import MB, Progress, say
from .store import require_space, write_json
from .tensor_file import TensorFile

RECIPE = "qwen3-synthetic/1"
PIECE = 1 << 16  # values drawn at a time: three float64 arrays of this length stay in the cache

NORMS = {"self_attn.q_norm.weight": (0.4, 0.3), "self_attn.k_norm.weight": (0.2, 0.35), "model.norm.weight": (1.75, 0.25)}
OTHER_NORMS = (0.0, 0.3)

def entries_of(config):
    """(name, dtype, shape) of every stored tensor, in file order."""
    hidden, intermediate, head_dim = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    q_width, kv_width = config["num_attention_heads"] * head_dim, config["num_key_value_heads"] * head_dim
    layer = {
        "input_layernorm": [hidden],
        "mlp.down_proj": [hidden, intermediate],
        "mlp.gate_proj": [intermediate, hidden],
        "mlp.up_proj": [intermediate, hidden],
        "post_attention_layernorm": [hidden],
        "self_attn.k_norm": [head_dim],
        "self_attn.k_proj": [kv_width, hidden],
        "self_attn.o_proj": [hidden, q_width],
        "self_attn.q_norm": [head_dim],
        "self_attn.q_proj": [q_width, hidden],
        "self_attn.v_proj": [kv_width, hidden],
    }
    shapes = {"lm_head": [config["vocab_size"], hidden], "model.embed_tokens": [config["vocab_size"], hidden], "model.norm": [hidden]}
    for index in range(config["num_hidden_layers"]):
        shapes |= {f"model.layers.{index}.{name}": shape for name, shape in layer.items()}
    return [(f"{name}.weight", "BF16", shapes[name]) for name in sorted(shapes)]


def to_bfloat16(values):
    """float64 -> float32 -> bf16 bit patterns (uint16), rounded to nearest even at each step."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))) >> 16).astype(np.uint16)


def norm_parameters(name):
    return next((value for suffix, value in NORMS.items() if name.endswith(suffix)), OTHER_NORMS)


def draw(generator, name, shape, deviation):
    """Yields the tensor's bf16 values in pieces, in row-major order."""
    count = math.prod(shape)
    for begin in range(0, count, PIECE):
        values = generator.standard_normal(min(PIECE, count - begin))
        if len(shape) == 1:  # a norm; libm's exp by way of math, since numpy's depends on the CPU
            mu, sigma = norm_parameters(name)
            values = np.array([math.exp(mu + sigma * n) for n in values.tolist()])
        else:
            values *= deviation
        yield to_bfloat16(values)


def write_weights(path, config, seed):
    generator = np.random.Generator(np.random.PCG64(seed))
    entries = entries_of(config)
    with TensorFile(path, entries) as file, Progress("drawing weights", file.data_bytes) as progress:
        for name, _, shape in entries:
            if name == "lm_head.weight":
                continue  # the same bytes as the embedding's
            twins = (name, "lm_head.weight") if name == "model.embed_tokens.weight" else (name,)
            for piece in draw(generator, name, shape, config["initializer_range"]):
                for twin in twins:
                    file.append(twin, piece)
                    progress.add(piece.nbytes)


def write(folder, checkpoint):
    config, size = checkpoint.config, sum(2 * math.prod(shape) for _, _, shape in entries_of(checkpoint.config))
    say(f"drawing a synthetic Qwen3 from seed {checkpoint.seed} ({size // MB} MB, no network needed)")
    require_space(folder, size)
    write_json(folder / "config.json", config)
    write_json(folder / "generation_config.json", {
        "bos_token_id": config["bos_token_id"],
        "do_sample": True,
        "eos_token_id": [config["eos_token_id"], config["bos_token_id"]],
        "pad_token_id": config["bos_token_id"],
        "temperature": 0.6,
        "top_k": 20,
        "top_p": 0.95,
        "transformers_version": "4.51.0",
    })
    write_weights(folder / "model.safetensors", config, checkpoint.seed)


def source_of(checkpoint):
    return {"kind": "synthetic", "recipe": RECIPE, "seed": checkpoint.seed, "generator": f"numpy {np.__version__} PCG64"}
