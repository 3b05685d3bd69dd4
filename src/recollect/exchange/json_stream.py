"""One large JSON document, read element by element.

Responsible for the elements of an array, or of the arrays in an object, without holding the whole
document. Leaves what they mean to the importers. Invariants: at most one element and one chunk are
held; numbers that JSON does not have (NaN) or that no program computes with are their digits.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Container, Iterator
from json import JSONDecoder
from typing import Final

from recollect.exchange.items import Digits

ELEMENT_MAX_CHARS: Final = 67_108_864
_STEP_CHARS: Final = 1 << 18
_DIGITS_MAX_COUNT: Final = 18
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_CLOSED: Final = (dict, list, str)  # values that end with a mark, so that the end is known


class BrokenJsonError(ValueError):
    """The document cannot be read from here on."""


def _whole_number(digits: str) -> int | Digits:
    return int(digits) if len(digits) <= _DIGITS_MAX_COUNT else Digits(digits)


def _number(digits: str) -> float | Digits:
    found = float(digits)
    return found if math.isfinite(found) else Digits(digits)


_DECODER: Final = JSONDecoder(
    parse_int=_whole_number, parse_float=_number, parse_constant=Digits, strict=False
)


def value_of(document: bytes) -> object:
    """The value of a small document, which has been read before."""
    return _DECODER.decode(document.decode())


class _Reader:
    """The text of a document, of which only what is needed is held."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._text = ""
        self._at = 0
        self._before = 0  # characters that are no longer held
        self._is_ended = False

    @property
    def place(self) -> int:
        """How many characters were read."""
        return self._before + self._at

    def next(self) -> str:
        """The next character that is not blank, without taking it; empty at the end."""
        while True:
            blanks = _BLANKS.match(self._text, self._at)
            self._at = len(self._text) if blanks is None else blanks.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, mark: str) -> bool:
        """Takes a character if it is the next one."""
        if self.next() != mark:
            return False
        self._at += 1
        return True

    def value(self) -> object:
        """The next value, whole."""
        if self.next() == "":
            raise BrokenJsonError("it ends too early")
        while True:
            try:
                found, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError as error:
                raise BrokenJsonError("it is nested too deeply") from error
            except ValueError as error:
                if self._more():
                    continue  # the value may go on in the next chunk
                raise BrokenJsonError(str(error).partition(":")[0]) from error
            length = end - self._at
            if end < len(self._text) or isinstance(found, _CLOSED) or not self._more():
                self._at += length
                return found

    def _more(self) -> bool:
        """Reads on; twice as much each time, so that a long value is not parsed too often."""
        if self._is_ended:
            return False
        if self._at:
            self._before += self._at
            self._text, self._at = self._text[self._at :], 0
        if len(self._text) > ELEMENT_MAX_CHARS:
            raise BrokenJsonError("one element of it is too long")
        parts, read = [self._text], 0
        wanted = max(_STEP_CHARS, len(self._text))
        while read < wanted and not self._is_ended:
            chunk = next(self._chunks, None)
            self._is_ended = chunk is None
            parts.append(self._decode.decode(chunk or b"", final=chunk is None))
            read += len(parts[-1])
        self._text = "".join(parts)
        return read > 0


def elements(
    chunks: Iterator[bytes], split: Container[str] | None = None
) -> Iterator[tuple[str | None, object]]:
    """The elements of an array; of an object each value, or each element of a value that is one.

    With ``split``, only values under these keys are taken apart. Each comes with the key that it
    stands under. Raises ``BrokenJsonError`` where the document is damaged; what came before it is
    good.
    """
    reader = _Reader(chunks)
    try:
        if reader.take("["):
            yield from _array(reader, None)
        elif reader.take("{"):
            yield from _object(reader, split)
        else:
            yield None, reader.value()
    except BrokenJsonError as error:
        raise BrokenJsonError(f"{error}, after character {reader.place:,}") from error


def _array(reader: _Reader, key: str | None) -> Iterator[tuple[str | None, object]]:
    if reader.take("]"):
        return
    while True:
        yield key, reader.value()
        if reader.take("]"):
            return
        _expect(reader, ",")


def _object(reader: _Reader, split: Container[str] | None) -> Iterator[tuple[str | None, object]]:
    if reader.take("}"):
        return
    while True:
        key = reader.value() if reader.next() == '"' else None
        if not isinstance(key, str):
            raise BrokenJsonError("a key is missing")
        _expect(reader, ":")
        if (split is None or key in split) and reader.take("["):
            yield from _array(reader, key)
        else:
            yield key, reader.value()
        if reader.take("}"):
            return
        _expect(reader, ",")


def _expect(reader: _Reader, mark: str) -> None:
    if not reader.take(mark):
        raise BrokenJsonError(f"{mark!r} is missing")
