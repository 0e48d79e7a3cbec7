"""The layout of the sources, as a reader sees it. Run: python3 check_layout.py ROOT

Lines fit 100 columns, no section rulers, no comment that splits a statement, no comment block that
a formatter tore, every .cpp is in a CMakeLists.txt, and the formatter leaves comments alone.
"""
import pathlib
import re
import sys

PARTS = ("model", "verify", "reference", "formats", "experiments", "bench")
CPP = (".h", ".cpp", ".inc", ".cu", ".cuh")
SCRIPT = (".py", ".sh", ".cmake")
COLUMNS = 100
FULL = 80  # a line of a comment from here on was filled
# A generator writes them, one table a line.
GENERATED = {"model/tokenizer/unicode_tables.inc"}

COMMENT = re.compile(r"\s*//(.*)")
GAP = re.compile(r"\S {3,}(?=\S)")
ENDS = re.compile(r"[.,:;!?)]$")
RULER = re.compile(r"\s*(//+|#+)\s*([-=*~#])\2{2,}|\s*(//|#)\s.*\s[-=*~]{4,}\s*$")
STRING = re.compile(r'"(?:\\.|[^"\\])*"|(?<!\w)\'(?:\\.|[^\'\\])+\'')


def without_strings(line):
    return STRING.sub(lambda match: '"' + "_" * (len(match[0]) - 2) + '"', line)


def split_comment(line):
    """The code of a line, and its trailing comment or ''."""
    at = without_strings(line).find("//")
    return (line.rstrip(), "") if at < 0 else (line[:at].rstrip(), line[at:])


def raw_string_lines(text):
    """Numbers of the lines that lie within a raw string: they are no C++."""
    inside = set()
    for match in re.finditer(r'R"(\w*)\(.*?\)\1"', text, re.S):
        first = text.count("\n", 0, match.start())
        inside.update(range(first + 1, first + match[0].count("\n") + 1))
    return inside


def long_lines(lines):
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield number, f"{len(line)} columns, at most {COLUMNS}"


def rulers(lines):
    for number, line in enumerate(lines, 1):
        if RULER.match(line):
            yield number, "a section ruler: a plain comment, or nothing"


def statement_before(lines, index):
    """The lines above lines[index] that its statement began on, joined as one line would be."""
    taken = []
    for line in reversed(lines[:index]):
        code, comment = split_comment(line)
        if comment or not code or re.search(r"^\s*(#|if\b|else\b|for\b|while\b|case\b)|[;{}]$|[\w)]:$", code):
            break
        taken.insert(0, code)
    return taken


def split_statements(lines, raw=frozenset()):
    """Comments behind a statement that made it longer than one line."""
    advice = "the comment splits its statement: it goes on a line above"
    for index, line in enumerate(lines):
        code, comment = split_comment(line)
        bare = without_strings(code).strip()
        if index in raw or not comment or not bare or bare.startswith("#"):
            continue
        if bare in ("}", "};") and not re.match(r"// *(namespace|extern)|//$", comment):
            yield index + 1, advice
        elif not re.search(r"[;{},:]$", bare):
            yield index + 1, advice
        elif bare.endswith(";"):
            before = statement_before(lines, index)
            if before:
                joined = " ".join([before[0], *(part.strip() for part in before[1:] + [code])])
                if len(re.sub(r"\( ", "(", joined)) <= COLUMNS:
                    yield index + 1, advice


def comment_blocks(lines):
    """(number of the first line, texts behind the slashes) of each run of comment lines."""
    block = []
    for number, line in enumerate([*lines, ""], 1):
        match = COMMENT.match(line)
        if match:
            block.append((line.rstrip(), match[1].rstrip()))
        elif block:
            yield number - len(block), block
            block = []


def indent_of(text):
    return len(text) - len(text.lstrip())


def torn_comments(lines):
    """What reflowing leaves of a comment whose lines meant something.

    A last word or two on a line of their own with the sentence going on below; a row of a table
    that goes on where the rows begin; two rows in one line.
    """
    for first, block in comment_blocks(lines):
        gaps = [[match.end() for match in GAP.finditer(text)] for _, text in block]
        columns = {column for row in gaps for column in row}
        for index in range(1, len(block)):
            above, text = block[index - 1][0], block[index][1]
            words = text.split()
            if not words or len(above) + 1 + len(words[0]) <= COLUMNS:
                continue  # it would have fitted: the line ends there on purpose
            begins_a_row = indent_of(text) == indent_of(block[index - 1][1])
            in_a_column = indent_of(text) in columns
            last = index + 1 == len(block) or not block[index + 1][1]
            if len(words) <= 2 and not last and not in_a_column \
                    and not ENDS.search(above) and not ENDS.search(text):
                yield first + index, "a word or two alone, torn from the line above"
            elif gaps[index - 1] and not gaps[index] and begins_a_row and indent_of(text) >= 2:
                yield first + index, "goes on where a row begins: align it with the row's text"
        for index, (line, text) in enumerate(block):
            others = [len(row) for other, row in enumerate(gaps) if other != index and row]
            if others and len(line) > FULL and len(gaps[index]) >= max(others) + 2 and indent_of(text) >= 2:
                yield first + index, "two rows of a table in one line"


def forgotten(root, path):
    """A .cpp that no CMakeLists.txt of its folder, or above it, names. A name may be made in a loop."""
    folder = path.parent
    while folder != root.parent:
        lists = folder / "CMakeLists.txt"
        if lists.is_file():
            text = re.sub(r"(?m)#.*$", "", lists.read_text())
            name = path.relative_to(folder).as_posix()
            if re.search(rf"(?<![\w./]){re.escape(name)}(?![\w.])", text):
                return False
            for suffix in re.findall(r"\$\{\w+\}(\w*\.cpp)", text):
                if name.endswith(suffix) and re.search(rf"\b{re.escape(name[:-len(suffix)])}\b", text):
                    return False
        folder = folder.parent
    return True


def sources(root):
    for part in PARTS:
        for path in sorted((root / part).rglob("*")):
            if path.suffix in CPP:
                yield path


def scripts(root):
    for folder in (*PARTS, "setup", "cmake"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SCRIPT or path.name == "CMakeLists.txt":
                yield path


def faults(root):
    """["path:line: what is wrong"] of a checkout, and the number of sources read."""
    found, read = [], 0
    for path in sources(root):
        read += 1
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        lines, raw = text.split("\n"), raw_string_lines(text)
        checks = [rulers(lines), split_statements(lines, raw), torn_comments(lines)]
        if name not in GENERATED:
            checks.append(long_lines(lines))
        found += [f"{name}:{number}: {what}" for check in checks for number, what in check]
        if path.suffix == ".cpp" and forgotten(root, path):
            found.append(f"{name}: in no CMakeLists.txt")
    for path in scripts(root):
        lines = path.read_text(encoding="utf-8").split("\n")
        found += [f"{path.relative_to(root).as_posix()}:{number}: {what}" for number, what in rulers(lines)]
    if not re.search(r"(?m)^ReflowComments: false$", (root / ".clang-format").read_text()):
        found.append(".clang-format: ReflowComments: false is missing")
    return found, read


if __name__ == "__main__":
    wrong, read = faults(pathlib.Path(sys.argv[1]).resolve())
    print(*wrong, f"{read} sources, {len(wrong)} faults", sep="\n")
    sys.exit(1 if wrong or not read else 0)
