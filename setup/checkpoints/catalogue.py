"""The checkpoints that have a name of their own: what each is, and what its weights must hash to.

Data only, so that looking whether one is present costs no heavy import.
"""
import dataclasses
import importlib


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    maker: str  # the module of this package that makes it
    config: dict  # its config.json
    expected: dict  # {file: sha256}, verified after making
    seed: int | None = None  # of the synthetic ones

    def module(self):
        return importlib.import_module(f".{self.maker}", __package__)


QWEN3_0_6B = {
    "architectures": ["Qwen3ForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 151643,
    "eos_token_id": 151645,
    "head_dim": 128,
    "hidden_act": "silu",
    "hidden_size": 1024,
    "initializer_range": 0.02,
    "intermediate_size": 3072,
    "max_position_embeddings": 40960,
    "max_window_layers": 28,
    "model_type": "qwen3",
    "num_attention_heads": 16,
    "num_hidden_layers": 28,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 1000000,
    "sliding_window": None,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.51.0",
    "use_cache": True,
    "use_sliding_window": False,
    "vocab_size": 151936,
}

# The same function, small enough for tests: few layers, and a vocabulary that holds its own stop ids.
QWEN3_MINI = QWEN3_0_6B | {
    "bos_token_id": 0,
    "eos_token_id": 1,
    "head_dim": 64,
    "hidden_size": 256,
    "intermediate_size": 768,
    "max_position_embeddings": 4096,
    "max_window_layers": 3,
    "num_attention_heads": 8,
    "num_hidden_layers": 3,
    "num_key_value_heads": 4,
    "vocab_size": 2048,
}

# The original's config.json but for torch_dtype.
SMOLLM2_135M = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 576,
    "initializer_range": 0.041666666666666664,
    "intermediate_size": 1536,
    "is_llama_config": True,
    "max_position_embeddings": 8192,
    "mlp_bias": False,
    "model_type": "llama",
    "num_attention_heads": 9,
    "num_hidden_layers": 30,
    "num_key_value_heads": 3,
    "pad_token_id": 2,
    "pretraining_tp": 1,
    "rms_norm_eps": 1e-05,
    "rope_interleaved": False,
    "rope_scaling": None,
    "rope_theta": 100000,
    "tie_word_embeddings": True,
    "torch_dtype": "float32",
    "transformers_version": "4.42.3",
    "transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16", "fp16": "float16"}},
    "use_cache": True,
    "vocab_size": 49152,
}

CHECKPOINTS = {
    "smollm2-135m-instruct": Checkpoint("smollm2", SMOLLM2_135M, {
        "model.safetensors": "a672150fb4f99d7c8f4168cecdd464069c0ef3a37d8113f22ddb9d48031d03cd",
        # Of the original checkpoint's files:
        "generation_config.json": "87b916edaaab66b3899b9d0dd0752727dff6666686da0504d89ae0a6e055a013",
        "special_tokens_map.json": "2b7379f3ae813529281a5c602bc5a11c1d4e0a99107aaa597fe936c1e813ca52",
        "tokenizer.json": "9ca9acddb6525a194ec8ac7a87f24fbba7232a9a15ffa1af0c1224fcd888e47c",
        "tokenizer_config.json": "4ec77d44f62efeb38d7e044a1db318f6a939438425312dfa333b8382dbad98df",
    }),
    "qwen3-0.6b-synthetic": Checkpoint("synthetic", QWEN3_0_6B, {
        "model.safetensors": "28d3039d11eba13c041905d7948d3361f5f614b04b6903da06034073e5d96cf2",
    }, seed=603),
    "qwen3-mini-synthetic": Checkpoint("synthetic", QWEN3_MINI, {
        "model.safetensors": "80fbd9b860e9101ce43001deb6e4a8cc8a48759be5be0a7d27302cd5bf13dfe9",
    }, seed=604),
}
