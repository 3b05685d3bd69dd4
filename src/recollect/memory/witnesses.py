"""The witnesses of a memory's ledger: those who keep its checkpoints elsewhere.

Responsible for who may change the list, and for creating a witness in a folder. Leaves asking them
to ``memory.proof.checkpoints`` and their files to ``store.witnesses``. Invariant: a witness is
never in the folder whose ledger it vouches for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from recollect.config import keys_folder
from recollect.errors import Ambiguous, Conflict, InvalidInput, NotFound
from recollect.memory.handle.handle import handle_of
from recollect.memory.memory import Memory
from recollect.memory.proof.checkpoints import ring_of
from recollect.model.values import WitnessKey
from recollect.proof.keys import WITNESS, PublicKey, parse_key
from recollect.store.checkpoints.key_ring import PinnedWitness, no_key
from recollect.store.files.backend import make_workspace
from recollect.store.seam import REAL, Seam
from recollect.store.witnesses import own_keys
from recollect.store.witnesses.folder import (
    FolderWitness,
    check_log,
    make_home,
    public_key,
    put_public_key,
)
from recollect.store.witnesses.requests import is_address, opened

_LIKE_A_HOST: Final = re.compile(r"[\w-]+(\.[\w-]+)*(\.[\w-]+|:\d+)")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|https?:", re.IGNORECASE)


class Witnesses:
    """Those who are asked to keep and cosign the checkpoints of a memory."""

    def __init__(self, memory: Memory) -> None:
        self._handle = handle_of(memory)
        self._handle.require_whole("a witness")
        self._handle.require_person("changing witnesses")
        self._ring = ring_of(self._handle)

    def add(self, place: str | os.PathLike[str], key: str | None = None) -> WitnessKey:
        """Asks a witness from now on.

        A folder without a witness becomes one, with a key among this person's keys. An address
        needs the witness's public key, and the person who runs it must pin the key of this ledger.
        """
        named = None if key is None else _cosigner(key)
        where = os.fspath(place)
        _check_place(where)
        found = self._at_address(where, named) if is_address(where) else self._in(where, named)
        opened(found, keys_folder(), self._handle.seam)  # refuses what could never be asked
        self._ring.add_witness(parse_key(found.key), found.place)
        return self._shown(found)

    def all(self) -> list[WitnessKey]:
        """The witnesses that are asked."""
        return [self._shown(each) for each in self._ring.witnesses()]

    def remove(self, which: str) -> WitnessKey:
        """Asks a witness no more, by its name, its key, its folder or its address."""
        place = which if is_address(which) else str(_absolute(which))
        found = [
            each
            for each in self._ring.witnesses()
            if which in (each.key, parse_key(each.key).name) or each.place in (which, place)
        ]
        if not found:
            raise NotFound(
                f"{which!r} is not a witness of this memory",
                hint="see them with: recollect proof witness list",
            )
        if len(found) > 1:
            raise Ambiguous(f"{which!r} could be several witnesses", hint="name one by its key")
        self._ring.remove_witness(found[0])
        return self._shown(found[0])

    def _at_address(self, url: str, key: PublicKey | None) -> PinnedWitness:
        if key is None:
            raise InvalidInput(
                "a witness at an address needs its public key",
                hint="get the line from the person who runs it, and add --key KEY",
            )
        return PinnedWitness(str(key), url.rstrip("/"))

    def _in(self, place: str, key: PublicKey | None) -> PinnedWitness:
        folder = _absolute(place)
        self._check_elsewhere(folder)
        seam, found = self._handle.seam, public_key(folder)
        if key is not None and key != found:
            raise Conflict(
                f"the witness in {folder} has another key" if found else f"no witness in {folder}",
                hint="leave --key out to create one there" if found is None else None,
            )
        mine = self._ring.public()
        if not mine:
            raise no_key(self._ring.ledger)
        if found is None:
            _check_new(place)
            found = create(folder, seam).key
        own = own_keys.find(keys_folder(), found)
        if own is not None:
            FolderWitness(folder, found, seam, own).pin(mine)
        return PinnedWitness(str(found), str(folder))

    def _check_elsewhere(self, folder: Path) -> None:
        near = [keys_folder().parent]
        own = Path(self._handle.space.where)
        near += [own] if own.is_absolute() else []
        for each in near:
            inner, outer = folder.resolve(), each.resolve()
            if inner.is_relative_to(outer) or outer.is_relative_to(inner):
                told = "is in" if inner.is_relative_to(outer) else "contains"
                raise InvalidInput(
                    f"{folder} {told} {each}: who can change the memory could change it too",
                    hint="name a folder elsewhere, best on another disk or machine",
                )

    def _shown(self, found: PinnedWitness) -> WitnessKey:
        key = parse_key(found.key)
        return WitnessKey(
            ledger=self._ring.ledger,
            name=key.name,
            place=found.place,
            key=found.key,
            signs=own_keys.find(keys_folder(), key) is not None,
        )


def create(folder: Path, seam: Seam = REAL) -> FolderWitness:
    """Makes a folder a witness. Its private key is kept with this person's keys."""
    make_home(folder, seam)  # first: no key may be left behind for a folder that cannot be one
    make_workspace(keys_folder().parent, seam)
    own = own_keys.create(keys_folder(), seam)
    try:
        put_public_key(folder, own.public, seam)
    except BaseException:
        own_keys.remove(keys_folder(), own.public, seam)
        raise
    return FolderWitness(folder, own.public, seam, own)


def to_serve(
    place: str, logs: Sequence[str], seam: Seam = REAL, *, new: bool = False
) -> FolderWitness:
    """The witness in a folder, with the logs that it pins; ``new`` creates a missing one."""
    _check_place(place)
    if is_address(place):
        raise InvalidInput("only a witness in a folder is served", hint="name its folder")
    folder, pinned = _absolute(place), [parse_key(line) for line in logs]
    for each in pinned:
        check_log(each)
    key = public_key(folder)
    if key is None:
        if not new:
            raise NotFound(
                f"there is no witness in {folder}",
                hint="check the name, or add --create to make a new one there",
            )
        _check_new(place)
        witness = create(folder, seam)
    else:
        own = own_keys.find(keys_folder(), key)
        if own is None:
            raise NotFound(
                f"the private key of the witness in {folder} is not on this machine",
                hint="serve it where it was created, or name another folder",
            )
        witness = FolderWitness(folder, key, seam, own)
    witness.pin(pinned)
    return witness


def _cosigner(line: str) -> PublicKey:
    key = parse_key(line)
    if key.kind != WITNESS:
        raise InvalidInput(
            f"{key.name} is the key of a ledger, not of a witness",
            hint="the key of a witness is in its witness.pub, and `serve` prints it",
        )
    return key


def _check_place(place: str) -> None:
    """Refuses what is neither a folder nor an address that can be asked."""
    if not place.strip():
        raise InvalidInput("no place was named", hint="name a folder elsewhere, or an address")
    if _SCHEME.match(place) and not is_address(place):
        raise InvalidInput(
            f"{place!r} is not an address of a witness",
            hint="an address begins with https://; name a folder that is called so with ./",
        )


def _check_new(place: str) -> None:
    """Refuses to make a folder where a name was probably mistyped."""
    folder = _absolute(place)
    if folder.exists():
        return
    if _LIKE_A_HOST.fullmatch(place):
        raise InvalidInput(
            f"there is no folder {place!r}, and it looks like the name of a server",
            hint=f"for a server: https://{place}; for a new folder: ./{place}",
        )
    if not folder.parent.is_dir():
        raise InvalidInput(
            f"there is no folder {folder.parent}",
            hint=f"check the name, or create it first: mkdir -p {folder.parent}",
        )


def _absolute(place: str) -> Path:
    return Path(place).expanduser().absolute()
