"""What goes into and comes out of every module in one forward pass of Transformers.

module_tensors.py FOLDER VALUES ID...

One JSON line per tensor on stdout, {"module", "side": "input" or "output", "shape"} without the batch, in
the order of the pass; the float32 values, in the same order, in the file VALUES."""
import json
import sys

import torch
import transformers


def first_tensor(value):
    if isinstance(value, (tuple, list)):
        value = value[0]
    return value if isinstance(value, torch.Tensor) else value[0]


def main(folder, values, *ids):
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager").eval()
    with open(values, "wb") as file:
        def put(module, side, tensor):
            tensor = first_tensor(tensor)
            if tensor.is_floating_point():
                print(json.dumps({"module": module, "side": side, "shape": list(tensor.shape[1:])}))
                file.write(tensor[0].detach().contiguous().numpy().tobytes())

        for name, module in model.named_modules():
            module.register_forward_pre_hook(
                lambda _, args, kwargs, name=name: put(name, "input", args if args else list(kwargs.values())),
                with_kwargs=True)
            module.register_forward_hook(lambda _, args, output, name=name: put(name, "output", output))
        with torch.no_grad():
            model(torch.tensor([[int(i) for i in ids]]), use_cache=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
