"""tokenizer.json files made on the spot with the Hugging Face library, shaped like the families octlm reads."""

import json

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3 = QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
# No scanner knows this one: it goes through PCRE2.
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN_ADDED = (
    "endoftext im_start im_end object_ref_start object_ref_end box_start box_end quad_start quad_end vision_start "
    "vision_end vision_pad image_pad video_pad tool_call /tool_call fim_prefix fim_middle fim_suffix fim_pad repo_name "
    "file_sep tool_response /tool_response think /think"
).split()

TEXT = (
    "Once upon a time, a little robot found a key. It's the robot's key, isn't it? They'll say we've been here; I'd "
    "agree. def add(a, b):\n\treturn a + b\r\n    for i in range(10):\n        print(i, 3333 + 777, 12345.678)\n\n"
    "The café's naïve façade — “quoted” text… 日本語のテキスト、今日は天気がいい。我们今天研究语言模型的问题。Привет, мир! "
    "Größe und Straße. Việt Nam, tiếng Việt. 한국어 텍스트입니다. مرحبا بالعالم שלום 🙂👍🏽 👨‍👩‍👧 e\u0301 A\u030a "
    "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"hello.py\"}}\n</tool_call>\n"
) * 4


def byte_level_split(expression, behavior="isolated", invert=False):
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(expression, behavior, invert=invert),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def trained(pre_tokenizer, normalizer=None, vocabulary=700, alphabet=None, ignore_merges=False):
    tokenizer = Tokenizer(models.BPE())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        initial_alphabet=alphabet if alphabet is not None else sorted(pre_tokenizers.ByteLevel.alphabet()),
        limit_alphabet=256 if alphabet is None else len(alphabet),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT.splitlines(keepends=True), trainer)
    document = json.loads(tokenizer.to_str())
    document["model"]["ignore_merges"] = ignore_merges
    # The trainer leaves holes, which added tokens would collide with.
    vocab = document["model"]["vocab"]
    document["model"]["vocab"] = {token: i for i, token in enumerate(sorted(vocab, key=vocab.get))}
    return document


def with_added(document, tokens):
    tokenizer = Tokenizer.from_str(json.dumps(document))
    for token in tokens:
        tokenizer.add_tokens([token])
    return json.loads(tokenizer.to_str())


def control(name, special=True):
    return AddedToken(name, normalized=False, special=special)


def qwen():
    names = [f"<|{n}|>" for n in QWEN_ADDED[:14]] + [
        f"<{n}>" if "fim" not in n and n not in ("repo_name", "file_sep") else f"<|{n}|>" for n in QWEN_ADDED[14:]
    ]
    document = trained(byte_level_split(Regex(QWEN)), normalizers.NFC())
    return with_added(document, [control(name, special=i < 14) for i, name in enumerate(names)])


def llama3():
    document = trained(byte_level_split(Regex(LLAMA3)), ignore_merges=True)
    # A token that no merges make: only ignore_merges finds it.
    document["model"]["vocab"]["Ġxylophone"] = len(document["model"]["vocab"])
    names = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    document = with_added(document, [control(name) for name in names])
    tokenizer = Tokenizer.from_str(json.dumps(document))
    begin = tokenizer.token_to_id(names[0])
    tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=True),
            processors.TemplateProcessing(
                single=f"{names[0]} $A", pair=f"{names[0]} $A {names[0]} $B:1", special_tokens=[(names[0], begin)]
            ),
        ]
    )
    return json.loads(tokenizer.to_str())


def gpt2(prefix_space=False):
    document = trained(pre_tokenizers.ByteLevel(add_prefix_space=prefix_space, use_regex=True))
    document["model"]["merges"] = [" ".join(pair) for pair in document["model"]["merges"]]
    del document["model"]["ignore_merges"]
    return with_added_in_place(document, control("<|endoftext|>"))


def with_added_in_place(document, token):
    """with_added, but the merges keep the spelling they have in `document`."""
    out = with_added(document, [token])
    out["model"]["merges"] = document["model"]["merges"]
    return out


def smollm2():
    lacking = {chr(0x100 + n) for n in (0, 1, 2, 5, 28, 30)} | {"À", "Á", "õ", "ö", "÷", "ø", "ù", "ú", "û", "ü", "ý",
                                                              "þ", "ÿ", "ñ", "ò"}
    alphabet = sorted(set(pre_tokenizers.ByteLevel.alphabet()) - lacking)
    digits = pre_tokenizers.Digits(individual_digits=True)
    document = trained(
        pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]),
        alphabet=alphabet,
    )
    document["model"]["merges"] = [" ".join(pair) for pair in document["model"]["merges"]]
    return with_added_in_place(document, control("<|im_start|>"))


def flagged():
    """Added tokens with every flag, some sharing a beginning, some that NFC changes."""
    document = trained(byte_level_split(Regex(QWEN)), normalizers.NFC())
    return with_added(
        document,
        [
            AddedToken("<l>", lstrip=True, normalized=False),
            AddedToken("<r>", rstrip=True, normalized=False),
            AddedToken("<lr>", lstrip=True, rstrip=True, normalized=False, special=True),
            AddedToken("word", single_word=True, normalized=False),
            AddedToken("<l><r>", normalized=False),
            AddedToken("é", normalized=True),
            AddedToken("e\u0301e\u0301", normalized=True, lstrip=True),
            AddedToken("한국", normalized=True, single_word=True, rstrip=True),
            AddedToken("<n>", normalized=True, lstrip=True, rstrip=True),
            AddedToken("a b", normalized=False),
            AddedToken("  x", normalized=False),
            AddedToken("robot", normalized=False, special=True),
        ],
    )


def scrambled_merges():
    """Merges in an order in which no training would give them: some need what a later one makes."""
    document = trained(byte_level_split(Regex(QWEN)), normalizers.NFC())
    merges = document["model"]["merges"]
    document["model"]["merges"] = merges[200:] + merges[:200][::-1]
    return document


def arrangements():
    """name -> tokenizer.json document"""
    out = {
        "llama3": llama3(),
        "gpt2": gpt2(),
        "gpt2 prefix space": gpt2(prefix_space=True),
        "smollm2": smollm2(),
        "flagged": flagged(),
        "scrambled merges": scrambled_merges(),
        "o200k": trained(byte_level_split(Regex(O200K))),
        "removed inverted": trained(byte_level_split(Regex(LLAMA3), "removed", invert=True)),
        "contiguous digits": trained(
            pre_tokenizers.Sequence(
                [pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.ByteLevel(add_prefix_space=True)]
            )
        ),
    }
    for behavior in ("isolated", "merged_with_previous", "merged_with_next", "contiguous", "removed"):
        for invert in (False, True):
            for name, pattern in (("string", "a "), ("regex", Regex(r"[\s\d]|'s"))):
                split = byte_level_split(pattern, behavior, invert)
                out[f"{name} {behavior}{' inverted' if invert else ''}"] = trained(split, vocabulary=300)
    return out
