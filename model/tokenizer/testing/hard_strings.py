"""Seeded random strings weighted to the places where tokenizers go wrong."""

import random
import unicodedata

LETTERS = list("abcdeiorstuvlmABST") + ["é", "ß", "ſ", "ñ", "İ", "ı", "Å", "ﬁ", "日", "本", "语", "が", "한", "П", "ж", "ش", "א", "क"]
DIGITS = list("0123456789") + ["²", "½", "٣", "Ⅷ", "一", "𝟛", "\U00011de3", "\U00016ff4"]
SPACES = [" ", " ", " ", "  ", "   ", "\t", "\n", "\n\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\xa0", "\u1680", "\u180e",
          "\u2003", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\u200b", "\ufeff"]
MARKS = ["\u0300", "\u0301", "\u0308", "\u0323", "\u0327", "\u0338", "\u0344", "\u0345", "\u05b0", "\u064b", "\u093c", "\u0f71",
         "\u0f72", "\u1ab0", "\u1acf", "\u20e3", "\u3099", "\ufe0f", "\U0001d165", "\U0001e8d0", "\U00011938", "\U00010eac"]
PUNCTUATION = list(".,;:!?-_/\\()[]{}<>|@#$%^&*+=~`\"'’“”…—。、！") + ["\x00", "\x01", "\x1f", "\x7f", "\xad"]
EMOJI = ["🙂", "👍🏽", "👨\u200d👩\u200d👧", "🇩🇪", "❤\ufe0f", "1\ufe0f\u20e3", "\U0001fae8"]
BIDI = ["\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069", "\u061c"]
CONTRACTIONS = ["'s", "'S", "'t", "'re", "'RE", "'vE", "'m", "'ll", "'lL", "'d", "'ſ", "'l", "''s", "’s", " 's"]
CONTROL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>", "<tool_call>", "<|im_", "|>", "<|begin_of_text|>",
           "<|eot_id|>", "<l>", "<r>", "<lr>", "<n>", "<l><r>", "word", "robot", "a b", "  x", "한국", "e\u0301e\u0301"]
HANGUL = ["\u1100", "\u1161", "\u11a8", "\uac00", "\uac01", "\u1112", "\u1175", "\u11c2", "\u11a7"]
NFC_SENSITIVE = ["\u0958", "\u212b", "\u2126", "\u1e9b\u0323", "\u0344", "\u0f73", "\u2adc", "\uf900", "\U0002f800", "\u1026",
                 "\U0001109a", "\U0001134b", "\u09c7\u09be", "\U00011935\U00011930", "\U00016d67\U00016d67"]
WORDS = ["robot", "the", "key", "tokenizer", "antidisestablishmentarianism", "return", "日本語", "Привет", "Việt", "brutalist", " xylophone"]

GROUPS = [(LETTERS, 20), (DIGITS, 8), (SPACES, 16), (MARKS, 7), (PUNCTUATION, 10), (EMOJI, 3), (BIDI, 2), (CONTRACTIONS, 6),
          (CONTROL, 5), (HANGUL, 4), (NFC_SENSITIVE, 3), (WORDS, 8)]


def any_code_point(draw):
    """Of planes 0 to 3, mostly the first; assigned or not; no surrogates."""
    while True:
        c = draw.randrange(0x3000) if draw.random() < 0.5 else draw.randrange(0x40000)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def hard_strings(count, seed, longest=24):
    draw = random.Random(seed)
    pool = []
    for group, weight in GROUPS:
        pool += [group[i % len(group)] for i in range(weight * 60)]
    pool += [any_code_point(draw) for _ in range(60 * 12)]
    choose, length = draw.choices, draw.randrange
    strings = []
    for i in range(count):
        if i % 1000 == 0:  # other code points now and then
            pool[-60 * 12 :] = [any_code_point(draw) for _ in range(60 * 12)]
        strings.append("".join(choose(pool, k=length(1, longest))))
    return strings


def normalization_strings(count, seed):
    """Like the lines of NormalizationTest.txt: characters that decompose, between marks in any order."""
    draw = random.Random(seed)
    marks = [chr(c) for c in range(0x20000) if unicodedata.combining(chr(c))]
    whole = [chr(c) for c in range(0x2FA20) if not 0xAC00 <= c < 0xD7A4 and unicodedata.decomposition(chr(c))]
    starters = list("aAeoEN<=>\u0915\u0f40\u304b") + HANGUL
    out = []
    for _ in range(count):
        text = ""
        for _ in range(draw.randrange(1, 7)):
            text += draw.choice((draw.choice(marks), draw.choice(marks), draw.choice(whole), draw.choice(starters)))
        out.append(text)
    return out
