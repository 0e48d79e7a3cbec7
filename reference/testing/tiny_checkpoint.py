"""Small Llama and Qwen3 checkpoints, written by Transformers itself, for tests."""
import torch
import transformers

ARCHITECTURES = {
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
    "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
}


def write(folder, architecture="qwen3", seed=7, dtype="float32", **overrides):
    """Seeded weights with norms away from one, so that a missing norm shows, in `folder`."""
    fields = {
        "vocab_size": 307, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 4096,
        "tie_word_embeddings": architecture == "qwen3", "initializer_range": 0.3,
    }
    config_class, model_class = ARCHITECTURES[architecture]
    torch.manual_seed(seed)
    model = model_class(config_class(**{**fields, **overrides}))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter.mul_(torch.exp(0.3 * torch.randn(parameter.shape)))
    model.to(getattr(torch, dtype)).save_pretrained(folder, safe_serialization=True)
    return folder
