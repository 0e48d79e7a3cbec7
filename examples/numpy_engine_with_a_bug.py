"""numpy_engine.py with one bug: RoPE pairs neighbours, as other checkpoints want it, and not the two halves."""
import argparse
import json
import pathlib
import sys

import numpy as np
from safetensors.numpy import save_file


def load(folder):  # a bf16 is the upper half of a float32
    raw = (folder / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    for name, entry in json.loads(raw[8:start]).items():
        if entry.get("dtype") == "BF16":
            words = np.frombuffer(raw[start:][slice(*entry["data_offsets"])], "<u2").astype("<u4")
            yield name, (words << 16).view("<f4").reshape(entry["shape"])


def norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(eps)) * weight


def rotate(x, cos, sin):  # x [head, seq, head_dim]: the two halves of a head are the two parts of each pair
    turned = np.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)
    return x * cos + turned * sin


def attention(x, w, at, c, cos, sin):
    def heads(name, count):
        return (x @ w[at + name + "_proj.weight"].T).reshape(len(x), count, c["head_dim"]).swapaxes(0, 1)

    groups = c["num_attention_heads"] // c["num_key_value_heads"]
    q = rotate(norm(heads("q", c["num_attention_heads"]), w[at + "q_norm.weight"], c["rms_norm_eps"]), cos, sin)
    k = rotate(norm(heads("k", c["num_key_value_heads"]), w[at + "k_norm.weight"], c["rms_norm_eps"]), cos, sin)
    k, v = np.repeat(k, groups, 0), np.repeat(heads("v", c["num_key_value_heads"]), groups, 0)
    mask = np.triu(np.full((len(x), len(x)), -np.inf, np.float32), 1)
    scores = q @ k.swapaxes(1, 2) / np.float32(c["head_dim"] ** 0.5) + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = (weights / weights.sum(-1, keepdims=True)) @ v
    return mixed.swapaxes(0, 1).reshape(len(x), -1) @ w[at + "o_proj.weight"].T


def logits(ids, w, c):
    frequencies = 1 / np.float32(c["rope_theta"]) ** (np.arange(0, c["head_dim"], 2, dtype=np.float32) / c["head_dim"])
    angles = np.tile(np.outer(np.arange(len(ids), dtype=np.float32), frequencies), 2)
    cos, sin, x = np.cos(angles), np.sin(angles), w["model.embed_tokens.weight"][ids]
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        x = x + attention(norm(x, w[at + "input_layernorm.weight"], c["rms_norm_eps"]), w, at + "self_attn.", c, cos, sin)
        y = norm(x, w[at + "post_attention_layernorm.weight"], c["rms_norm_eps"])
        gate = y @ w[at + "mlp.gate_proj.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * (y @ w[at + "mlp.up_proj.weight"].T)) @ w[at + "mlp.down_proj.weight"].T
    return norm(x, w["model.norm.weight"], c["rms_norm_eps"]) @ w["model.embed_tokens.weight"].T


parser = argparse.ArgumentParser()
for option in ("model", "dtype", "device"):
    parser.add_argument("--" + option)
parser.add_argument("--session", action="store_true")
parser.add_argument("--capabilities", action="store_true")
arguments = parser.parse_known_args()[0]  # --path and --out, of a start that asks for the capabilities, are not read
print(json.dumps({"name": "numpy", "version": np.__version__, "dtypes": ["float32"], "devices": ["cpu"],
                  "paths": ["full"], "session": True}), flush=True)
folder = pathlib.Path(arguments.model)
config, weights = json.loads((folder / "config.json").read_text()), dict(load(folder))
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:  # without a cache every request is a new sequence: "keep" is 0
    request = json.loads(line)
    rows = np.ascontiguousarray(logits(request["ids"], weights, config)[request.get("positions", slice(None))])
    save_file({"logits.0": rows}, request["out"])
    print(json.dumps({"name": "logits.0", "shape": rows.shape, "calls": [[0, len(request["ids"])]]}), flush=True)
