"""Expressions of the template language: seeded, typed loosely, so that many of them are wrong on purpose."""

STRINGS = ["''", "'a'", "' b '", "'a,b,,c'", "'Hello World'", "'\\n x \\n'", "'ß ﬁ É ΑΣ'", "'<b>&\"'", "'日本 語'", "'42'",
           "' 3.50 '", "'-7'", "'1_000'", "'x'", "'abcabc'", "'it\\'s'", "'\\t\\\\'", "'aXbXc'", "'ǆ ŉ'", "'\\x7f\\u200b'"]
NUMBERS = ["0", "1", "2", "3", "-1", "7", "100", "2.5", "0.0", "1.0", "-0.5", "1e3", "0.1", "1e16", "123456789.125"]
LISTS = ["[]", "[1, 2, 3]", "['b', 'a', 'C']", "[1, 'a', none]", "(1, 2)", "(1,)", "()", "[[1], [2, 3]]", "range(4)",
         "[3, 1, 2, 1]", "['a', 'A', 'b']", "[1.5, 2, true]", "users", "[{'k': 1}, {'k': 2}]", "words"]
DICTS = ["{}", "{'a': 1}", "{'b': 2, 'a': [1, none]}", "{1: 'x', 'y': 2.0}", "user", "{'k': 'v', 'items': 3}", "dict(z=1, y=2)"]
OTHERS = ["none", "true", "false", "missing", "user.nothing", "user.name", "user.age", "words[0]", "text", "number"]
STRING_METHODS = ["upper()", "lower()", "strip()", "lstrip()", "rstrip()", "strip('a ')", "title()", "capitalize()", "split()",
                  "split(',')", "split('b', 1)", "rsplit(',', 1)", "replace('a', 'é')", "replace('', '-')", "replace('b', '', 1)",
                  "startswith('a')", "endswith(('c', '!'))", "find('b')", "rfind('c')", "count('a')", "splitlines()",
                  "partition('b')", "rpartition(',')", "join(['x', 'y'])", "removeprefix('a')", "removesuffix('c')", "isdigit()",
                  "split(maxsplit=1)", "index('l')", "lstrip('\\n')", "splitlines(true)", "format(1)", "nope()"]
FILTERS = ["upper", "lower", "trim", "length", "count", "first", "last", "list", "join", "join(', ')", "join('-', 'k')", "sort",
           "sort(reverse=true)", "sort(attribute='k')", "unique|list", "reverse|list", "reverse", "default('d')",
           "default('d', true)", "d(0)", "int", "int(5)", "float", "string", "abs", "round", "round(1)", "round(1, 'floor')",
           "round(method='ceil')", "tojson", "tojson(indent=2)", "tojson(ensure_ascii=true)", "tojson(sort_keys=true)",
           "tojson(separators=(',', ':'))", "items|list", "dictsort", "dictsort(by='value')", "map('upper')|list",
           "map(attribute='k')|list", "map(attribute='k', default=0)|join", "selectattr('k')|list", "selectattr('k', 'eq', 1)|list",
           "rejectattr('k', 'defined')|list", "select|list", "select('odd')|list", "reject('none')|list", "select('string')|list",
           "replace('a', 'b')", "capitalize", "title", "indent", "indent(2, true)", "sum", "min", "max", "map('length')|list",
           "trim('a')", "safe", "map(attribute='name')|join('/')", "select('in', [1, 2])|list"]
TESTS = ["defined", "undefined", "none", "string", "mapping", "sequence", "iterable", "number", "integer", "float", "boolean",
         "true", "false", "odd", "even", "divisibleby(2)", "eq(1)", "equalto 'a'", "ne none", "gt 1", "lt(2)", "ge 2", "le 1",
         "in [1, 'a']", "sameas(true)", "callable", "lower", "upper", "not none", "not defined"]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]
SLICES = ["[0]", "[-1]", "[1:]", "[:2]", "[::-1]", "[1:-1]", "[::2]", "[-2::-1]", "['a']", "['k']", "[5]", "[none:2]", ".k", ".a",
          ".items()|list", ".keys()|list", ".values()|list", ".get('a')", ".get('q', 'dflt')", ".name", ".0", "[10:1:-3]"]


def atom(random):
    return random.choice(random.choice([STRINGS, NUMBERS, LISTS, DICTS, OTHERS]))


def expression(random, depth):
    if depth == 0:
        return atom(random)
    inner = lambda: expression(random, depth - 1)
    kind = random.randrange(10)
    if kind == 0:
        return f"({inner()}).{random.choice(STRING_METHODS)}"
    if kind in (1, 2):
        return f"({inner()})|{random.choice(FILTERS)}"
    if kind == 3:
        return f"({inner()} is {random.choice(TESTS)})"
    if kind in (4, 5):
        return f"({inner()} {random.choice(BINARY)} {inner()})"
    if kind == 6:
        return f"({inner()}){random.choice(SLICES)}"
    if kind == 7:
        return f"({inner()} if {inner()} else {inner()})"
    if kind == 8:
        return random.choice([f"[{inner()}, {inner()}]", f"({inner()}, {inner()})", f"{{'k': {inner()}}}", f"[{inner()}]|join('+')"])
    return random.choice([f"not {inner()}", f"-{atom(random)}", f"({inner()})|tojson", f"('[' ~ {inner()} ~ ']')"])


VARIABLES = {
    "user": {"name": "Ann", "age": 30, "k": 1, "tags": ["x", "y"], "a": {"b": None}},
    "users": [{"name": "Ann", "k": 2}, {"name": "bob", "k": 1}, {"name": "Cy"}],
    "words": ["pear", "Apple", "fig", "apple"],
    "text": "Once upon a time, a little robot",
    "number": 12,
}
