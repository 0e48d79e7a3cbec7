"""Writing a safetensors file tensor by tensor.

Layout: u64 little-endian header length, the JSON header padded with spaces to a multiple of 8 bytes,
then the tensors in the header's order without gaps. The header is written first, from names, types and
shapes alone; the bytes of each tensor follow at its offset, in any order and in any pieces.
"""
import json
import math

BYTES = {"F32": 4, "BF16": 2}


class TensorFile:
    """`entries` is a list of (name, dtype, shape), in file order."""

    def __init__(self, path, entries):
        header, end = {"__metadata__": {"format": "pt"}}, 0
        for name, dtype, shape in entries:
            begin, end = end, end + math.prod(shape) * BYTES[dtype]
            header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        self._header, self._data_begin, self.data_bytes = header, 8 + len(text), end
        self._written = dict.fromkeys((name for name, _, _ in entries), 0)
        self._file = open(path, "wb")
        self._file.write(len(text).to_bytes(8, "little") + text)

    def append(self, name, piece):
        """Adds the next bytes of the tensor `name`; `piece` is a contiguous array or bytes."""
        piece = memoryview(piece).cast("B")
        begin, end = self._header[name]["data_offsets"]
        at = begin + self._written[name]
        assert at + len(piece) <= end, f"{name} is longer than its shape says"
        self._file.seek(self._data_begin + at)
        self._file.write(piece)
        self._written[name] += len(piece)

    def __enter__(self):
        return self

    def __exit__(self, exception_type, *_):
        self._file.close()
        if exception_type is None:
            for name, written in self._written.items():
                begin, end = self._header[name]["data_offsets"]
                assert written == end - begin, f"{name} is shorter than its shape says"
        return False
