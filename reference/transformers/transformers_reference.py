"""Hugging Face Transformers as the reference side of a comparison.

Compiled into the program and run by transformers.cpp; pytest imports the same file. One sequence at a
time: no padding, no attention mask, no position ids to pass, so none can be wrong.
"""
import importlib.metadata
import json
import os
import re
import resource
import sys

# Before the imports that read them. No hub is ever asked: a checkpoint is a folder.
for _name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY",
              "HF_HUB_DISABLE_PROGRESS_BARS", "TRANSFORMERS_NO_ADVISORY_WARNINGS"):
    os.environ.setdefault(_name, "1")


class Refusal(Exception):
    """Something that the user can understand and mend: shown without a traceback."""


try:
    import numpy
    import safetensors
    import torch
    import transformers
except ModuleNotFoundError as missing:
    raise Refusal(f"{missing.name} is not installed in {sys.prefix} (Python {sys.version.split()[0]}, "
                  f"search path {sys.path}); remedy: run ./octlm test once, or install "
                  f"reference/requirements.txt into that environment") from None

# The base model's hidden states, then lm_head, are all there is to their logits: no scaling, no capping.
MODEL_CLASSES = ("LlamaForCausalLM", "Qwen3ForCausalLM")
LOGIT_BLOCK_BYTES = 48 << 20
# Buffers that older versions stored beside the parameters: this one computes them and leaves them unread.
STORED_BUFFERS = re.compile(r"(?:^|\.)(?:rotary_emb\.(?:inv_freq|original_inv_freq|cos_cached|sin_cached)|"
                            r"(?:self_)?attn\.(?:masked_bias|bias)|causal_mask)$")
# torch's float32 power is one ulp off the correctly rounded one for many bases, more or less by machine; its
# reciprocal and Llama 3's blend make a few of that. Another base, scaling or dtype is off by thousands.
FREQUENCY_ULPS = 16


def check_version(version):
    """Transformers 4.57 or later, before 6."""
    parts = version.split(".")
    try:
        known = (4, 57) <= (int(parts[0]), int(parts[1])) < (6, 0)
    except (IndexError, ValueError):
        known = False
    if not known:
        raise Refusal(f"Transformers {version} is installed in {sys.prefix}; octlm knows 4.57 or later, before 6; "
                      f"remedy: install reference/requirements.txt into that environment")


def _list(keys):
    keys = sorted(str(key) for key in keys)
    return ", ".join(keys[:20]) + (f" and {len(keys) - 20} more" if len(keys) > 20 else "")


def load_model(folder, dtype, device, attention):
    """The checkpoint as Transformers loads it, every tensor accounted for."""
    check_version(transformers.__version__)
    if not os.path.isfile(os.path.join(folder, "config.json")):
        raise Refusal(f"{folder} has no config.json: it is no checkpoint folder")
    if device == "cuda" and not torch.cuda.is_available():
        raise Refusal("torch sees no CUDA device")
    model, info = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=getattr(torch, dtype), attn_implementation=attention, local_files_only=True,
        trust_remote_code=False, use_safetensors=True, output_loading_info=True, output_attentions=False,
        output_hidden_states=False,
        # So that the folder's generation_config.json, which no forward pass needs, is not read.
        generation_config=transformers.GenerationConfig())
    info["unexpected_keys"] = [key for key in info["unexpected_keys"] if not STORED_BUFFERS.search(key)]
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs"):
        if info.get(kind):
            raise Refusal(f"{folder}: Transformers reports {kind}: {_list(info[kind])}")
    name = type(model).__name__
    if name not in MODEL_CLASSES:
        raise Refusal(f"{folder} is a {name}; the reference knows {', '.join(MODEL_CLASSES)}")
    check_rope(model, folder)
    model = model.to(device).eval()
    model.requires_grad_(False)
    return model


def stated_rope(folder):
    """What config.json means by its RoPE fields, wherever they stand: (theta, scaling object or {})."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        stated = json.load(file)
    parts = [stated.get(name) or {} for name in ("rope_scaling", "rope_parameters")]
    theta = next((part["rope_theta"] for part in parts if part.get("rope_theta") is not None), stated.get("rope_theta"))
    scaling = next((part for part in parts if part.get("rope_type") or part.get("type")), {})
    return theta, scaling


def meant_frequencies(theta, scaling, head_dim):
    """float32 [head_dim / 2]: float32 exponents, the power rounded once to float32, its float32 reciprocal, and Llama
    3's scaling in float32 (model/rope_table.h has the same rule). None for a scaling that is not known here."""
    kind = scaling.get("rope_type") or scaling.get("type") or "default"
    exponents = numpy.arange(0, head_dim, 2, dtype=numpy.float32) / numpy.float32(head_dim)
    powers = numpy.power(numpy.float64(numpy.float32(theta)), exponents.astype(numpy.float64)).astype(numpy.float32)
    inverse = numpy.float32(1) / powers
    if kind == "default":
        return inverse
    if kind != "llama3":
        return None
    factor, low, high, original = (numpy.float32(scaling[name]) for name in (
        "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"))
    wavelength = numpy.float32(2 * numpy.pi) / inverse
    smooth = (original / wavelength - low) / (high - low)
    blended = (1 - smooth) * (inverse / factor) + smooth * inverse
    return numpy.where(wavelength > original / low, inverse / factor,
                       numpy.where(wavelength < original / high, inverse, blended)).astype(numpy.float32)


def ulps(a, b):
    """How many float32 numbers lie between two positive arrays, element by element."""
    return numpy.abs(a.view(numpy.int32).astype(numpy.int64) - b.view(numpy.int32).astype(numpy.int64))


def frequency_difference(model, folder):
    """The loaded model's inverse frequencies against those that config.json means, for the record. None when its
    scaling is not known here."""
    theta, scaling = stated_rope(folder)
    found = model.model.rotary_emb.inv_freq.detach().to("cpu", torch.float32).contiguous().numpy()
    meant = None if theta is None else meant_frequencies(theta, scaling, 2 * found.size)
    if meant is None:
        return None
    off = ulps(found, meant)
    return {"largest_ulps": int(off.max()), "differing": int((off > 0).sum()), "of": found.size}


def rope_base(model):
    """The base that the loaded model rotates with: from its inverse frequencies where they are not scaled
    (pair 1 turns by base^(-2 / head_dim) a position), else as its own config object gives it."""
    rotary, config = model.model.rotary_emb, model.config
    if getattr(rotary, "rope_type", "default") == "default" and rotary.inv_freq.numel() > 1:
        return float(rotary.inv_freq[1].double() ** -rotary.inv_freq.numel())
    return float(getattr(config, "rope_theta", None) or config.rope_parameters["rope_theta"])


def check_rope(model, folder):
    """config.json may state rope_theta or the scaling inside rope_parameters, which Transformers before 5 does not
    read: it then rotates with other frequencies, and would be a reference for another model."""
    off = frequency_difference(model, folder)
    if off is not None and off["largest_ulps"] <= FREQUENCY_ULPS:
        return
    theta, scaling = stated_rope(folder)
    kind = scaling.get("rope_type") or scaling.get("type") or "default"
    rotary = model.model.rotary_emb
    what = "an unknown distance" if off is None else f"{off['largest_ulps']} float32 ulps"
    raise Refusal(f"{folder}/config.json states rope_theta {theta} and rope_type {kind}; Transformers "
                  f"{transformers.__version__} rotates with {rope_base(model):.6g} and {rotary.rope_type}, {what} away "
                  f"in its inverse frequencies (before 5 it does not read rope_parameters), so it is no reference for "
                  f"this checkpoint: write rope_theta at the top level and the scaling as rope_scaling of a copy of "
                  f"config.json")


def ignored_tensors(folder):
    """The stored buffers that Transformers did not read, by name."""
    names = set()
    for name in sorted(os.listdir(folder)):
        if name.endswith(".safetensors"):
            with safetensors.safe_open(os.path.join(folder, name), "pt") as file:
                names.update(key for key in file.keys() if STORED_BUFFERS.search(key))
    return sorted(names)


def _resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def _high_water_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


class Engine:
    def __init__(self, folder, dtype="float32", device="cpu", attention="eager", threads=0, tf32=False):
        self.tf32 = tf32
        self.threads = threads or torch.get_num_threads()
        self.apply_settings()
        self.model = load_model(folder, dtype, device, attention)
        self.frequencies = frequency_difference(self.model, folder)
        self.ignored = ignored_tensors(folder)
        self.vocab_size = self.model.lm_head.weight.shape[0]
        self.max_positions = self.model.config.max_position_embeddings
        self.rows_per_block = max(1, LOGIT_BLOCK_BYTES // (4 * self.vocab_size))
        self.weight_bytes = self._weight_bytes()
        self.working_bytes = 0  # see peak_bytes
        self.probe = tf32_probe(device)
        self._check_settings(dtype, attention)

    def apply_settings(self):
        """torch's settings are the process's, so each pass sets them again: another engine may differ."""
        if torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)
        precision = "high" if self.tf32 else "highest"
        if torch.get_float32_matmul_precision() != precision:
            torch.set_float32_matmul_precision(precision)
        torch.backends.cuda.matmul.allow_tf32 = self.tf32
        torch.backends.cudnn.allow_tf32 = self.tf32
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False

    def _check_settings(self, dtype, attention):
        settings = self.settings()
        wanted = {"attention": attention, "dtype": dtype, "training": False, "threads": self.threads,
                  "cuda.matmul.allow_tf32": self.tf32, "cudnn.allow_tf32": self.tf32}
        for name, value in wanted.items():
            if settings[name] != value:
                raise Refusal(f"{name} was set to {value!r} and reads back as {settings[name]!r}")
        if not self.tf32 and not self.probe["exact"]:
            raise Refusal(f"float32 matrix products are not float32: the probe gives {self.probe}")

    def settings(self):
        """Read from the objects that compute, not from what was asked for."""
        self.apply_settings()  # another engine may have computed last, with other threads
        config = self.model.config
        rotary = self.model.model.rotary_emb
        dtypes = sorted({str(tensor.dtype).removeprefix("torch.") for tensor in self.model.parameters()})
        matmul, cuda = torch.backends.cuda.matmul, torch.backends.cuda
        device = next(self.model.parameters()).device
        return {
            "transformers": transformers.__version__, "torch": torch.__version__,
            "tokenizers": _version_of("tokenizers"), "python": sys.version.split()[0],
            "model_class": type(self.model).__name__,
            "attention": config._attn_implementation,
            "dtype": dtypes[0] if len(dtypes) == 1 else dtypes,
            "training": self.model.training or any(module.training for module in self.model.modules()),
            "device": str(device.type),
            "device_name": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
            "rms_norm_eps": config.rms_norm_eps,
            "rope_theta": float(f"{rope_base(self.model):.6g}"),
            "rope_type": rotary.rope_type, "rope_frequencies": self.frequencies,
            "ignored_tensors": self.ignored,
            "threads": torch.get_num_threads(), "interop_threads": torch.get_num_interop_threads(),
            "float32_matmul_precision": torch.get_float32_matmul_precision(),
            "cuda.matmul.allow_tf32": matmul.allow_tf32,
            "cudnn.allow_tf32": torch.backends.cudnn.allow_tf32,
            "allow_fp16_reduced_precision_reduction": matmul.allow_fp16_reduced_precision_reduction,
            "allow_bf16_reduced_precision_reduction": matmul.allow_bf16_reduced_precision_reduction,
            "sdpa": {"flash": cuda.flash_sdp_enabled(), "mem_efficient": cuda.mem_efficient_sdp_enabled(),
                     "math": cuda.math_sdp_enabled(), "cudnn": cuda.cudnn_sdp_enabled()},
            "parallel": [line.strip() for line in torch.__config__.parallel_info().splitlines()
                         if line.strip() and "not set" not in line],
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
            "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY"),
            "tf32_probe": self.probe,
        }

    def _weight_bytes(self):
        """Parameters and buffers, a storage shared by several counted once."""
        storages = {}
        for tensor in [*self.model.parameters(), *self.model.buffers()]:
            storage = tensor.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
        return sum(storages.values())

    def peak_bytes(self):
        """Weights and working memory at its largest so far; loading is not counted.

        CUDA: torch's allocator's maximum, exact. CPU: parameters and buffers, plus the largest working
        memory of a pass, a lower bound: what its cache, hidden states and logits block hold, or, where a
        forward call raised the process's resident high-water mark, how far above the resident size before
        that call (a call that stays below an earlier peak of the process hides its inner buffers).
        """
        if self.probe["device"] == "cuda":
            return torch.cuda.max_memory_allocated()
        return self.weight_bytes + self.working_bytes

    def session(self, goes_on=True):
        return Session(self, goes_on)


class Session:
    """One sequence and its cache: appended to and cropped, a forward call or a block of logits at a time.

    goes_on False: one append is all there will be, and a cache is kept only where its calls need one.
    """

    def __init__(self, engine, goes_on):
        self.engine = engine
        self.goes_on = goes_on
        self.cache = None
        self.first = 0      # of the last call
        self.hidden = None  # [positions of the last call, hidden], after the final norm
        self.block = None   # keeps the array that was handed over alive until the next advance

    def begin(self, token_ids, calls, wanted):
        """token_ids: int64 array, the new ones; calls: [(first position, positions)], covering them in order;
        wanted: the positions whose logits are delivered, ascending."""
        self.ids = torch.from_numpy(token_ids).unsqueeze(0).to(self.engine.model.device)  # [1, n]
        self.calls = calls
        self.calls_made = 0
        self.wanted = wanted
        self.delivered = 0
        self.hidden = None
        if self.cache is None and (self.goes_on or len(calls) > 1):
            self.cache = transformers.DynamicCache(config=self.engine.model.config)

    @torch.inference_mode()
    def advance(self):
        """The next rows of logits, float32 [rows, vocab], for the wanted positions that follow those
        delivered; None when all were, and the cache holds the whole append. The array is valid until the
        next call."""
        self.block = None
        self.engine.apply_settings()
        if self.delivered == len(self.wanted):
            while self.goes_on and self.calls_made < len(self.calls):
                self._forward()
            self.hidden = None
            if not self.goes_on:
                self.cache = None
            return None
        while self.hidden is None or self.wanted[self.delivered] >= self.first + len(self.hidden):
            self._forward()
        end = self.first + len(self.hidden)
        rows = [p - self.first for p in self.wanted[self.delivered:self.delivered + self.engine.rows_per_block]
                if p < end]
        self.block = self._logits(rows)
        self.delivered += len(rows)
        return self.block.numpy()

    def crop(self, length):
        """Forgets the positions from `length` on, and an append under way that goes beyond it."""
        self.hidden = self.block = None
        if length == 0:
            self.cache = None
        elif self.cache is not None:
            self.cache.crop(length)

    def _forward(self):
        first, count = self.calls[self.calls_made]
        at = first - self.calls[0][0]  # among the new ids
        self.hidden = None
        before, high_water = _resident_bytes(), _high_water_bytes()
        output = self.engine.model.model(input_ids=self.ids[:, at:at + count], use_cache=self.cache is not None,
                                         past_key_values=self.cache, return_dict=True)
        self.hidden, self.first = output.last_hidden_state[0], first
        self.calls_made += 1
        self._note_working_bytes(before, high_water)

    def _logits(self, rows):
        consecutive = rows[-1] - rows[0] + 1 == len(rows)
        hidden = self.hidden[rows[0]:rows[-1] + 1] if consecutive else self.hidden[rows]
        return self.engine.model.lm_head(hidden).to("cpu", torch.float32).contiguous()

    def _note_working_bytes(self, before, high_water):
        held = self.hidden.nbytes + 4 * self.engine.vocab_size * min(self.engine.rows_per_block, len(self.wanted))
        cached = 0
        if self.cache is not None:
            end = self.first + len(self.hidden)
            config = self.engine.model.config
            cached = (2 * config.num_hidden_layers * config.num_key_value_heads * end *
                      self.engine.model.model.layers[0].self_attn.head_dim * self.hidden.element_size())
        after = _high_water_bytes()
        grown = after - before + cached if after > high_water else 0
        self.engine.working_bytes = max(self.engine.working_bytes, held + cached, grown)


def tf32_probe(device):
    """diag(1 + 2^-11) times the identity, 64 and 512 wide: TF32's 10-bit mantissa cannot hold the answer.

    More than one size, because small products may not reach the tensor cores.
    """
    expected = 1 + 2.0**-11
    found = {}
    with torch.inference_mode():
        for size in (64, 512):
            diagonal = torch.diag(torch.full((size,), expected, dtype=torch.float32, device=device))
            product = (diagonal @ torch.eye(size, dtype=torch.float32, device=device)).cpu()
            exact = torch.equal(product, torch.diag(torch.full((size,), expected, dtype=torch.float32)))
            found[str(size)] = product[0, 0].item() if exact else product.diagonal().min().item()
    return {"device": device, "expected": expected, "found": found,
            "exact": all(value == expected for value in found.values())}
