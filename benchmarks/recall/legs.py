"""What an index gives recall, in memory: BM25 over units and sessions, and two encoders.

Responsible for standing in for the engine's index while weights are fitted. Leaves features to
``relevance``. Invariant: BM25 is that of SQLite's full text (k1 1.2, b .75, its idf), so weights
fitted here hold there; vectors have length one.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recollect.index.text import tokens

Floats = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Floats]

_K1: Final = 1.2
_B: Final = 0.75
_IDF_MIN: Final = 1e-6
ASSISTANT_WEIGHT: Final = 0.1  # of an assistant's words in its session's text
_SENTENCE_MAX_TOKENS: Final = 128
_BATCH: Final = 32


class Postings:
    """BM25 over texts that are counted words, each count with a weight."""

    def __init__(self, docs: Sequence[Counter[str]], lengths: Sequence[float]) -> None:
        found: dict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
        for place, doc in enumerate(docs):
            for term, count in doc.items():
                found[term][0].append(place)
                found[term][1].append(count)
        self._docs = {t: (np.array(p), np.array(c, np.float32)) for t, (p, c) in found.items()}
        long = np.array(lengths, np.float32)
        self._norm = _K1 * (1 - _B + _B * long / max(float(long.mean()), 1e-9))
        self._count = len(docs)

    def share(self, term: str) -> float:
        """The share of texts that hold a term."""
        return len(self._docs[term][0]) / self._count if term in self._docs else 0.0

    def idf(self, term: str) -> float:
        """How telling a term is, as SQLite reckons it."""
        held = len(self._docs[term][0]) if term in self._docs else 0
        return max(_IDF_MIN, math.log((self._count - held + 0.5) / (held + 0.5)))

    def score(self, weighted: Iterable[tuple[str, float]]) -> Floats:
        """Each text's BM25 as a share of the most that a text could have."""
        scores = np.zeros(self._count, np.float32)
        most = 0.0
        for term, weight in weighted:
            worth = weight * self.idf(term) * (_K1 + 1)
            most += worth
            if term in self._docs:
                places, counts = self._docs[term]
                scores[places] += worth * counts / (counts + self._norm[places])
        return scores / np.float32(max(most, 1e-9))


def counted(texts: Iterable[str]) -> list[Counter[str]]:
    """The tokens of each text."""
    return [Counter(tokens(text).split()) for text in texts]


def static_encoder() -> Encode:
    """Word vectors without context, averaged; the weights come with the package."""
    import wordllama  # type: ignore[import-untyped]

    model = wordllama.WordLlama.load(
        cache_dir=Path(wordllama.__file__).parent, disable_download=True
    )

    def encode(texts: Sequence[str]) -> Floats:
        return np.asarray(model.embed(list(texts), norm=True), np.float32)

    return encode


def sentence_encoder(folder: Path, threads: int = 2) -> Encode:
    """A MiniLM in ONNX from a folder, tokens averaged."""
    import onnxruntime  # type: ignore[import-untyped]
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(folder / "model_quantized.onnx"), options, providers=["CPUExecutionProvider"]
    )
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(_SENTENCE_MAX_TOKENS)
    tokenizer.no_padding()
    inputs = {node.name for node in session.get_inputs()}

    def encode(texts: Sequence[str]) -> Floats:
        encoded = [one.ids for one in tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(texts)), key=lambda place: len(encoded[place]))
        vectors = np.zeros((len(texts), 384), np.float32)
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            vectors[places] = _run(session, inputs, [encoded[place] for place in places])
        return vectors

    return encode


def _run(session: Any, inputs: set[str], batch: Sequence[Sequence[int]]) -> Floats:
    ids = np.zeros((len(batch), max(map(len, batch))), np.int64)
    mask = np.zeros_like(ids)
    for row, one in enumerate(batch):
        ids[row, : len(one)] = one
        mask[row, : len(one)] = 1
    fed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    hidden = session.run(None, {name: fed[name] for name in inputs})[0]
    summed = (hidden * mask[:, :, None]).sum(axis=1)
    found: Floats = (summed / np.linalg.norm(summed, axis=1, keepdims=True)).astype(np.float32)
    return found


class Cached:
    """An encoder that keeps the vectors of whole lists of texts in a folder, by their content."""

    def __init__(self, encode: Encode, folder: Path, name: str) -> None:
        self._encode = encode
        self._folder = folder
        self._name = name
        folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, texts: Sequence[str]) -> Floats:
        path = self._folder / f"{self._name}-{content_of(texts)}.npy"
        if path.exists():
            return np.asarray(np.load(path), np.float32)
        vectors = self._encode(texts)
        np.save(path, vectors.astype(np.float16))
        return vectors


def content_of(texts: Sequence[str]) -> str:
    """A name for a list of texts."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]
