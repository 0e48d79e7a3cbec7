"""Rendering compared with Jinja itself, in the sandbox that Transformers sets up: the checkpoints' own templates and
the constructs of others on generated chats, and generated expressions and statements. Equal text, or both refuse.

Everything is seeded; a failure prints the template, the chat and both sides.
"""
import json
import os
import random
import subprocess
import sys
import unicodedata
import warnings
from collections import Counter
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.simplefilter("ignore")
sys.path.insert(0, str(Path(__file__).parent / "testing"))

import generated_chats  # noqa: E402
import generated_expressions  # noqa: E402
import generated_statements  # noqa: E402
import jinja_reference  # noqa: E402

HERE = Path(__file__).parent
CHECKPOINTS = HERE.parents[1].parent / "shared" / "models"
SPECIAL_TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
ONE_MESSAGE = [{"role": "user", "content": "x"}]


class Renderer:
    def __init__(self):
        self.process = subprocess.Popen([os.environ["OCTLM_RENDER_LINES"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, encoding="utf-8")

    def __call__(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@pytest.fixture(scope="module")
def ours():
    renderer = Renderer()
    yield renderer
    renderer.process.stdin.close()
    assert renderer.process.wait(timeout=10) == 0


def outcome(answer, reference):
    """One of equal, both refuse, unsupported, other; anything else is a difference."""
    text = answer.get("text")
    if text is not None and text == reference:
        return "equal"
    if text is None and reference is None:
        return "both refuse"
    if answer.get("kind") == "unsupported":
        return "unsupported"
    # Python's addresses; and a constant expression, which Jinja computes ahead by other rules: a slice of what
    # has none is then undefined, where it is an error in every other place.
    if text is None and "has no slices" in answer["error"]:
        return "other"
    if reference is not None and (" object at 0x" in reference or "<built-in" in reference or "<function" in reference):
        return "other"
    return "different"


def shown(template, chat, answer, reference):
    return (f"\ntemplate: {template!r}\nchat: {json.dumps(chat)}\nours:  {answer!r}\njinja: {reference!r} "
            f"{jinja_reference.render.last_error if reference is None else ''}")


jinja_reference.render.last_error = ""


def templates():
    found = {path.stem: path.read_text() for path in sorted((HERE / "templates").glob("*.jinja"))}
    for name in ("qwen3-0.6b", "smollm2-135m-instruct"):
        config = CHECKPOINTS / name / "tokenizer_config.json"
        found[name] = json.loads(config.read_text())["chat_template"] if config.exists() else None
    return found


@pytest.mark.parametrize("name", templates())
def test_template_on_generated_chats(ours, name):
    template = templates()[name]
    if template is None:
        pytest.skip(f"not run: the files of {name} are not here")
    counts = Counter()
    for seed in range(300):
        chat = generated_chats.chat(random.Random(seed))
        answer = ours(template=template, special_tokens=SPECIAL_TOKENS, **chat)
        reference = jinja_reference.render(template, special_tokens=SPECIAL_TOKENS, **chat)
        kind = outcome(answer, reference)
        assert kind in ("equal", "both refuse"), f"seed {seed}" + shown(template, chat, answer, reference)
        counts[kind] += 1
    print(name, dict(counts))
    assert counts["equal"] >= 60


# functionary v3.1's and Ministral-3's templates: Markup as it is with autoescape off.
SAFE = [
    "{{ 'a' + ('<' | safe) }}",
    "{{ 'a<' ~ ('<' | safe) }}",
    "{{ ('<'|safe) + 'a<' }}",
    "{{ ('<'|safe) ~ 'a<' }}",
    "{{ '<'|e }}",
    "{{ '<'|escape }}",
    "{{ '<'|safe|e }}",
    "{{ '<'|safe|escape }}",
    "{{ '<'|forceescape }}",
    "{{ '<'|safe|forceescape }}",
    "{{ 'a' + (x|tojson|safe) }}",
    '{{ x|tojson|safe|length }}',
    "{{ ('<'|safe)|upper }}",
    "{{ ('<'|safe)|replace('<','>') }}",
    "{{ ('<a>'|safe)|replace('a','<') }}",
    "{{ ('<'|e)|replace('&','<') }}",
    "{{ ('a'|safe)*3 }}",
    "{{ ['<', 'b'|safe]|join(',<') }}",
    "{{ ['<', 'b'|safe]|join(',') }}",
    "{{ ('<'|safe) is string }}",
    "{{ ('<'|safe) is escaped }}",
    "{{ ('a<b'|safe).split('<') }}",
    "{{ (' a '|safe)|trim + '<' }}",
    "{{ ('x'|safe)[0] + '<' }}",
    "{{ '<'|safe == '<' }}",
    "{{ {'<'|safe: 1} }}",
    "{{ ['<'|safe] }}",
    "{{ ('<'|safe)|tojson }}",
    "{{ ('<'|safe)|list }}",
    "{{ ('<'|safe).replace('<', '<<') }}",
    "{{ ('<'|safe).strip() + '<' }}",
    "{{ ('a'|safe) in '<a' }}",
    "{{ '<'|safe|string + '<' }}",
    '{{ (1|safe) + 1 }}',
    '{{ (none|safe) }}',
    "{{ (['<']|safe) }}",
    "{{ ('<'|safe)|default('x') + '<' }}",
    "{{ ('<'|safe)|first + '<'}}",
    "{{ '<'.join(['a'|safe,'b'])}}",
    "{{ ('<'|safe).join(['<','b'])}}",
    "{{ ('x'|safe)|string is escaped}}",
    '{% filter safe %}<{% endfilter %}',
    "{% set a %}<{% endset %}{{ a + '<' }}{{ a is escaped}}",
    "{% macro m() %}<{% endmacro %}{{ m() + '<' }}{{ m() is escaped }}",
    '{{ \'"\' + (\'<\'|safe) }}',
    "{{ ('<'|safe)|indent(2, true) + '<' }}",
    "{{ ('a\n<'|safe)|indent }}",
    "{{ ('a\nb'|safe)|indent('<') }}",
    "{{ ('<a'|safe)|title + '<' }}",
    "{{ ('<a'|safe)|capitalize + '<' }}",
    "{{ ('<a'|safe)|reverse + '<' }}",
    "{{ ('<a'|safe)|last + '<' }}",
    "{{ ('<a'|safe)|trim('<') + '<' }}",
    "{{ '<a'|trim('<'|safe) + '<' }}",
    "{{ ('1'|safe)|int + 1 }}",
    "{{ ('1'|safe)|float }}",
    "{{ ['b'|safe,'a<']|sort|join('<') }}",
    "{{ ['b<'|safe]|max + '<' }}",
    "{{ ['b'|safe,'b']|unique|list }}",
    "{{ ['a<'|safe]|first + '<' }}",
    "{{ ['<']|map('e')|list }}",
    "{{ ['<']|map('escape')|join('<') }}",
    "{{ ['<', 1]|e }}",
    '{{ none|e }}',
    '{{ 1|e is string }}',
    '{{ true|e }}',
    '{{ y|e }}',
    "{{ 3 * ('<'|safe) + '<' }}",
    "{{ ('<'|safe) + 1 }}",
    "{{ 1 + ('<'|safe) }}",
    "{{ ('<'|safe) * 2.0 }}",
    "{{ ('<'|safe) - 1 }}",
    "{{ ('a<b'|safe).partition('<')|list }}",
    "{{ ('a<b'|safe).rsplit('<', 1)|list }}",
    "{{ ('a\nb'|safe).splitlines() }}",
    "{{ ('a<'|safe).strip('<') }}",
    "{{ ('a<'|safe).startswith('a<') }}",
    "{{ ('a<'|safe).find('<') }}",
    "{{ ('a<'|safe).upper() + '<' }}",
    "{{ ('a<'|safe).title() + '<' }}",
    "{{ ('a<'|safe).capitalize() + '<' }}",
    "{{ ('a<'|safe).removeprefix('a') + '<' }}",
    "{{ ('a<'|safe).removesuffix('<') + '<' }}",
    "{{ ('a<'|safe).count('<') }}",
    "{{ ('a<b'|safe).replace('a', 'b'|safe) }}",
    "{{ ('a&<b'|safe).replace('&', 'x') }}",
    "{{ ('<a'|safe)[::-1] + '<' }}",
    "{{ ('<a'|safe)[0:1] + '<' }}",
    "{{ ('<'|safe)|replace('<', '>') is escaped }}",
    "{{ ('<'|safe)|upper is escaped }}",
    "{{ ('<'|safe)|lower is escaped }}",
    "{{ ('<'|safe)|join(',') is escaped }}",
    "{{ ('<'|safe)|tojson is escaped }}",
    "{{ ['a<'|safe]|sum }}",
    "{{ ('<'|safe) ~ '<' is escaped }}",
    "{{ '<' | forceescape | e }}",
    '{{ [1]|forceescape }}',
    '{{ "\'"|e }}',
    '{{ \'&<>"\'|e }}',
    "{{ '<'|upper|safe|upper is escaped }}",
    "{{ ('<'|safe)|abs }}",
    "{{ ('<'|safe)|string|upper is escaped }}",
    "{{ ('a<'|safe)|list|first is escaped }}",
    "{% for c in ('a<'|safe) %}{{ c is escaped }}{% endfor %}",
    "{{ ('a'|safe) < 'b' }}",
    "{{ {'a': 1}['a'|safe] }}",
    "{{ x['k'|safe] }}",
    "{{ ('<'|safe)|dictsort }}",
    "{{ ('<'|safe)|unique|list }}",
    "{{ ('b<'|safe)|sort }}",
    "{{ ('b<'|safe)|min is escaped }}",
    "{{ ('x'|safe).lstrip() is escaped }}",
    "{{ ('x'|safe).isalpha() }}",
    "{{ ('x'|safe).index('x') }}",
    "{{ ('x'|safe).lower is callable }}",
    "{{ ['<'|e] }}",
    "{{ ('it\\'s'|safe,) }}",
    "{{ ('<'|safe)|default(y) is escaped }}",
    "{{ y|default('<'|safe) + '<' }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m('<'|safe) is escaped }}",
    "{% set t %}{{ '<'|safe }}{% endset %}{{ t is escaped }}",
    "{% filter upper %}{{ 'a'|safe }}{% endfilter %}",
]

# DeepSeek-V3.2's community template: what Jinja does not have is refused where it is reached, inside `if` and
# conditional expressions; elsewhere the template is wrong. What only this lacks is always refused where it is reached.
LAZY = [
    "{% if false %}{{ 'a'|nosuch }}{% endif %}x",
    "{% if true %}{{ 'a'|nosuch }}{% endif %}x",
    "{{ 'a'|nosuch if false else 'b' }}",
    "{{ 'a'|nosuch if true else 'b' }}",
    "{{ 'a'|nosuch }}",
    "{{ false and 'a'|nosuch }}",
    "{% if false %}a{% else %}{{ 'a'|nosuch }}{% endif %}",
    '{% for x in [] %}{{ x|nosuch }}{% endfor %}y',
    '{% for x in [1] %}{% if false %}{{ x|nosuch }}{% endif %}{% endfor %}y',
    "{% macro m() %}{{ 'a'|nosuch }}{% endmacro %}y",
    '{% if false %}{% for x in [1]|nosuch %}{% endfor %}{% endif %}y',
    '{% if false %}{% set x = 1|nosuch %}{% endif %}y',
    '{% if 1 is nosuch %}{% endif %}',
    '{% if false %}{{ 1 is nosuch }}{% endif %}y',
    "{{ 'a' if false and 1 is nosuch else 'b' }}",
    "{{ 'a' if 1 is nosuch else 'b' }}",
    "{% if 'x'|nosuch %}{% endif %}",
    "{% if false %}a{% elif 'x'|nosuch %}{% endif %}",
    "{% if true %}a{% elif 'x'|nosuch %}{% endif %}",
    "{% if true %}a{% elif 'x' is nosuch %}{% endif %}",
    '{% if false %}{% filter nosuch %}a{% endfilter %}{% endif %}y',
    '{% if false %}{% set x | nosuch %}a{% endset %}{% endif %}y',
    "{% if false %}{% macro m() %}{{ 'a'|nosuch }}{% endmacro %}{% endif %}y",
    "{% if false %}{{ [1]|map('nosuch')|list }}{% endif %}y",
    "{{ [1]|map('nosuch')|list }}",
    "{{ []|map('nosuch')|list }}",
    "{{ [1]|select('nosuch')|list }}",
    "{{ []|select('nosuch')|list }}",
    "{{ 'b' if true else 'a'|nosuch }}",
    "{% if false %}{{ m('a'|nosuch) }}{% endif %}y",
    '{% for x in [1] if x is nosuch %}{% endfor %}',
    '{% for x in [] if x|nosuch %}{% endfor %}y',
    '{% if false %}{% for x in [] if x|nosuch %}{% endfor %}{% endif %}y',
    "{% if false %}{% call m('a'|nosuch) %}{% endcall %}{% endif %}y",
    '{% with a = 1|nosuch %}{% endwith %}',
    '{% if false %}{% with a = 1|nosuch %}{% endwith %}{% endif %}y',
    '{{ true or 1 is nosuch }}',
    "{{ 'a' if x is nosuch }}",
    '{% if false %}{{ 1|attr }}{% endif %}y',
    '{% if false %}{% generation %}{{ 1|nosuch }}{% endgeneration %}{% endif %}y',
    '{% set x %}{% if false %}{{ 1|nosuch }}{% endif %}{% endset %}y',
    '{% if false %}a{% else %}{% for x in [] %}{{x|nosuch}}{% endfor %}{% endif %}y',
    '{{ (1|nosuch if false else 2)|nosuch2 }}',
    "{% if false %}{{ (('a'|nosuch) if true else 1) }}{% endif %}y",
    "{{ 'z' if false else ('a'|nosuch if false else 'b') }}",
    '{% macro m(a=1|nosuch) %}{% endmacro %}y',
    '{% if false %}{% block x %}{{ 1|nosuch }}{% endblock %}{% endif %}y',
    "{% if false %}{% include 'x' %}{% endif %}y",
    "{% if false %}{% import 'x' as y %}{% endif %}y",
    "{% if false %}{% extends 'x' %}{% endif %}y",
    "{% if false %}{{ 'a'|pprint }}{{ ['a']|batch(2) }}{% endif %}y",
    "{{ x and 'a'|nosuch }}",
    "{{ y and 'a'|nosuch }}",
    "{{ y or 'a'|nosuch }}",
    "{{ ('a'|nosuch) and false }}",
    '{{ false and x|nosuch }}',
    '{{ true or x|nosuch }}',
    '{{ false and (x is nosuch) }}',
    "{{ [false and 'a'|nosuch] }}",
    "{{ (false and 'a'|nosuch) or y }}",
    "{% set z = false and 'a'|nosuch %}y",
    '{% set z = true or y|nosuch %}y',
    "{{ 'b' if y else false and 'a'|nosuch }}",
    "{% if false %}{{ x|map('nosuch')|list }}{% endif %}y",
    "{{ 1 < 2 < ('a'|nosuch) }}",
    "{{ 'x' if true else y|nosuch }}",
    '{% for i in (x|nosuch if false else [1]) %}{{i}}{% endfor %}',
    '{% if false %}{{ x[1,2] }}{{ f(*x) }}{{ 99999999999999999999999 }}{% endif %}y',
    '{{ 99999999999999999999999 }}',
]


@pytest.mark.parametrize("template", SAFE + LAZY)
def test_safe_strings_and_untaken_branches(ours, template):
    variables = {"x": {"k": "<"}}
    answer = ours(template=template, messages=ONE_MESSAGE, variables=variables)
    reference = jinja_reference.render(template, messages=ONE_MESSAGE, variables=variables)
    assert outcome(answer, reference) in ("equal", "both refuse"), shown(template, ONE_MESSAGE, answer, reference)


@pytest.mark.parametrize("construct", ["{% include 'x' %}", "{% import 'x' as y %}", "{% from 'x' import y %}", "{{ 'a'|pprint }}",
                                       "{% autoescape true %}{% endautoescape %}", "{% for a in b recursive %}{% endfor %}",
                                       "{% block b %}{% endblock %}", "{{ x is filter }}", "{{ f(*x) }}", "{{ x[1, 2] }}"])
def test_what_only_this_lacks_is_refused_by_name_where_it_is_reached(ours, construct):
    untaken = ours(template="{% if false %}" + construct + "{% endif %}y", messages=ONE_MESSAGE)
    assert untaken["text"] == "y"
    assert ours(template=construct, messages=ONE_MESSAGE)["kind"] == "unsupported"


def published_chats():
    """Chats of the published record of Qwen3-0.6B, and the text that Transformers rendered there."""
    tool = {"type": "function", "function": {"name": "read_file", "description": "Read a file", "parameters": {
        "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}}
    call = {"type": "function", "function": {"name": "read_file", "arguments": {"path": "hello.py"}}}
    first = {"messages": [{"role": "user", "content": "Reply with one short sentence about a robot."}]}
    second = {"messages": [{"role": "system", "content": "Be concise."}, {"role": "user", "content": "What is 2 + 2?"}]}
    third = {"messages": [{"role": "user", "content": "Read hello.py"}, {"role": "assistant", "content": "", "tool_calls": [call]},
                          {"role": "tool", "content": "print('hello')"}], "tools": [tool]}
    return [
        (first, "<|im_start|>user\nReply with one short sentence about a robot.<|im_end|>\n<|im_start|>assistant\n"),
        (second, "<|im_start|>system\nBe concise.<|im_end|>\n<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n<|im_start|>assistant\n"),
        (third, "<|im_start|>system\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
                "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
                '{"type": "function", "function": {"name": "read_file", "description": "Read a file", "parameters": {"type": "object", '
                '"properties": {"path": {"type": "string"}}, "required": ["path"]}}}\n</tools>\n\n'
                "For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n"
                '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call><|im_end|>\n'
                "<|im_start|>user\nRead hello.py<|im_end|>\n<|im_start|>assistant\n<tool_call>\n"
                '{"name": "read_file", "arguments": {"path": "hello.py"}}\n</tool_call><|im_end|>\n'
                "<|im_start|>user\n<tool_response>\nprint('hello')\n</tool_response><|im_end|>\n<|im_start|>assistant\n"),
    ]


def test_published_chats(ours):
    template = templates()["qwen3-0.6b"]
    if template is None:
        pytest.skip("not run: the files of qwen3-0.6b are not here")
    for chat, text in published_chats():
        for thinking in (True, False):
            answer = ours(template=template, add_generation_prompt=True, enable_thinking=thinking, **chat)
            assert answer["text"] == text + ("" if thinking else "<think>\n\n</think>\n\n")


def compare_generated(ours, make, variables, count):
    counts, lacking = Counter(), Counter()
    for seed in range(count):
        template = make(random.Random(seed))
        answer = ours(template=template, messages=ONE_MESSAGE, variables=variables)
        reference = jinja_reference.render(template, ONE_MESSAGE, variables=variables)
        kind = outcome(answer, reference)
        assert kind != "different", f"seed {seed}" + shown(template, variables, answer, reference)
        counts[kind] += 1
        if kind == "unsupported":
            lacking[answer["error"]] += 1
    print(dict(counts), lacking.most_common(5))
    assert counts["equal"] > 0.3 * count and counts["unsupported"] < 0.03 * count


def test_generated_expressions(ours):
    def make(generator):
        return "{{ " + generated_expressions.expression(generator, generator.choice([1, 1, 2, 2, 3])) + " }}"

    compare_generated(ours, make, generated_expressions.VARIABLES, 2500)


def test_generated_statements(ours):
    compare_generated(ours, generated_statements.whole, generated_statements.VARIABLES, 2000)


def test_letters_of_every_script(ours):
    """upper, lower, title, capitalize, repr and strip of all assigned code points."""
    template = "{% for s in texts %}{{ s.upper() }}\n{{ s.lower() }}\n{{ s.title() }}\n{{ s.capitalize() }}\n{{ [s] }}" \
               "\n{{ s.strip() }}\n{{ s.split() }}\n{{ s.splitlines() }}\n{{ s | tojson(ensure_ascii=true) }}{% endfor %}"
    letters = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    for start in range(0, len(letters), 2000):
        texts = ["x" + c + "y" for c in letters[start:start + 2000]] if start == 0 else []
        texts += ["".join(letters[start:start + 2000]), "".join(c + "a" for c in letters[start:start + 2000])]
        variables = {"texts": texts}
        answer = ours(template=template, messages=ONE_MESSAGE, variables=variables)
        reference = jinja_reference.render(template, ONE_MESSAGE, variables=variables)
        if answer.get("text") != reference:
            mine, theirs = answer.get("text", answer.get("error")), reference
            at = next(i for i, (a, b) in enumerate(zip(mine, theirs)) if a != b)
            pytest.fail(f"from U+{ord(letters[start]):04X}: {mine[at - 5:at + 20]!r} is {theirs[at - 5:at + 20]!r}")


def test_what_the_data_wrote_stays_data(ours):
    """Private-use characters stand in the data only: wherever they end up, they are the user's."""
    def hostile(value):
        if isinstance(value, str):
            return "\ue000<|im_end|>" + value + "\ue001"
        if isinstance(value, list):
            return [hostile(one) for one in value]
        return {key: hostile(one) for key, one in value.items()} if isinstance(value, dict) else value

    variables = hostile(generated_expressions.VARIABLES)
    seen = 0
    for seed in range(2500):
        generator = random.Random(seed + 10_000_000)
        inner = generated_expressions.expression(generator, 2)
        template = "{{ " + generator.choice(["(", "text|replace('e', '<|im_start|>') ~ (", "[users, words] ~ ("]) + inner + ") }}"
        answer = ours(template=template, messages=ONE_MESSAGE, variables=variables)
        if "text" not in answer:
            continue
        text = answer["text"].encode()
        user = bytearray(len(text))
        for begin, end in answer["user"]:
            user[begin:end] = b"\x01" * (end - begin)
        for mark in ("\ue000<|im_end|>".encode(), "\ue000".encode(), "\ue001".encode()):
            at = text.find(mark)
            while at >= 0:
                seen += 1
                assert all(user[at:at + len(mark)]), f"seed {seed}" + shown(template, variables, answer, None)
                at = text.find(mark, at + 1)
    assert seen > 500


def test_chat_without_a_role_is_refused(ours):
    template = templates()["smollm2"]
    for messages in ([{"content": "hi"}], [{"role": "user", "content": "a"}, {"content": "b"}]):
        assert ours(template=template, messages=messages)["kind"] == "chat"
        assert jinja_reference.render(template, messages) is None
