"""What Jinja itself makes of a template, in the sandbox that Transformers sets up for chat templates."""
import datetime
import json

from transformers.utils import chat_template_utils

NOW = datetime.datetime(2024, 7, 26, 14, 5, 9)  # the clock of testing/render_lines.cpp


class StoppedClock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


chat_template_utils.datetime = StoppedClock


def compiled(template):
    """Transformers' own environment: ImmutableSandboxedEnvironment, its tojson, its globals."""
    return chat_template_utils._compile_jinja_template(template)


def render(template, messages, tools=None, add_generation_prompt=False, special_tokens=None, variables=None, **thinking):
    """The text, or None when Jinja refuses."""
    try:
        given = {**(special_tokens or {}), **(variables or {}), **thinking}
        return compiled(template).render(
            messages=messages, tools=tools, documents=None, add_generation_prompt=add_generation_prompt, **given)
    except Exception as error:  # whatever Python raises inside a template
        render.last_error = f"{type(error).__name__}: {error}"
        return None


def round_trip(chat):
    """As our side reads it: through JSON."""
    return json.loads(json.dumps(chat))
