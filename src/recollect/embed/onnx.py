"""Sentence encoders from a folder: ``model*.onnx``, ``tokenizer.json`` and what says how to run it.

Responsible for running one with onnxruntime as it was trained. Leaves reading how to
``embed.recipe`` and getting the folder to others: nothing is downloaded here. Invariants: no number
of an encoder is used unchecked, and whatever fails in it is Unavailable; a name stands for one
model, one tokenizer and one recipe; each piece is encoded alone. In a batch,
an encoder with 8-bit weights scales its numbers by all texts of the batch, so that other texts, of
any trust, would change a text's vector (measured: a cosine of .992 with itself); and on a laptop
with few cores a batch was no faster.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from recollect.embed import recipe
from recollect.embed.cut import SENTENCE_MAX_WORDS, sentences
from recollect.embed.rows import unit
from recollect.errors import ConfigError, Unavailable, Unsupported

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    from recollect.embed.port import Matrix, Vector
    from recollect.embed.recipe import Pooling, Recipe

_MODEL_MAX_BYTES: Final = 2 << 30  # of a model in one file; the format allows no more
_TOKENIZER_MAX_BYTES: Final = 64 << 20
_THREADS_MAX_COUNT: Final = 2
_DIMENSIONS_MAX_COUNT: Final = 16_384
_MOST: Final = 1e15  # of a number; the square of more has no place in single precision
_PANIC: Final = "PanicException"  # of a library in Rust
_KNOWN_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")
# Outputs by what they are called: one row that is pooled already, else a row for each token.
_OUTPUTS: Final = ("sentence_embedding", "last_hidden_state", "token_embeddings")
_NAME_MAX_CHARS: Final = 40
_PIECE_BYTES: Final = 1 << 20


class OnnxEmbedder:
    """One row for a sentence, from its tokens' vectors, each seen in its sentence."""

    grain: Final = "sentence"
    recall_max_pieces = 64

    def __init__(self, folder: Path) -> None:
        _require_installed()  # first: whoever has no runtime has not tried a folder yet
        model = _model(folder)
        self.recipe = recipe.read(folder)
        self._tokens = _tokens(folder, self.recipe)
        self._session = _session(model)
        self._inputs = [given.name for given in self._session.get_inputs()]
        strange = sorted(set(self._inputs).difference(_KNOWN_INPUTS))
        if strange or "input_ids" not in self._inputs:
            raise Unsupported(
                f"{model} is not a supported sentence encoder: its inputs "
                f"{'include ' + ', '.join(strange) if strange else 'lack input_ids'}",
                hint="use an ONNX model exported for feature extraction",
            )
        given = [each.name for each in self._session.get_outputs()]
        self._output = next((name for name in _OUTPUTS if name in given), given[0])
        self.dimensions = 0
        self.dimensions = len(self.embed_query("dimensions"))
        self.name = (
            f"{_called(folder)}-{_digest(folder, model, self.recipe)} {self.recipe} "
            f"sentences-{SENTENCE_MAX_WORDS} {self.dimensions}"
        )

    def cut(self, text: str) -> list[str]:
        """Sentences: the mean over a longer text is too unspecific."""
        return sentences(text)

    def embed(self, pieces: Sequence[str]) -> Matrix:
        """A row for each piece."""
        if not pieces:
            return np.zeros((0, self.dimensions), np.float32)
        return unit(np.vstack([self._row(self.recipe.passage + piece) for piece in pieces]))

    def embed_query(self, text: str) -> Vector:
        """One row for a question."""
        row: Vector = unit(self._row(self.recipe.query + text)[np.newaxis])[0]
        return row

    def _row(self, piece: str) -> Vector:
        """The row of a piece, if it can be a vector of this memory."""
        try:
            row = self._run(piece)
        except BaseException as error:
            # The libraries raise no narrower class, and a panic of theirs is no Exception.
            if isinstance(error, Exception) or type(error).__name__ == _PANIC:
                raise self._broken(f"failed: {type(error).__name__}") from error
            raise
        if row.ndim != 1 or not 0 < len(row) <= _DIMENSIONS_MAX_COUNT:
            raise self._broken(f"gave an array of the form {row.shape}")
        if self.dimensions and len(row) != self.dimensions:
            raise self._broken(f"gave {len(row)} dimensions, and {self.dimensions} before")
        if not (np.abs(row) < _MOST).all():  # also of what is not a number
            raise self._broken("gave a value that is not a number")
        return row

    def _broken(self, how: str) -> Unavailable:
        return Unavailable(
            f"the sentence encoder {how}",
            hint="download the folder again; recall uses full text meanwhile",
        )

    def _run(self, piece: str) -> Vector:
        found = self._tokens.encode(piece.lower() if self.recipe.lowers else piece)
        ids = np.array([found.ids], np.int64)
        ready = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        (hidden,) = self._session.run([self._output], {name: ready[name] for name in self._inputs})
        seen: Matrix = np.asarray(hidden, np.float32)[0]
        return seen if seen.ndim == 1 else _pooled(seen, self.recipe.pooling)


def _pooled(tokens: Matrix, pooling: Pooling) -> Vector:
    """One row from those of all tokens."""
    if pooling == "mean":
        with np.errstate(all="ignore"):  # what is too large is refused by who asks
            mean: Vector = tokens.mean(axis=0)
        return mean
    row: Vector = tokens[0 if pooling == "cls" else -1]
    return row


def _model(folder: Path) -> Path:
    """The model in a folder or in its subfolder ``onnx``; the smallest if there are several."""
    # A pipe in place of a model would never end.
    found = [p for p in (*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")) if p.is_file()]
    if not found:
        raise ConfigError(
            f"there is no *.onnx file in {folder}",
            hint="name a folder with an exported encoder and its tokenizer.json",
        )
    model = min(found, key=lambda path: (path.stat().st_size, path.name))
    if model.stat().st_size > _MODEL_MAX_BYTES:
        raise ConfigError(f"{model} is too large", hint="use a smaller model, of 2 GiB at most")
    return model


def _tokens(folder: Path, how: Recipe) -> Tokenizer:
    """The folder's tokenizer, with the recipe's limit instead of the one in the file."""
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ConfigError(
            f"tokenizer.json was not found in {folder}", hint="add the model's tokenizer.json"
        )
    try:
        if path.stat().st_size > _TOKENIZER_MAX_BYTES:
            raise ValueError("too large")
        found: Tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises no narrower class
        raise ConfigError(f"{path} could not be read", hint="download the folder again") from error
    found.no_padding()
    found.enable_truncation(how.tokens)
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


def _called(folder: Path) -> str:
    """The folder's name in letters that can stand in another name."""
    return re.sub(r"[^\w.-]+", "-", folder.name)[:_NAME_MAX_CHARS]


def _digest(folder: Path, model: Path, how: Recipe) -> str:
    """The start of a hash of everything that makes a row what it is: another one is another name.

    Weights in a file of their own are next to the model, with its name before theirs.
    """
    digest = sha256(msgspec.json.encode(how))
    beside = sorted(path for path in model.parent.iterdir() if path.name.startswith(model.name))
    for path in (folder / "tokenizer.json", *beside):
        if not path.is_file():
            continue
        digest.update(f"{path.name} {path.stat().st_size}\n".encode())
        with open(path, "rb") as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
    return digest.hexdigest()[:8]
