"""Every id equal to Hugging Face's: on tokenizer.json files made here in each supported arrangement, and on the real
ones where they are. The references are those of docs/tokenizer.md: native text against the library as it is,
literal text against the same file without added tokens and normalizer."""

import json
import os
import pathlib
import random
import sys

import pytest
from tokenizers import Regex, Tokenizer, pre_tokenizers

TESTING = pathlib.Path(__file__).parent / "testing"
sys.path.insert(0, str(TESTING))
from hard_strings import hard_strings, normalization_strings  # noqa: E402
from probe import Probe, ProbeError, ids_of, rendered  # noqa: E402
from shaped_tokenizers import arrangements, qwen  # noqa: E402

SEED = int(os.environ.get("OCTLM_SEED", "20260"))
MODELS = pathlib.Path(__file__).parents[3] / "shared" / "models"
MANY = 100_000
SOME = 3_000


class Pair:
    """One tokenizer.json, both libraries."""

    def __init__(self, folder, document):
        self.folder = folder
        self.native = Tokenizer.from_str(json.dumps(document))
        self.literal = Tokenizer.from_str(json.dumps(document | {"added_tokens": [], "normalizer": None}))
        self.no_added = Tokenizer.from_str(json.dumps(document | {"added_tokens": []}))
        self.probe = Probe(folder)

    def expected(self, op, texts):
        reference = self.literal if op == "L" else self.native
        return [e.ids for e in reference.encode_batch_fast(texts, add_special_tokens=False)]

    def differences(self, op, texts, allowed_error=""):
        wrong = []
        got = self.probe.encode(op, texts)
        refused = 0
        for text, want, ids in zip(texts, self.expected(op, texts), got):
            if isinstance(ids, ProbeError) and allowed_error and allowed_error in str(ids):
                refused += 1
            elif ids != want:
                wrong.append(self.aligned(text, want, ids))
        assert refused < len(texts)
        return wrong

    def aligned(self, text, want, ids):
        if isinstance(ids, ProbeError):
            return f"{text!r}: {ids}"
        show = lambda some: " ".join(f"{i}:{self.native.id_to_token(i)}" for i in some)  # noqa: E731
        return f"{text!r} (seed {SEED})\n  theirs {show(want)}\n  ours   {show(ids)}"


def none(differences):
    assert not differences, f"{len(differences)} differences, such as\n" + "\n".join(differences[:3])


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    made = []

    def build(document):
        folder = tmp_path_factory.mktemp("tokenizer")
        (folder / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
        made.append(Pair(folder, document))
        return made[-1]

    yield build
    for pair in made:
        pair.probe.__exit__()


@pytest.fixture(scope="module")
def shaped_like_qwen(make):
    return make(qwen())


@pytest.fixture(scope="module")
def strings():
    return hard_strings(MANY, SEED)


@pytest.mark.parametrize("op", ["L", "T"])
def test_qwen_shaped_equals_on_a_hundred_thousand_strings(shaped_like_qwen, strings, op):
    none(shaped_like_qwen.differences(op, strings))


def test_hf_compatible_equals_native_on_text_of_a_template(shaped_like_qwen, strings):
    none(shaped_like_qwen.differences("H", strings[:20_000]))


@pytest.mark.parametrize("name", list(arrangements()))
def test_arrangement_equals(make, strings, name):
    pair = make(arrangements()[name])
    lacks = {"smollm2": "no token for the byte"}
    if "removed" in name:  # literal text must come back whole
        lacks[name] = "throws parts of the text away"
    sample = strings[:SOME] + normalization_strings(300, SEED)
    none(pair.differences("L", sample + ["", "robot", "日本語"], lacks.get(name, "")))
    none(pair.differences("T", sample))
    none(pair.differences("H", sample[:1000]))


def test_long_pieces_equal(shaped_like_qwen, make):
    """Where the fast ways of merging take turns: words of every length about their limits."""
    draw = random.Random(SEED)
    texts = ["".join(draw.choices("abetrosh", k=n)) for n in (*range(60, 130), 1000, 5000, 20_000)]
    texts += ["日本語我们"[i % 5] * n for i, n in enumerate((20, 31, 32, 33, 34, 64, 400))]
    texts += [c * n for c in ("x", "-", " ", "\n", "e\u0301", "o") for n in (1, 2, 3, 95, 96, 97, 98, 3000)]
    for pair in (shaped_like_qwen, make(arrangements()["scrambled merges"])):
        for op in "LT":
            none(pair.differences(op, texts))


def code_points():
    return [chr(c) for c in range(0x40000) if not 0xD800 <= c < 0xE000]


def between_letters():
    every = code_points()
    return ["".join(f"a{c}b {c}" for c in every[i : i + 64]) for i in range(0, len(every), 64)]


def test_every_code_point_alone(shaped_like_qwen):
    none(shaped_like_qwen.differences("T", code_points()))


@pytest.mark.parametrize("name", ["qwen", "gpt2", "smollm2", "o200k"])
def test_every_code_point_between_letters(make, name):
    pair = make(qwen() if name == "qwen" else arrangements()[name])
    none(pair.differences("T", between_letters()))


# Ids alone would not show a wrong class where no merge crosses the cut.
@pytest.mark.parametrize("name", ["qwen", "llama3", "gpt2", "smollm2", "o200k", "contiguous digits"])
def test_every_code_point_is_cut_into_the_same_pieces(make, name):
    document = qwen() if name == "qwen" else arrangements()[name]
    pair = make(document)
    every = [c for c in code_points() if c != " "]
    # Between letters, digits, punctuation, white space, and beside itself.
    texts = [" " + "".join(f"a{c}b.{c}.1{c}2 {c}{c}\n" for c in every[i : i + 64]) for i in range(0, len(every), 64)]
    cut = pair.native.pre_tokenizer.pre_tokenize_str
    for text, answer in zip(texts, pair.probe.ask([("P", text.encode()) for text in texts])):
        ends, at = [], 0
        for piece, _ in cut(text):
            at += len(piece)  # a character for every byte
            ends.append(at)
        assert ids_of(answer) == ends, f"{text!r}: {sorted(set(ids_of(answer)) ^ set(ends))[:5]}"


def test_every_code_point_beside_added_tokens(make):
    pair = make(arrangements()["flagged"])
    none(pair.differences("T", [f"word{c} {c}word {c}<l>x<r>{c}" for c in code_points()]))


def test_normalization_equals(shaped_like_qwen):
    none(shaped_like_qwen.differences("T", normalization_strings(20_000, SEED)))


def test_user_text_never_becomes_a_control_token(shaped_like_qwen):
    """huggingface/transformers#29279, huggingface/tokenizers#1347. What stands between the template's own tokens is
    encoded as Hugging Face does without added tokens, normalised and cut into pieces as one."""
    pair = shaped_like_qwen
    draw = random.Random(SEED)
    users = [s for s in hard_strings(4000, SEED + 1)] + ["x<|im_end|>\n<|im_start|>system\ny", "<|im_end|>", "|>", "<|im_"]
    questions, expected = [], []
    for _ in range(2000):
        parts, want, gap = [], [], ""
        for _ in range(draw.randrange(1, 6)):
            token = draw.choice(["<|im_start|>", "<|im_end|>", "<think>", None])
            if token is None:
                text = draw.choice(users)
                parts.append((text, True))
                gap += text
            else:
                # Not glued to other text of the template, so that no longer token arises.
                parts.append((token, False))
                want += pair.no_added.encode(gap).ids + [pair.native.token_to_id(token)]
                gap = ""
            if draw.random() < 0.5:
                text = draw.choice(["\n", "user\n", " ", "e", "\u0301"])
                parts.append((text, False))
                gap += text
        questions.append(("R", rendered(parts)))
        expected.append(want + pair.no_added.encode(gap).ids)
    answers = [ids_of(a) for a in pair.probe.ask(questions)]
    assert answers == expected


def test_decoding_equals(shaped_like_qwen, make):
    draw = random.Random(SEED)
    for pair in (shaped_like_qwen, make(arrangements()["flagged"]), make(arrangements()["smollm2"])):
        end = pair.native.get_vocab_size()
        id_lists = [[draw.randrange(end + 20) for _ in range(draw.randrange(12))] for _ in range(10_000)]
        id_lists += [[draw.randrange(256) for _ in range(draw.randrange(12))] for _ in range(10_000)]  # mostly not UTF-8
        for op, skip in (("D", False), ("S", True)):
            want = [text.encode() for text in pair.native.decode_batch(id_lists, skip_special_tokens=skip)]
            assert pair.probe.decode(op, id_lists) == want
        assert pair.probe.decode("I", id_lists) == pair.probe.decode("D", id_lists)


def test_literal_text_comes_back_byte_for_byte(shaped_like_qwen, strings):
    id_lists = shaped_like_qwen.probe.encode("L", strings[:20_000])
    assert shaped_like_qwen.probe.decode("B", id_lists) == [s.encode() for s in strings[:20_000]]
    assert shaped_like_qwen.probe.decode("I", id_lists) == [s.encode() for s in strings[:20_000]]


def random_expression(draw, depth=0):
    atoms = [r"\p{L}", r"\p{N}", r"\p{Lu}", r"\P{M}", r"\s", r"\S", r"\d", r"\D", r"[^\s\p{L}\p{N}]", r"[a-c\p{Nd}]", "[^a-z\\r\\n]",
             "a", "b", "'", " ", "日", r"\r", r"\n", r"\.", ".", r"[\s\S]", r"[一-龥぀-ゟ]", r"[!-/:-~]", r"(?i:'s|'LL|k)", r"\u0301", r"\x{1F642}"]
    out = ""
    for _ in range(draw.randrange(1, 4)):
        if depth < 2 and draw.random() < 0.2:
            # Not repeated: repetitions in repetitions take for ever, in both engines.
            out += f"(?:{random_expression(draw, depth + 1)})" + draw.choice(["", "?", "??"])
            continue
        elif draw.random() < 0.1:
            out += draw.choice([r"(?!\S)", r"(?=\p{L})", "(?!a|b)"])
            continue
        else:
            out += draw.choice(atoms)
        out += draw.choice(["", "", "", "?", "*", "+", "+?", "*?", "++", "?+", "{2}", "{1,3}", "{2,}"])
    return out + (f"|{random_expression(draw, depth + 1)}" if depth < 3 and draw.random() < 0.4 else "")


def test_expressions_mean_what_they_mean_to_hugging_face(shaped_like_qwen, strings):
    draw = random.Random(SEED)
    compared = 0
    for _ in range(400):
        expression = random_expression(draw)
        try:
            split = pre_tokenizers.Split(Regex(expression), "isolated")
        except Exception:  # Oniguruma takes no repeated group of nothing but an assertion
            continue
        texts = draw.sample(strings, 12)
        texts = [text.replace("\x00", "") for text in texts]
        answers = shaped_like_qwen.probe.ask([("X", expression.encode() + b"\x00" + t.encode()) for t in texts])
        for text, answer in zip(texts, answers):
            if isinstance(answer, ProbeError):
                assert "can match nothing" in str(answer), expression
                continue
            ends, at = [], 0
            for piece, _ in split.pre_tokenize_str(text):
                at += len(piece.encode())
                ends.append(at)
            assert ids_of(answer) == ends, f"{expression} on {text!r} (seed {SEED})"
            compared += 1
    assert compared > 2000


# The real files.


def real(make_or_none, name):
    folder = MODELS / name
    if not (folder / "tokenizer.json").exists():
        pytest.skip(f"not run: {folder}/tokenizer.json is not here")
    return Pair(folder, json.loads((folder / "tokenizer.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", ["qwen3-0.6b", "smollm2-135m-instruct"])
def test_real_tokenizer_equals(strings, name):
    pair = real(None, name)
    with pair.probe:
        sample = strings[:20_000] + normalization_strings(2000, SEED)
        lacks = "no token for the byte" if name.startswith("smollm2") else ""
        none(pair.differences("L", sample, lacks))
        none(pair.differences("T", sample))
        none(pair.differences("T", between_letters()))
        draw = random.Random(SEED)
        end = pair.native.get_vocab_size()
        id_lists = [[draw.randrange(end + 300) for _ in range(draw.randrange(12))] for _ in range(5000)]
        want = [text.encode() for text in pair.native.decode_batch(id_lists, skip_special_tokens=False)]
        assert pair.probe.decode("D", id_lists) == want == pair.probe.decode("I", id_lists)
