"""octlm tokenize and detokenize as filters: held against the Hugging Face library on a tokenizer.json made here."""
import json
import os
import subprocess

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

PROGRAM = os.environ["OCTLM_PROGRAM"]
PASS, REFUSED, ERROR = 0, 2, 4
QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def octlm(*arguments, stdin=""):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, encoding="utf-8", timeout=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(QWEN), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    text = ["a little robot found a key, 日本語 café "] * 4
    tokenizer.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False))
    tokenizer.add_tokens([AddedToken("<|im_end|>", normalized=False, special=True)])
    path = tmp_path_factory.mktemp("tokenizer")
    tokenizer.save(str(path / "tokenizer.json"))
    return path


TEXTS = ["a little robot", "x<|im_end|>\ny", "cafe\u0301", "", "日本語 🙂\u0000\u2028", "\\\"\n"]


def ask(command, folder, questions, *arguments):
    result = octlm(command, "--model", folder, *arguments, stdin="".join(json.dumps(q) + "\n" for q in questions))
    assert result.returncode == PASS, result.stderr
    return [json.loads(line) for line in result.stdout.split("\n")[:-1]]


def test_each_mode_answers_as_its_reference(folder):
    document = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    native = Tokenizer.from_str(json.dumps(document))
    literal = Tokenizer.from_str(json.dumps(document | {"added_tokens": [], "normalizer": None}))
    for arguments, reference in (((), literal), (("--mode", "literal"), literal), (("--mode", "native"), native),
                                 (("--hf-compat",), native)):
        answers = ask("tokenize", folder, [{"text": text} for text in TEXTS], *arguments)
        assert answers == [{"ids": reference.encode(text, add_special_tokens=False).ids} for text in TEXTS], arguments


def test_what_was_tokenized_literally_comes_back(folder):
    ids = ask("tokenize", folder, [{"text": text} for text in TEXTS])
    assert ask("detokenize", folder, ids) == [{"text": text} for text in TEXTS]


def test_detokenize_gives_what_ids_without_text_are_worth(folder):
    answers = ask("detokenize", folder, [{"ids": []}, {"ids": [2**31 - 1, 100_000]}])
    assert answers == [{"text": ""}, {"text": ""}]


@pytest.mark.parametrize("command, good, bad", [
    ("tokenize", '{"text": "a"}', ["{}", '{"text": 1}', '{"text": "a", "mode": "native"}', "not json", '{"text": "\\ud800"}', ""]),
    ("detokenize", '{"ids": [1]}', ["{}", '{"ids": [-1]}', '{"ids": [2147483648]}', '{"ids": "1"}', '{"ids": [1.5]}', "[]"]),
])
def test_a_bad_line_is_answered_and_the_others_go_on(folder, command, good, bad):
    result = octlm(command, "--model", folder, stdin="\n".join([good, *bad, good]) + "\n")
    assert result.returncode == ERROR
    answers = [json.loads(line) for line in result.stdout.split("\n")[:-1]]
    assert len(answers) == len(bad) + 2
    assert all(list(answer) == ["error"] for answer in answers[1:-1]), answers
    assert answers[0] == answers[-1] and "error" not in answers[0]


def test_refusals(folder, tmp_path):
    assert octlm("tokenize", "--model", folder, "--mode", "other").returncode == REFUSED
    assert octlm("tokenize", "--model", folder, "--mode", "native", "--hf-compat").returncode == REFUSED
    assert octlm("tokenize").returncode == REFUSED
    (tmp_path / "tokenizer.json").write_text("{}")
    broken = octlm("tokenize", "--model", tmp_path)
    assert broken.returncode == ERROR
    assert broken.stderr.count("\n") == 1 and "'model' is missing" in broken.stderr
