"""``memory.settings.presets``: the presets of a memory, as data.

Responsible for checking a definition and for reading and writing it. Leaves who may change it to
``lifecycle.settings.documents``. Invariant: a preset that was set can be used: its filter parses.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from recollect.errors import InvalidInput, NotFound
from recollect.index.preset_rows import preset_of
from recollect.index.reads import Reads
from recollect.lifecycle.commands import DropPreset, Erase, Expect, SetPreset
from recollect.memory.handle import answers
from recollect.memory.handle.handle import Calls, parsed_filter
from recollect.memory.handle.healed import heals
from recollect.model import validate
from recollect.model.presets import BUILT_IN, KEPT_ROWS, Preset


@heals
class Presets(Calls):
    """List, get, set and drop."""

    def list(self) -> list[Preset]:
        """The built-in presets, then those that were set, by name."""
        with self._handle.reading() as reads:
            return [*BUILT_IN.values(), *map(preset_of, reads.presets())]

    def get(self, name: str) -> Preset:
        """One preset.

        Raises:
            NotFound: The preset does not exist.
        """
        with self._handle.reading() as reads:
            return preset_named(reads, name)

    def since(self, name: str) -> str:
        """The instant at which a preset was last set.

        Raises:
            NotFound: No preset with that name was set; built-in presets are not set.
        """
        with self._handle.reading() as reads:
            row = reads.preset(validate.name(name, "preset"))
        if row is None:
            raise NotFound(f"no preset {name!r} was set")
        return row.at

    def set(
        self,
        preset: Preset | Mapping[str, object],
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Preset:
        """Set a preset, whole.

        Args:
            preset: The preset, or a mapping that is read as its JSON would be.
            idempotency_key: The same key with the same preset again does nothing more.
            expect: A position, or the id of a record with its ``seq``; ``Conflict`` if it changed
                since. A preset has no ``seq``.

        Raises:
            InvalidInput: The definition could not be parsed.
            Forbidden: The preset was set with more trust than this handle has.
        """
        checked = checked_preset(preset)
        self._handle.write((SetPreset(preset=checked),), answers.nothing, idempotency_key, expect)
        return checked

    def drop(
        self,
        name: str,
        *,
        erase: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> None:
        """Remove a preset.

        Args:
            name: The preset.
            erase: Also remove every byte of its definitions, for good; needs a person.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or the id of a record with its ``seq``; ``Conflict`` if it changed
                since. A preset has no ``seq``.

        Raises:
            NotFound: No preset with that name was set.
            Forbidden: The preset was set with more trust than this handle has.
        """
        name = validate.name(name, "preset")
        erase = validate.flag(erase, "erase")
        act = Erase(id=name, what="frame") if erase else DropPreset(name=name)
        row = self._row_of(name) if erase else None
        if row is not None:  # first and by itself: a repetition of this call is the preset alone
            self._handle.write((row,), answers.nothing, None, expect)
            expect = None
        self._handle.write((act,), answers.nothing, idempotency_key, expect)
        if erase:
            self._handle.space.purge()

    def _row_of(self, name: str) -> Erase | None:
        """What erases the row that a contract keeps beside a preset, if there ever was one."""
        with self._handle.reading() as reads:
            is_kept = reads.events_about_document(KEPT_ROWS, name)
        return Erase(id=f"{KEPT_ROWS}/{name}", what="document") if is_kept else None


def preset_named(reads: Reads, name: str) -> Preset:
    """A preset as it is at the position of these reads."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    row = reads.preset(validate.name(name, "preset"))
    if row is None:
        known = ", ".join([*BUILT_IN, *(row.name for row in reads.presets())])
        raise NotFound(f"there is no preset {name!r}", hint=f"use one of: {known}", is_seen=True)
    return preset_of(row)


def checked_preset(preset: Preset | Mapping[str, object]) -> Preset:
    """A preset whose filter parses, in its canonical words."""
    if not isinstance(preset, Preset):
        try:
            preset = msgspec.convert(preset, Preset)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"this preset could not be parsed: {error}") from error
    preset = msgspec.structs.replace(
        preset,
        name=validate.name(preset.name, "preset"),
        guarantees=validate.names(preset.guarantees, "guarantees", at_most=len(preset.guarantees)),
    )
    if preset.where is None:
        return preset
    return msgspec.structs.replace(preset, where=str(parsed_filter(preset.where, preset.unit)))
