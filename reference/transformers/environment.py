"""What `octlm doctor` shows of the Python side. A missing or broken package is a value, not an error."""
import importlib.metadata
import os
import platform
import sys

PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "pybind11")


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def torch_state():
    """Threads, libraries and GPU as torch sees them; {"error"} when it does not import."""
    try:
        import torch

        gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
        return {
            "version": torch.__version__,
            "cuda": torch.version.cuda,
            "cuda_available": torch.cuda.is_available(),
            "gpus": gpus,
            "threads": torch.get_num_threads(),
            "interop_threads": torch.get_num_interop_threads(),
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        }
    except Exception as error:  # a broken wheel raises OSError, ImportError, RuntimeError, ...
        return {"error": f"{type(error).__name__}: {error}"}


def environment():
    return {
        "python": platform.python_version(),
        "executable": sys.executable,
        "prefix": sys.prefix,
        "packages": {package: version(package) for package in PACKAGES},
        "torch": torch_state(),
        "variables": {name: value for name, value in sorted(os.environ.items())
                      if name.startswith(("OMP_", "MKL_", "KMP_", "GOMP_", "CUDA_", "TORCH_", "HF_"))},
    }
