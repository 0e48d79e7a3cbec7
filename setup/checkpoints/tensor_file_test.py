import numpy as np
import pytest
import safetensors.numpy

from checkpoints.tensor_file import TensorFile

ENTRIES = [("a", "F32", [2, 3]), ("b.weight", "F32", [5])]


def test_pieces_in_any_order_read_back(tmp_path):
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(5, dtype=np.float32)
    with TensorFile(tmp_path / "f", ENTRIES) as file:
        file.append("b.weight", b[:2])
        file.append("a", a)
        file.append("b.weight", b[2:])
    read = safetensors.numpy.load_file(tmp_path / "f")
    assert list(read) == ["a", "b.weight"]
    np.testing.assert_array_equal(read["a"], a)
    np.testing.assert_array_equal(read["b.weight"], b)


def test_the_header_is_padded_to_eight_bytes(tmp_path):
    for width in range(1, 9):
        with TensorFile(tmp_path / "f", [("x" * width, "BF16", [1])]) as file:
            file.append("x" * width, b"\0\0")
        assert int.from_bytes((tmp_path / "f").read_bytes()[:8], "little") % 8 == 0


def test_a_tensor_of_the_wrong_length_is_refused(tmp_path):
    with pytest.raises(AssertionError, match="a is longer"), TensorFile(tmp_path / "f", ENTRIES) as file:
        file.append("a", bytes(25))
    with pytest.raises(AssertionError, match="b.weight is shorter"), TensorFile(tmp_path / "f", ENTRIES) as file:
        file.append("a", bytes(24))
