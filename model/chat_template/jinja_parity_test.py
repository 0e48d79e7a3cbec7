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
