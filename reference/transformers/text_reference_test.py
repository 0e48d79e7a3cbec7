"""The text reference is what it says: Hugging Face as it is, and where that is no answer, put together from it."""
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
text_reference = pytest.importorskip("text_reference")

TEMPLATE = ("{% for m in messages %}<s>{{ m.role }}\n{% set c = m.content %}{% if m.role == 'assistant' and '</think>' in c %}"
            "<think>{{ c.split('</think>')[0].split('<think>')[-1] }}</think>{% set c = c.split('</think>')[-1] %}{% endif %}"
            "{{ c }}</s>{% endfor %}{% if add_generation_prompt %}<s>{% endif %}")


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("text")
    symbols = [s for byte, s in sorted(text_reference.byte_symbols().items()) if byte != 0x01]
    made = Tokenizer(models.BPE(vocab={s: i for i, s in enumerate(symbols)}, merges=[]))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in ("<s>", "</s>", "<think>", "</think>")])
    PreTrainedTokenizerFast(tokenizer_object=made, chat_template=TEMPLATE).save_pretrained(folder)
    return text_reference.TextEngine(str(folder))


def tokens(engine, ids):
    return [engine.token(i) for i in ids]


def test_byte_symbols_are_gpt2s():
    from transformers.models.gpt2.tokenization_gpt2 import bytes_to_unicode

    assert text_reference.byte_symbols() == bytes_to_unicode()


def test_native_matches_control_strings_and_normalises_literal_does_neither(engine):
    text = "e\u0301<s>"
    (native, _, _), (literal, spans, _) = engine.encode([text], False)[0], engine.encode([text], True)[0]
    assert tokens(engine, native) == ["Ã", "©", "<s>"]
    assert tokens(engine, literal) == ["e", "Ì", "ģ", "<", "s", ">"]
    assert spans == [0, 1, 1, 2, 1, 2, 2, 3, 3, 4, 4, 5]
    assert engine.decode([literal, native], False) == [text, "\u00e9<s>"]
    assert engine.decode([native], True) == ["\u00e9"]


# duckdb quackformers#83, MinishLab/model2vec#374: training scripts leave both in the file; Transformers switches them off.
def test_truncation_and_padding_of_the_file_change_nothing(engine, tmp_path):
    engine.tokenizer.save_pretrained(tmp_path)
    document = json.loads((tmp_path / "tokenizer.json").read_text())
    document |= {"truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
                 "padding": {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
                             "pad_token": "<s>"}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    other = text_reference.TextEngine(str(tmp_path))
    for literal in (False, True):
        assert other.encode(["a longer text", "b"], literal) == engine.encode(["a longer text", "b"], literal)
    assert other.render(chat(("user", "x<s>")))[1] == engine.render(chat(("user", "x<s>")))[1]


# microsoft/onnxruntime-extensions#890, huggingface/tokenizers#1422
def test_tokens_of_the_files_beside_are_control_tokens(engine, tmp_path):
    engine.tokenizer.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config | {"additional_special_tokens": ["<extra>"]}))
    other = text_reference.TextEngine(str(tmp_path))
    (extra,) = set(other.control_ids()) - set(engine.control_ids())
    assert other.encode(["<extra>"], False)[0][0] == [extra] and extra not in other.encode(["<extra>"], True)[0][0]


def test_decoding_drops_no_space_whatever_the_checkpoint_says(engine, tmp_path):
    """Transformers' decode makes "x!= y" of "x != y" when a flag of the checkpoint says so
    (huggingface/transformers#32575, #35175): the reference is pinned to the bare decode, and says so."""
    engine.tokenizer.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config | {"clean_up_tokenization_spaces": True}))
    other = text_reference.TextEngine(str(tmp_path))
    ids = other.encode(["x != y"], True)[0][0]
    assert other.tokenizer.decode(ids) == "x!= y", "the flag has lost its meaning: this test says nothing"
    assert other.decode([ids], False) == ["x != y"]
    assert other.settings()["clean_up_tokenization_spaces"] is False


def test_a_byte_that_would_be_dropped_is_refused_in_literal_text_alone(engine):
    ids, _, refusal = engine.encode(["a\x01b"], True)[0]
    assert "0x01" in refusal
    assert engine.encode(["a\x01b"], False)[0][2] == ""


def chat(*messages, **more):
    return json.dumps({"messages": [{"role": role, "content": content} for role, content in messages]} | more)


def test_an_ordinary_chat_has_the_ids_of_apply_chat_template(engine):
    text, ids, compatible, known, refusal = engine.render(chat(("user", "hi"), add_generation_prompt=True))
    assert (text, known, refusal) == ("<s>user\nhi</s><s>", True, "")
    assert ids == compatible and tokens(engine, ids)[-1] == "<s>"


def test_control_strings_in_a_chats_words_are_text(engine):
    text, ids, compatible, known, _ = engine.render(chat(("user", "x</s><s>y"), ("user", "<think>")))
    assert known and text == "<s>user\nx</s><s>y</s><s>user\n<think></s>"
    controls = [t for t in tokens(engine, ids) if len(t) > 1]
    assert controls == ["<s>", "</s>", "<s>", "</s>"]
    assert len([t for t in tokens(engine, compatible) if len(t) > 1]) == 7
    assert engine.decode([ids], False) == [text]


# A think block is written anew by the template where it looks for one: the text does not show whose it is.
@pytest.mark.parametrize("content", ["<think>a</think>b", "</think>", "<think>a</think>"])
def test_where_the_template_looks_for_a_control_string_nothing_is_said(engine, content):
    *_, known, refusal = engine.render(chat(("assistant", content)))
    assert not known and refusal == ""


def test_a_chat_that_the_template_cannot_render_is_refused(engine):
    assert "TypeError" in engine.render(json.dumps({"messages": [{"role": "assistant", "content": 3}]}))[4]


def test_a_folder_without_tokenizer_is_refused(tmp_path):
    with pytest.raises(text_reference.Refusal, match="no tokenizer.json"):
        text_reference.TextEngine(str(tmp_path))
