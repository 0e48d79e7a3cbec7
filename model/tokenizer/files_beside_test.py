"""What the files beside tokenizer.json say of tokens: ids, decoding and special tokens as AutoTokenizer's, or refused.
microsoft/onnxruntime-extensions#890, huggingface/tokenizers#1422, duckdb quackformers#83, MinishLab/model2vec#374."""
import copy
import json
import os
import pathlib
import random
import subprocess
import sys
import warnings

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.simplefilter("ignore")
import transformers  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent / "testing"))
from probe import PROBE, Probe  # noqa: E402
from shaped_tokenizers import qwen, trained  # noqa: E402
from tokenizers import pre_tokenizers  # noqa: E402

SEED = int(os.environ.get("OCTLM_SEED", "20263"))
QWEN_CONFIG = {"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "unk_token": None}
PLAIN = {"tokenizer_class": "PreTrainedTokenizerFast"}
TEXTS = ["<extra> hi", "x <think> y", "a<more>b <more> c", "<|im_end|> x<|im_start|> y", "x  <extra>  y", "Xextra extraY extra",
         "<pad>a", "<unk><s></s>", "[PAD] x", "e\u0301<e\u0301>\u00e9<\u00e9>", "the <|endoftext|> end", " lead", "the", "<|a|><|b|><|c|>"]


def token(content, **flags):
    return {"content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} | flags


def typed(content, **flags):
    return {"__type": "AddedToken"} | token(content, **flags)


def decoder_of(document, **changes):
    """added_tokens_decoder as saving writes it."""
    return {str(t["id"]): {k: v for k, v in t.items() if k != "id"} | changes.get(t["content"], {}) for t in document["added_tokens"]}


@pytest.fixture(scope="module")
def shaped():
    return qwen()


def write(folder, document, tokenizer_config=None, **others):
    folder.mkdir(parents=True, exist_ok=True)
    files = {"tokenizer.json": document, "tokenizer_config.json": tokenizer_config, **{f"{name}.json": value for name, value in others.items()}}
    for name, value in files.items():
        if value is not None:
            (folder / name).write_text(json.dumps(value), encoding="utf-8")
    return folder


def refusal(folder):
    """What the probe says when it cannot load the folder, else nothing."""
    done = subprocess.run([PROBE, str(folder)], input=b"", capture_output=True, timeout=60)
    return done.stderr.decode() if done.returncode else ""


def compare(folder, texts=TEXTS):
    """Equal, or both refuse. Returns Transformers' tokenizer and its ids."""
    try:
        theirs = transformers.AutoTokenizer.from_pretrained(folder)
    except Exception as error:  # whatever it raises on files that it cannot load
        theirs, why = None, error
    if theirs is None:
        assert refusal(folder), f"Transformers: {why}"
        return None, None
    with Probe(folder) as probe:
        expected = [theirs(text, add_special_tokens=False)["input_ids"] for text in texts]
        got = probe.encode("H", texts)
        assert got == expected, "\n".join(f"{t!r}: theirs {e}, ours {g}" for t, e, g in zip(texts, expected, got) if e != g)
        written = [theirs.backend_tokenizer.decode(ids, skip_special_tokens=True) for ids in expected]
        assert [bytes(a).decode("utf-8", "replace") for a in probe.decode("S", expected)] == written
        return theirs, expected


def test_a_token_of_the_config_alone(shaped, tmp_path):
    end = max(t["id"] for t in shaped["added_tokens"]) + 1
    decoder = decoder_of(shaped) | {str(end + 50): token("<extra>"), str(end + 60): token("<more>", lstrip=True)}
    _, ids = compare(write(tmp_path / "a", shaped, QWEN_CONFIG | {"added_tokens_decoder": decoder}))
    assert ids[0][0] == end, "the next free id, whatever the index"
    _, ids = compare(write(tmp_path / "b", shaped, QWEN_CONFIG | {"additional_special_tokens": ["<more>", "<extra>"]}))
    assert ids[0][0] == end + 1
    _, ids = compare(write(tmp_path / "c", shaped, QWEN_CONFIG, added_tokens={"<extra>": end}))
    assert ids[0][0] == end


def test_flags_of_the_config_win(shaped, tmp_path):
    decoder = decoder_of(shaped, **{"<think>": {"lstrip": True, "rstrip": True}})
    _, ids = compare(write(tmp_path / "a", shaped, QWEN_CONFIG | {"added_tokens_decoder": decoder}))
    assert len(ids[1]) == 3
    for flags in ({"single_word": True}, {"normalized": True}, {"special": True}, {"lstrip": True, "special": True}):
        decoder = decoder_of(shaped, **{"<think>": flags, "<|im_end|>": flags | {"special": False}})
        compare(write(tmp_path / "b", shaped, QWEN_CONFIG | {"added_tokens_decoder": decoder}))


# Training scripts leave them in the file: the whole text all the same.
@pytest.mark.parametrize("config", [PLAIN, PLAIN | {"pad_token": "<pad>"}, PLAIN | {"pad_token": None}, QWEN_CONFIG, {}])
def test_truncation_and_padding_change_no_ids(shaped, tmp_path, config):
    document = shaped | {
        "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 8}, "direction": "Left", "pad_to_multiple_of": None, "pad_id": 3, "pad_type_id": 0,
                    "pad_token": "[PAD]"}}
    compare(write(tmp_path, document, config or None, config={"model_type": "qwen3"}))


def test_special_tokens_map_and_added_tokens_of_old_files(shaped, tmp_path):
    maps = [{"eos_token": token("<|im_end|>", lstrip=True)}, {"eos_token": "<extra>", "pad_token": "<pad>"},
            {"additional_special_tokens": ["<more>", token("<extra>", rstrip=True), "<think>"]}, {"unk_token": {"content": "<unk>"}}]
    for i, special in enumerate(maps):
        for config in (PLAIN, QWEN_CONFIG, PLAIN | {"additional_special_tokens": ["<|a|>", "<more>"]}, None):
            compare(write(tmp_path / f"{i}{bool(config)}{len(config or ())}", shaped, config, special_tokens_map=special,
                          added_tokens={"<|c|>": 9999, "<more>": 9998}, config={"model_type": "llama"}))


@pytest.mark.parametrize("config", [
    {"tokenizer_class": "GPT2Tokenizer"}, {"tokenizer_class": "LlamaTokenizerFast"}, {"tokenizer_class": "Qwen2TokenizerFast"},
    {"tokenizer_class": "LlamaTokenizer", "bos_token": None, "unk_token": typed("<unk>", rstrip=True, normalized=True)},
    PLAIN | {"extra_special_tokens": {"think_open": "<think>", "more": typed("<more>", lstrip=True)}},
    PLAIN | {"extra_special_tokens": ["<more>"]}, PLAIN | {"bos_token": {"content": "<s>"}}, PLAIN | {"bos_token": 3},
    PLAIN | {"additional_special_tokens": "<more>"}, PLAIN | {"added_tokens_decoder": {"x": token("<more>")}},
    PLAIN | {"added_tokens_decoder": {"900": "<more>"}}, PLAIN | {"added_tokens_decoder": {"900": {"content": "<more>"}}},
    PLAIN | {"mask_token": "the", "cls_token": ""}, PLAIN | {"added_tokens_decoder": {"900": token("the", special=False)}},
    {"tokenizer_class": "NoSuchTokenizer"}, {},
])
def test_classes_and_their_defaults(shaped, tmp_path, config):
    compare(write(tmp_path, shaped, config, config={"model_type": "qwen3"}))


@pytest.mark.parametrize("name", ["split_special_tokens", "fix_mistral_regex"])
def test_what_would_change_more_is_refused_by_name(shaped, tmp_path, name):
    write(tmp_path, shaped, PLAIN | {name: True})
    assert f"tokenizer_config.json: {name}: true is not supported" in refusal(tmp_path)


@pytest.mark.parametrize("value", ["absent", True, False, None])
@pytest.mark.parametrize("in_file", [True, False])
def test_prefix_space_of_a_byte_level_alone(tmp_path, value, in_file):
    document = trained(pre_tokenizers.ByteLevel(add_prefix_space=in_file))
    config = PLAIN if value == "absent" else PLAIN | {"add_prefix_space": value}
    compare(write(tmp_path, document, config))


def test_drawn_at_random(shaped, tmp_path):
    names = ["<extra>", "<more>", "<think>", "<|im_end|>", "<pad>", "the", "<|a|>", "<e\u0301>", "extra"]
    equal = 0
    for seed in range(60):
        dice = random.Random(SEED + seed)
        flag = lambda: dice.random() < 0.3  # noqa: E731
        flags = lambda: {name: flag() for name in ("single_word", "lstrip", "rstrip", "normalized", "special")}  # noqa: E731
        one = lambda: dice.choice(names)  # noqa: E731
        config = copy.deepcopy(dice.choice([PLAIN, QWEN_CONFIG, {"tokenizer_class": "GPT2Tokenizer"}, {"tokenizer_class": "LlamaTokenizer"}]))
        for name in ("bos_token", "eos_token", "pad_token", "unk_token", "mask_token"):
            if flag():
                config[name] = dice.choice([one(), typed(one(), **flags()), None])
        if flag():
            config["additional_special_tokens"] = [dice.choice([one(), typed(one(), **flags())]) for _ in range(3)]
        if flag():
            config["extra_special_tokens"] = {"a_token": one(), "b_token": typed(one(), **flags())}
        if flag():
            config["added_tokens_decoder"] = decoder_of(shaped) | {str(dice.randrange(700, 800)): token(one(), **flags()) for _ in range(3)}
        others = {"config": {"model_type": "qwen3"}}
        if flag():
            others["added_tokens"] = {one(): dice.randrange(700, 900), one(): dice.randrange(700, 900)}
        if flag():
            others["special_tokens_map"] = {"eos_token": dice.choice([one(), token(one(), **flags())]),
                                            "additional_special_tokens": [one(), token(one(), **flags())]}
        try:
            theirs, _ = compare(write(tmp_path / str(seed), shaped, config, **others))
        except AssertionError as error:
            raise AssertionError(f"seed {SEED + seed}\n{json.dumps(config)}\n{json.dumps(others)}\n{error}") from None
        equal += theirs is not None
    assert equal >= 40


@pytest.mark.skipif(not (pathlib.Path(__file__).parents[3] / "shared" / "models" / "qwen3-0.6b").exists(),
                    reason="not run: the published tokenizer files are not beside the checkout")
def test_the_published_qwen_with_the_reports_changes(tmp_path):
    source = pathlib.Path(__file__).parents[3] / "shared" / "models" / "qwen3-0.6b"
    document, config = (json.loads((source / name).read_text()) for name in ("tokenizer.json", "tokenizer_config.json"))
    config["added_tokens_decoder"]["151669"] = token("<extra>")
    config["added_tokens_decoder"]["151667"] |= {"lstrip": True, "rstrip": True}
    _, ids = compare(write(tmp_path, document, config), TEXTS[:2])
    assert ids == [[151669, 15588], [87, 151667, 88]]
