"""``memory.frames``: the frames of a memory, as data.

Responsible for checking a definition and for reading and writing it. Leaves who may change it to
``lifecycle.settings.frames``. Invariant: a frame that was set can be used: its filter parses.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from recollect.errors import InvalidInput, NotFound
from recollect.index.frame_rows import frame_of
from recollect.index.reads import Reads
from recollect.lifecycle.commands import DropFrame, Erase, Expect, SetFrame
from recollect.memory.handle import answers
from recollect.memory.handle.handle import Calls, parsed_filter
from recollect.memory.handle.healed import heals
from recollect.model import validate
from recollect.model.frames import BUILT_IN, KEPT_ROWS, Frame


@heals
class Frames(Calls):
    """List, get, set and drop."""

    def list(self) -> list[Frame]:
        """The built-in frames, then those that were set, by name."""
        with self._handle.reading() as reads:
            return [*BUILT_IN.values(), *map(frame_of, reads.frames())]

    def get(self, name: str) -> Frame:
        """One frame.

        Raises:
            NotFound: The frame does not exist.
        """
        with self._handle.reading() as reads:
            return frame_named(reads, name)

    def since(self, name: str) -> str:
        """The instant at which a frame was last set.

        Raises:
            NotFound: No frame with that name was set; built-in frames are not set.
        """
        with self._handle.reading() as reads:
            row = reads.frame(validate.name(name, "frame"))
        if row is None:
            raise NotFound(f"no frame {name!r} was set")
        return row.at

    def set(
        self,
        frame: Frame | Mapping[str, object],
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Frame:
        """Set a frame, whole.

        Args:
            frame: The frame, or a mapping that is read as its JSON would be.
            idempotency_key: The same key with the same frame again does nothing more.
            expect: A position, or the id of a record with its ``seq``; ``Conflict`` if it changed
                since. A frame has no ``seq``.

        Raises:
            InvalidInput: The definition could not be parsed.
            Forbidden: The frame was set with more trust than this handle has.
        """
        checked = checked_frame(frame)
        self._handle.write((SetFrame(frame=checked),), answers.nothing, idempotency_key, expect)
        return checked

    def drop(
        self,
        name: str,
        *,
        erase: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> None:
        """Remove a frame.

        Args:
            name: The frame.
            erase: Also remove every byte of its definitions, for good; needs a person.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or the id of a record with its ``seq``; ``Conflict`` if it changed
                since. A frame has no ``seq``.

        Raises:
            NotFound: No frame with that name was set.
            Forbidden: The frame was set with more trust than this handle has.
        """
        name = validate.name(name, "frame")
        erase = validate.flag(erase, "erase")
        act = Erase(id=name, what="frame") if erase else DropFrame(name=name)
        row = self._row_of(name) if erase else None
        if row is not None:  # first and by itself: a repetition of this call is the frame alone
            self._handle.write((row,), answers.nothing, None, expect)
            expect = None
        self._handle.write((act,), answers.nothing, idempotency_key, expect)
        if erase:
            self._handle.space.purge()

    def _row_of(self, name: str) -> Erase | None:
        """What erases the row that a contract keeps beside a frame, if there ever was one."""
        with self._handle.reading() as reads:
            is_kept = reads.events_about_document(KEPT_ROWS, name)
        return Erase(id=f"{KEPT_ROWS}/{name}", what="document") if is_kept else None


def frame_named(reads: Reads, name: str) -> Frame:
    """A frame as it is at the position of these reads."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    row = reads.frame(validate.name(name, "frame"))
    if row is None:
        known = ", ".join([*BUILT_IN, *(row.name for row in reads.frames())])
        raise NotFound(f"there is no frame {name!r}", hint=f"use one of: {known}", is_seen=True)
    return frame_of(row)


def checked_frame(frame: Frame | Mapping[str, object]) -> Frame:
    """A frame whose filter parses, in its canonical words."""
    if not isinstance(frame, Frame):
        try:
            frame = msgspec.convert(frame, Frame)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"this frame could not be parsed: {error}") from error
    frame = msgspec.structs.replace(
        frame,
        name=validate.name(frame.name, "frame"),
        guarantees=validate.names(frame.guarantees, "guarantees", at_most=len(frame.guarantees)),
    )
    if frame.where is None:
        return frame
    return msgspec.structs.replace(frame, where=str(parsed_filter(frame.where, frame.unit)))
