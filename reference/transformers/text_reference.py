"""Hugging Face's tokenizers and Transformers' chat templates as the reference for text and ids.

Compiled into the program and run by transformers_text.cpp; pytest imports the same file.
"""
import json
import os
import re
import sys

# Before the imports that read them. No hub is ever asked: a checkpoint is a folder.
for _name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_PROGRESS_BARS",
              "TRANSFORMERS_NO_ADVISORY_WARNINGS"):
    os.environ.setdefault(_name, "1")


class Refusal(Exception):
    """Something that the user can understand and mend: shown without a traceback."""


try:
    import tokenizers
    import transformers
except ModuleNotFoundError as missing:
    raise Refusal(f"{missing.name} is not installed in {sys.prefix} (Python {sys.version.split()[0]}); remedy: run "
                  f"./octlm test once, or install reference/requirements.txt into that environment") from None

# Put into a control string, it makes ordinary text of it. A private character that no text here has.
MARK = "\U0010fffd"


def byte_symbols():
    """GPT-2's spelling of the 256 bytes: printable Latin-1 for itself, the rest from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(0x100 + i) for i, byte in enumerate(others)}


def changed(value, change):
    """A copy with every string changed, keys included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [changed(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): changed(item, change) for key, item in value.items()}
    return value


class TextEngine:
    def __init__(self, folder):
        path = os.path.join(folder, "tokenizer.json")
        if not os.path.isfile(path):
            raise Refusal(f"{folder} has no tokenizer.json")
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        if not self.tokenizer.is_fast:
            raise Refusal(f"{folder}: Transformers has no fast tokenizer for it")
        self.native = self.tokenizer.backend_tokenizer
        # Transformers switches both off for every text, whatever tokenizer.json says.
        self.native.no_truncation()
        self.native.no_padding()
        document |= {"truncation": None, "padding": None}
        if (document.get("pre_tokenizer") or {}).get("type") == "ByteLevel":  # which its class may have changed
            document["pre_tokenizer"] = json.loads(self.native.pre_tokenizer.__getstate__())
        # Chat templates write their own special tokens: nothing is ever added to a text here.
        # Without a post-processor, which might trim the white space off a token's characters.
        plain = {"added_tokens": [], "normalizer": None, "post_processor": None}
        self.literal = tokenizers.Tokenizer.from_str(json.dumps(document | plain))
        self.no_added = tokenizers.Tokenizer.from_str(json.dumps(document | {"added_tokens": []}))
        # With what the files beside tokenizer.json add or change.
        decoder = self.native.get_added_tokens_decoder()
        self.added = {token.content: token_id for token_id, token in decoder.items()}
        self.plain_added = not any(getattr(token, flag) for token in decoder.values()
                                   for flag in ("lstrip", "rstrip", "single_word", "normalized"))
        longest_first = sorted(self.added, key=len, reverse=True)
        self.added_pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        vocabulary = document["model"]["vocab"]
        self.missing_bytes = {byte for byte, symbol in byte_symbols().items() if symbol not in vocabulary}

    def settings(self):
        return {"transformers": transformers.__version__, "tokenizers": tokenizers.__version__,
                "python": sys.version.split()[0], "tokenizer_class": type(self.tokenizer).__name__,
                "clean_up_tokenization_spaces": False, "add_special_tokens": False}

    def control_ids(self):
        return sorted(self.added.values())

    def token(self, token_id):
        return self.native.id_to_token(token_id) or ""

    def encode(self, texts, literal):
        """[(ids, spans, refusal)]"""
        if not literal:  # the fast way has no offsets
            return [(e.ids, [], "") for e in self.native.encode_batch_fast(texts, add_special_tokens=False)]
        encodings = self.literal.encode_batch(texts, add_special_tokens=False)
        return [(e.ids, [at for span in e.offsets for at in span], self._lost(text)) for text, e in zip(texts, encodings)]

    def _lost(self, text):
        if not self.missing_bytes:
            return ""
        lost = self.missing_bytes.intersection(text.encode())
        return f"the vocabulary lacks the byte 0x{min(lost):02X}" if lost else ""

    def decode(self, id_lists, skip_special):
        return self.native.decode_batch(id_lists, skip_special_tokens=skip_special)

    def render(self, chat):
        """(text, ids, compatible ids, origin known, refusal)"""
        chat = json.loads(chat)
        try:
            text = self._apply(chat)
            compatible = self._apply(chat, tokenize=True, return_dict=False)
        except Exception as error:  # whatever a template meets in a chat: Jinja's errors, TypeError, ...
            return "", [], [], True, f"{type(error).__name__}: {error}"
        ids = self._template_ids(chat, text, compatible)
        return text, ids or [], list(compatible), ids is not None, ""

    def _apply(self, chat, tokenize=False, **more):
        chat = dict(chat)
        return self.tokenizer.apply_chat_template(chat.pop("messages"), tools=chat.pop("tools", None), tokenize=tokenize,
                                                  **chat, **more)

    def _template_ids(self, chat, text, compatible):
        """The ids when only what the template wrote can be a control token; None when that cannot be told.

        The chat's own control strings are marked, inside or around, and the rendering carries the marks along. A
        template that looks for such a string (Qwen's splits at </think>) then renders another text, or the two
        disagree on what it wrote, and nothing can be said.
        """
        if MARK in text or not self.plain_added:
            return None
        inside = self._marked(chat, lambda control: control[0] + MARK + control[1:])
        if inside == chat:
            return list(compatible)
        try:
            written = self._written(self._apply(inside), text)
            written_too = self._written(self._apply(self._marked(chat, lambda control: MARK + control + MARK)), text)
        except Exception:  # it renders without the marks
            return None
        if written is None or written != written_too:
            return None
        ids, at = [], 0
        for begin, control in written:
            ids += self._ordinary_ids(text[at:begin]) + [self.added[control]]
            at = begin + len(control)
        return ids + self._ordinary_ids(text[at:])

    def _marked(self, chat, mark):
        change = lambda string: self.added_pattern.sub(lambda found: mark(found.group()), string)  # noqa: E731
        words = {key: changed(chat[key], change) for key in ("messages", "tools") if chat.get(key)}
        return chat | words

    def _written(self, marked, text):
        """[(where in the text, control string)] that stand in the marked rendering without a mark."""
        if marked.replace(MARK, "") != text:
            return None
        found, marks = [], 0
        for part in re.finditer(f"{MARK}(?:{self.added_pattern.pattern}){MARK}|{MARK}|{self.added_pattern.pattern}", marked):
            if part.group().startswith(MARK):
                marks += part.group().count(MARK)
            else:
                found.append((part.start() - marks, part.group()))
        return found

    def _ordinary_ids(self, text):
        return self.no_added.encode(text, add_special_tokens=False).ids
