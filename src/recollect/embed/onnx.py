"""Sentence encoders from a folder the user provides: ``model*.onnx`` and ``tokenizer.json``.

Responsible for running one with onnxruntime and for the mean over its tokens. Leaves getting the
folder to the user: nothing is downloaded here. Invariants: no number of an encoder is used
unchecked, and whatever fails in it is Unavailable; each piece is encoded alone. In a batch,
an encoder with 8-bit weights scales its numbers by all texts of the batch, so that other texts, of
any trust, would change a text's vector (measured: a cosine of .992 with itself); and on a laptop
with few cores a batch was no faster.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from recollect.embed.cut import SENTENCE_MAX_WORDS, sentences
from recollect.embed.rows import unit
from recollect.errors import ConfigError, Unavailable, Unsupported

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    from recollect.embed.port import Matrix, Vector

_TOKENS_MAX_COUNT: Final = 256  # of one piece; a sentence of 60 words has about 80
_THREADS_MAX_COUNT: Final = 2
_DIMENSIONS_MAX_COUNT: Final = 16_384
_MOST: Final = 1e15  # of a number; the square of more has no place in single precision
_PANIC: Final = "PanicException"  # of a library in Rust
_KNOWN_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")
_PIECE_BYTES: Final = 1 << 20


class OnnxEmbedder:
    """The mean of a sentence's token vectors, each seen in its sentence."""

    grain: Final = "sentence"
    recall_max_pieces = 64

    def __init__(self, folder: Path) -> None:
        _require_installed()  # first: whoever has no runtime has not tried a folder yet
        model = _model(folder)
        self._tokens = _tokens(folder)
        self._session = _session(model)
        self._inputs = [given.name for given in self._session.get_inputs()]
        strange = sorted(set(self._inputs).difference(_KNOWN_INPUTS))
        if strange or "input_ids" not in self._inputs:
            raise Unsupported(
                f"{model} is not a supported sentence encoder: its inputs "
                f"{'include ' + ', '.join(strange) if strange else 'lack input_ids'}",
                hint="use an ONNX model exported for feature extraction",
            )
        self.dimensions = 0
        self.dimensions = len(self.embed_query("dimensions"))
        self.name = (
            f"{folder.name}-{_digest(model)} sentences-{SENTENCE_MAX_WORDS} {self.dimensions}"
        )

    def cut(self, text: str) -> list[str]:
        """Sentences: the mean over a longer text is too unspecific."""
        return sentences(text)

    def embed(self, pieces: Sequence[str]) -> Matrix:
        """A row for each piece."""
        if not pieces:
            return np.zeros((0, self.dimensions), np.float32)
        return unit(np.vstack([self._mean(piece) for piece in pieces]))

    def embed_query(self, text: str) -> Vector:
        """One row for a question."""
        row: Vector = unit(self._mean(text)[np.newaxis])[0]
        return row

    def _mean(self, piece: str) -> Vector:
        """The mean over the tokens of a piece, if it can be a vector of this memory."""
        try:
            mean = self._run(piece)
        except BaseException as error:
            # The libraries raise no narrower class, and a panic of theirs is no Exception.
            if isinstance(error, Exception) or type(error).__name__ == _PANIC:
                raise self._broken(f"failed: {type(error).__name__}") from error
            raise
        if mean.ndim != 1 or not 0 < len(mean) <= _DIMENSIONS_MAX_COUNT:
            raise self._broken(f"gave an array of the form {mean.shape}")
        if self.dimensions and len(mean) != self.dimensions:
            raise self._broken(f"gave {len(mean)} dimensions, and {self.dimensions} before")
        if not (np.abs(mean) < _MOST).all():  # also of what is not a number
            raise self._broken("gave a value that is not a number")
        return mean

    def _broken(self, how: str) -> Unavailable:
        return Unavailable(
            f"the sentence encoder {how}",
            hint="download the folder again; recall uses full text meanwhile",
        )

    def _run(self, piece: str) -> Vector:
        found = self._tokens.encode(piece)
        ids = np.array([found.ids], np.int64)
        ready = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        (hidden, *_) = self._session.run(None, {name: ready[name] for name in self._inputs})
        seen: Matrix = np.asarray(hidden, np.float32)[0]
        with np.errstate(all="ignore"):  # what is too large is refused by who asks
            mean: Vector = seen if seen.ndim == 1 else seen.mean(axis=0)
        return mean


def _model(folder: Path) -> Path:
    """The model in a folder or in its subfolder ``onnx``; the smallest if there are several."""
    # A pipe in place of a model would never end.
    found = [p for p in (*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")) if p.is_file()]
    if not found:
        raise ConfigError(
            f"there is no *.onnx file in {folder}",
            hint="name a folder with an exported encoder and its tokenizer.json",
        )
    return min(found, key=lambda path: (path.stat().st_size, path.name))


def _tokens(folder: Path) -> Tokenizer:
    """The folder's tokenizer, with our own limit instead of the one in the file."""
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ConfigError(
            f"tokenizer.json was not found in {folder}", hint="add the model's tokenizer.json"
        )
    try:
        found: Tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises no narrower class
        raise ConfigError(f"{path} could not be read", hint="download the folder again") from error
    found.no_padding()
    found.enable_truncation(_TOKENS_MAX_COUNT)
    return found


def _session(model: Path) -> InferenceSession:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(_THREADS_MAX_COUNT, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(
            str(model), sess_options=options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # the library raises no narrower class
        raise ConfigError(f"{model} could not be read", hint="download the folder again") from error


def _require_installed() -> None:
    if find_spec("onnxruntime") is None or find_spec("tokenizers") is None:
        raise Unsupported(
            "the runtime for sentence encoders is not installed",
            hint="install it with: pip install 'recollect[onnx]'",
        )


def _digest(model: Path) -> str:
    """The start of the file's hash, so that another model of the same name is told apart."""
    digest = sha256()
    with open(model, "rb") as file:
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()[:8]
