"""``memory.frames``: the frames of a memory, as data.

Responsible for checking a definition and for reading and writing it. Leaves who may to
``lifecycle.frames``. Invariant: a frame that was set can be used: its filter parses.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from recollect.errors import InvalidInput, NotFound
from recollect.index.reads import Reads
from recollect.index.rows import frame_of
from recollect.lifecycle.commands import DropFrame, Erase, SetFrame
from recollect.memory.handle import Handle, parsed_filter
from recollect.memory.healing import heals
from recollect.model import validate
from recollect.model.frames import BUILT_IN, Frame
from recollect.store.port import Outcome


@heals
class Frames:
    """List, get, set and drop."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def list(self) -> list[Frame]:
        """The built-in frames, then those that somebody set, by name."""
        with self._handle._space.reading(self._handle._at) as reads:
            return [*BUILT_IN.values(), *map(frame_of, reads.frames())]

    def get(self, name: str) -> Frame:
        """One frame."""
        with self._handle._space.reading(self._handle._at) as reads:
            return frame_named(reads, name)

    def since(self, name: str) -> str:
        """When a frame that somebody set was set as it is."""
        with self._handle._space.reading(self._handle._at) as reads:
            row = reads.frame(validate.name(name, "frame"))
        if row is None:
            raise NotFound(f"nobody set a frame {name!r}")
        return row.at

    def set(self, frame: Frame | Mapping[str, object], *, command: str | None = None) -> Frame:
        """Lets a frame be as stated, whole; a mapping is read as its JSON would be."""
        checked = checked_frame(frame)
        self._handle._write((SetFrame(frame=checked),), _nothing, command)
        return checked

    def drop(self, name: str, *, erase: bool = False, command: str | None = None) -> None:
        """Takes a frame away; with ``erase`` every byte of it, for good."""
        name = validate.name(name, "frame")
        if erase:
            self._handle._write((Erase(id=name, what="frame"),), _nothing, command)
            self._handle._space.purge()
        else:
            self._handle._write((DropFrame(name=name),), _nothing, command)


def frame_named(reads: Reads, name: str) -> Frame:
    """A frame as it is at the position of these reads."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    row = reads.frame(validate.name(name, "frame"))
    if row is None:
        known = ", ".join([*BUILT_IN, *(row.name for row in reads.frames())])
        raise NotFound(f"there is no frame {name!r}", hint=f"use one of: {known}")
    return frame_of(row)


def checked_frame(frame: Frame | Mapping[str, object]) -> Frame:
    """A frame whose filter parses, in its canonical words."""
    if not isinstance(frame, Frame):
        try:
            frame = msgspec.convert(frame, Frame)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"this is no frame: {error}") from error
    frame = msgspec.structs.replace(
        frame,
        name=validate.name(frame.name, "frame"),
        guarantees=validate.names(frame.guarantees, "guarantees", at_most=len(frame.guarantees)),
    )
    if frame.where is None:
        return frame
    return msgspec.structs.replace(frame, where=str(parsed_filter(frame.where, frame.unit)))


def _nothing(reads: Reads, outcome: Outcome) -> None:
    """Nothing has to be read after it."""
