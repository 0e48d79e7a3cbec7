"""Puts checkpoints into the user's cache: `octlm fetch NAME`, or `python -m checkpoints fetch NAME`.

catalogue    the names, and what each must hash to
store        where a checkpoint lies, its manifest, and how it becomes complete all at once
tensor_file  writing safetensors without holding a model in memory
synthetic    the Qwen3 checkpoints that are drawn from a seed
smollm2      SmolLM2-135M-Instruct, de-quantised from the GGUF that a Python package ships
hub          any checkpoint of the Hugging Face hub, at a full commit
"""
