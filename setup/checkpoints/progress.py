"""Progress of long work on stderr: a bar on a terminal, else a line every ten seconds."""
import sys
import time

MB = 1_000_000


def say(text):
    print(f"[octlm] {text}", file=sys.stderr, flush=True)


class Progress:
    """`with Progress("drawing weights", total_bytes) as progress: progress.add(n)`"""

    def __init__(self, label, total_bytes):
        self.label, self.total, self.done = label, total_bytes, 0
        self.bar = sys.stderr.isatty()
        self.shown_at = time.monotonic()

    def add(self, count):
        self.done += count
        now = time.monotonic()
        if now - self.shown_at >= (0.1 if self.bar else 10.0):
            self.shown_at = now
            self._show()

    def _show(self):
        share = self.done / self.total if self.total else 1.0
        text = f"{self.label}: {self.done // MB} of {self.total // MB} MB ({share:.0%})"
        if self.bar:
            cells = int(share * 24)
            print(f"\r[octlm] {'█' * cells}{'░' * (24 - cells)} {text}\033[K", end="", file=sys.stderr, flush=True)
        else:
            say(text)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.bar:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        return False
