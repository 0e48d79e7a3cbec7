"""Whole small templates: seeded, to try white space control and scopes against Jinja's."""

SPACES = ["", " ", "\n", "\n  ", "  \n", "\t", "\n\n", " \n \n ", "\r\n", "\u00a0", "\x1c\n"]
WORDS = ["a", "B.", "é", "{ ", "}", "%", "#", "{ { ", "%}", "}}", "#}", "'", "-"]
EXPRESSIONS = ["x", "'s'", "i", "ns.n", "y|default('-')", "x ~ y", "[x, 1]", "{'k': 2}['k']", "m(1)", "m(b=2)", "m()", "' lit '",
               "-1", "+1", "{'a': {'b': 1}}.a.b", "x if y else 0", "(1, 2)[1]"]
IN_LOOPS = ["loop.index", "loop.last", "loop.previtem", "loop.nextitem|default('end')", "loop.cycle('p', 'q')", "loop.length",
            "loop.revindex", "loop.changed(x)", "loop.first", "i"]


def text(random):
    return "".join(random.choice(SPACES + WORDS) for _ in range(random.randint(0, 4)))


def open_sign(random):
    return random.choice(["", "", "-", "-", "+"])


def tag(random, inside, closing=None):
    signs = ["", "", "-", "-", "+"] if closing is None else closing
    return "{%" + open_sign(random) + " " + inside + " " + random.choice(signs) + "%}"


def expression(random, loops):
    if loops > 0 and random.random() < 0.5:
        return random.choice(IN_LOOPS)
    return "loop.index" if random.random() < 0.003 else random.choice(EXPRESSIONS)


def output(random, loops):
    return "{{" + random.choice(["", "-"]) + " " + expression(random, loops) + " " + random.choice(["", "-"]) + "}}"


def block(random, depth, loops):
    inner = lambda more=0: template(random, depth - 1, loops + more)
    kind = random.randrange(15)
    if kind == 0:
        return tag(random, "if " + random.choice(["x", "y", "not x", "i == 1"])) + inner() + \
            random.choice(["", tag(random, "else") + inner(), tag(random, "elif true") + inner()]) + tag(random, "endif")
    if kind in (1, 2, 3):
        head = random.choice(["for i in [1, 2, 3]", "for i in range(3) if i != 1", "for i in []", "for x, i in [(1, 2), (3, 4)]",
                              "for i in [1, 2, 3] if ns.n < 2", "for k, i in {'a': 1}.items()", "for i in 'é\U0001f642'", "for i in [x, y]"])
        return tag(random, head) + inner(1) + random.choice(["", tag(random, "else") + inner()]) + tag(random, "endfor")
    if kind == 4:
        return tag(random, "set " + random.choice(["x = 5", "y = x", "x, y = y, x", "ns.n = ns.n + 1", "i = 9", "y = 'q' ~ i", "i = 'w'", "loop = 1" if random.random() < 0.05 else "x = 6"]))
    if kind == 5:
        return tag(random, "set " + random.choice(["x", "y", "x | upper", "y | trim | length"])) + inner() + tag(random, "endset")
    if kind == 6:
        return tag(random, "macro m(a=0, b=x)") + inner() + "{{ a }}{{ b }}" + random.choice(["", "{{ caller() if caller else 'nc' }}"]) + \
            tag(random, "endmacro")
    if kind == 7:
        return tag(random, "call m(7)") + inner() + tag(random, "endcall")
    if kind == 8:
        return tag(random, "filter " + random.choice(["upper", "trim", "replace('a', 'o') | trim"])) + inner() + tag(random, "endfilter")
    if kind == 9:
        return tag(random, "with x = 3, q = x") + "{{ q }}" + inner() + tag(random, "endwith")
    if kind == 10:
        return tag(random, "raw", ["", "-"]) + text(random) + random.choice(["{{ x }}", "{% if %}", ""]) + text(random) + tag(random, "endraw")
    if kind == 11:
        return tag(random, "generation") + inner() + tag(random, "endgeneration")
    if kind == 12 and (loops > 0 or random.random() < 0.05):
        return tag(random, "if i == 2") + tag(random, random.choice(["break", "continue"])) + tag(random, "endif")
    if kind == 13:
        return "{#" + random.choice(["", "-", "+"]) + " note {{ x }} \n" + random.choice(["", "-", "+"]) + "#}"
    return tag(random, "print " + expression(random, loops))


def template(random, depth, loops=0):
    pieces = []
    for _ in range(random.randint(1, 3)):
        pieces.append(text(random))
        pieces.append(block(random, depth, loops) if depth > 0 and random.random() < 0.7 else output(random, loops))
    return "".join(pieces) + text(random)


def whole(random):
    return random.choice(["{% set ns = namespace(n=0) %}", "{%- set ns = namespace(n=1) -%}\n"]) + \
        "{% macro m(a, b=1) %}[{{ a }}:{{ b }}{{ caller() if caller }}]{% endmacro %}" + template(random, 3)


VARIABLES = {"x": "X", "y": None}
