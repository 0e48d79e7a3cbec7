"""tokenizer_probe from Python: many questions in, many answers out (see tokenizer_probe.cpp)."""

import os
import struct
import subprocess
import threading

PROBE = os.environ["OCTLM_TOKENIZER_PROBE"]  # the program; ctest sets it


class ProbeError(Exception):
    pass


class Probe:
    def __init__(self, folder):
        self.process = subprocess.Popen([PROBE, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def ask(self, questions):
        """[(op, payload)] -> payloads, or ProbeError objects in their place, in order."""
        data = b"".join(op.encode() + struct.pack("<I", len(payload)) + payload for op, payload in questions)

        def feed():
            self.process.stdin.write(data)
            self.process.stdin.flush()

        feeder = threading.Thread(target=feed)
        feeder.start()
        answers = []
        for _ in questions:
            failed, size = struct.unpack("<II", self.process.stdout.read(8))
            payload = self.process.stdout.read(size)
            answers.append(ProbeError(payload.decode()) if failed else payload)
        feeder.join()
        return answers

    def encode(self, op, texts):
        """Texts -> lists of ids, or ProbeError objects."""
        return [a if isinstance(a, ProbeError) else ids_of(a) for a in self.ask([(op, t.encode()) for t in texts])]

    def decode(self, op, id_lists):
        """Lists of ids -> bytes."""
        return self.ask([(op, struct.pack(f"<{len(ids)}i", *ids)) for ids in id_lists])


def ids_of(payload):
    return list(struct.unpack(f"<{len(payload) // 4}i", payload))


def rendered(parts):
    """The payload of op R: parts are (text, written by the user)."""
    return b"".join(struct.pack("<I", len(text.encode()) | user << 31) + text.encode() for text, user in parts)
