"""Writes unicode_tables.inc: what Hugging Face's tokenizers library believes about every code point.

    python make_unicode_tables.py > unicode_tables.inc

The library mixes several Unicode versions (its regex engine, Rust's char, the regex crate, its NFC), none
of which is the one of this machine's PCRE2 or utf8proc. So the tables are not taken from any version's
data files: each question is put to the installed library itself, for every code point.
"""

import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CATEGORIES = ["Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi",
              "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co"]


def regex_members(pattern):
    """Code points that the pattern of one character matches, in Split."""
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    found = set()
    for i in range(0, len(CODE_POINTS), 4096):
        for piece, _ in split.pre_tokenize_str("".join(map(chr, CODE_POINTS[i : i + 4096]))):
            found.update(map(ord, piece))
    return found


def digits():
    """Code points that Digits isolates (Rust's char::is_numeric)."""
    split = pre_tokenizers.Digits(individual_digits=True)
    found = set()
    for i in range(0, len(CODE_POINTS), 2048):
        text = "".join("a" + chr(c) for c in CODE_POINTS[i : i + 2048]) + "a"
        found.update(ord(piece) for piece, _ in split.pre_tokenize_str(text) if len(piece) == 1 and piece != "a")
    return found


def beside_added_token(**flags):
    """Encoding of each code point before an added token of these flags; None where it cannot be asked."""
    tokenizer = Tokenizer(models.BPE(vocab={}, merges=[]))
    tokenizer.add_tokens([AddedToken("\ue000", **flags)])
    for c in CODE_POINTS:
        if c != 0xE000:
            yield c, tokenizer.encode(chr(c) + "\ue000")


def ranges(members):
    out = []
    for c in sorted(members):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def print_numbers(name, comment, numbers):
    print(f"\n// {comment}\ninline constexpr std::uint32_t {name}[] = {{")
    line = "   "
    for number in numbers:
        word = f" 0x{number:x},"
        if len(line) + len(word) > 110:
            print(line)
            line = "   "
        line += word
    print(line + "\n};")


def main():
    category = {}
    for index, name in enumerate(CATEGORIES):
        for c in regex_members(r"\p{" + name + "}"):
            assert c not in category, hex(c)
            category[c] = index
    starts, last = [], None
    for c in CODE_POINTS:
        if category[c] != last:
            starts.append(c << 5 | category[c])
            last = category[c]
    number = {c for c in CODE_POINTS if CATEGORIES[category[c]][0] == "N"}
    space = regex_members(r"\s")
    rust_digits = digits()
    assert number <= rust_digits
    word = {c for c, e in beside_added_token(single_word=True) if not e.ids}
    base = {c for c in CODE_POINTS if CATEGORIES[category[c]] in ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd",
                                                                "Nl", "Pc")}
    assert base <= word
    assert space == {c for c, e in beside_added_token(lstrip=True) if e.offsets[0][0] == 0}
    nfc, nfd = normalizers.NFC(), normalizers.NFD()
    combining = {c for c in CODE_POINTS if nfd.normalize_str("\u0345" + chr(c)) == chr(c) + "\u0345"}
    combining.add(0x345)  # itself of the highest class there is
    decomposed = {c for c in CODE_POINTS if nfd.normalize_str(chr(c)) != chr(c)}
    assert all(nfc.normalize_str(chr(c)) == chr(c) for c in CODE_POINTS if c not in decomposed)

    print(f"// Made by make_unicode_tables.py from Hugging Face tokenizers {tokenizers.__version__}. Do not edit.\n"
          "// Ranges are pairs of first and last code point.")
    print_numbers("kCategoryStarts", "First code point << 5 | category (in the order of kCategoryNames) of every run; "
                  "surrogates count with the run before them.", starts)
    flat = lambda members: [end for pair in ranges(members) for end in pair]  # noqa: E731
    print_numbers("kSpaces", r"\s, of the regex engine and of the strip flags of added tokens.", flat(space))
    print_numbers("kDigitsBeyondNumber", "What Digits takes for a digit beyond category N (a newer Unicode).",
                  flat(rust_digits - number))
    print_numbers("kWordBeyondCategories", "Word characters for single_word beyond L, M, Nd, Nl, Pc.", flat(word - base))
    print_numbers("kCombining", "Canonical combining class other than 0, for NFC (Unicode 9.0).", flat(combining))
    print_numbers("kDecomposed", "Canonically decomposed, for NFC (Unicode 9.0).", flat(decomposed))


if __name__ == "__main__":
    sys.exit(main())
