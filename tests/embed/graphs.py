"""A sentence encoder small enough to be written by hand: its token vectors and nothing else.

The bytes are an ONNX graph with one node, Gather, put together field by field.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

WORDS = "[UNK] alice sits by the window bob stands at door and more words to fill it".split()
WORDS += "[CLS] [SEP] query passage : this".split()
_FLOAT, _INT64 = 1, 7


def number(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def field(key: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return number(key << 3) + number(value)
    data = value.encode() if isinstance(value, str) else value
    return number(key << 3 | 2) + number(len(data)) + data


def described(name: str, kind: int, *axes: str) -> bytes:
    shape = b"".join(field(1, field(2, axis)) for axis in axes)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def graph(vectors: np.ndarray[tuple[int, int], np.dtype[np.float32]], given: str) -> bytes:
    return _gathering(*vectors.shape, field(9, vectors.astype("<f4").tobytes()), given)


def graph_beside(place: str, rows: int, columns: int) -> bytes:
    """A graph whose vectors are in another file."""
    return _gathering(
        rows, columns, field(13, field(1, "location") + field(2, place)) + field(14, 1), "input_ids"
    )


def _gathering(rows: int, columns: int, data: bytes, given: str) -> bytes:
    node = field(1, "table") + field(1, given) + field(2, "hidden") + field(4, "Gather")
    table = field(1, rows) + field(1, columns) + field(2, _FLOAT) + field(8, "table") + data
    body = field(1, node) + field(2, "small") + field(5, table)
    body += field(11, described(given, _INT64, "batch", "length"))
    body += field(12, described("hidden", _FLOAT, "batch", "length", "width"))
    return field(1, 8) + field(7, body) + field(8, field(1, "") + field(2, 13))


def vectors_of(seed: int, width: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """The vectors of all words."""
    return np.random.default_rng(seed).standard_normal((len(WORDS), width)).astype(np.float32)


def encoder(folder: Path, *, seed: int = 1, given: str = "input_ids", width: int = 8) -> Path:
    """A folder with a model and its tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    vectors = vectors_of(seed, width)
    (folder / "model.onnx").write_bytes(graph(vectors, given))
    tokens = Tokenizer(
        WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokens.pre_tokenizer = Whitespace()
    tokens.enable_padding(length=99)  # what a file says about padding must not matter
    tokens.enable_truncation(2)
    tokens.save(str(folder / "tokenizer.json"))
    return folder


def framed(folder: Path) -> Path:
    """The folder, with a tokenizer that puts each text between two tokens of its own."""
    path = str(folder / "tokenizer.json")
    tokens = Tokenizer.from_file(path)
    marks = [(mark, WORDS.index(mark)) for mark in ("[CLS]", "[SEP]")]
    tokens.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=marks)
    tokens.save(path)
    return folder
