"""Taking bodies out of a ledger's bytes.

Responsible for rewriting lines whose body an event erased. Leaves replacing the file to
``store``. Invariant: headers, their order and their hashes are never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from recollect.ledger.line import erase, seq_of


def lines_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines, each with its newline; bytes after the last newline come last as they are."""
    held: list[bytes] = []  # of a line that is not at its end yet
    for piece in pieces:
        *lines, rest = piece.split(b"\n")
        for line in lines:
            yield b"".join((*held, line, b"\n"))
            held.clear()
        held.append(rest)
    if rest := b"".join(held):
        yield rest


def without_bodies(pieces: Iterable[bytes], erased: Mapping[int, int]) -> Iterator[bytes]:
    """The same lines; those of the given events without body, marked with who erased them."""
    for line in lines_of(pieces):
        by = erased.get(seq_of(line) or 0)
        yield line if by is None else erase(line.removesuffix(b"\n"), by) + b"\n"
