"""The plain side of reference_speed_test.cpp: Transformers as a script would use it, in its own process.

Reads "full N" or "every N" on stdin, does that work, answers with the seconds it took. It uses nothing of
transformers_reference.py, so that a slowness of ours cannot be on both sides.
"""
import sys
import time

import torch
import transformers


def full(model, ids):
    return model(ids, use_cache=False).logits


def every(model, ids):
    cache = transformers.DynamicCache()
    for i in range(ids.shape[1]):
        logits = model(ids[:, i:i + 1], past_key_values=cache, use_cache=True).logits
    return logits


@torch.inference_mode()
def main(folder, threads):
    torch.set_num_threads(int(threads))
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    print("ready", flush=True)
    for line in sys.stdin:
        work, n = line.split()
        ids = (torch.arange(int(n)) * 131 % model.config.vocab_size)[None]
        started = time.perf_counter()
        {"full": full, "every": every}[work](model, ids)
        print(time.perf_counter() - started, flush=True)


main(*sys.argv[1:])
