"""``python -m benchmarks.proof``: what signing and encrypting cost the writes, and a proof costs.

Responsible for durable writes with checkpoints by policy, and for subjects, each beside the same
writes without, and for proofs from a short and a long ledger. Leaves other calls to ``engine``.
Invariants: the two kinds of writes that are compared are measured in turns in one run, and every
block with the policy has one checkpoint in it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

import msgspec

from benchmarks.machine import commit, machine
from recollect.memory import Memory
from recollect.memory.keys import Keys

SIGN_AIM: Final = 0.95
ENCRYPT_AIM: Final = 0.85
PROVE_AIM: Final = 2.0
_BATCH: Final = 1_000
_USERS: Final = 20


class Sizes(msgspec.Struct, frozen=True):
    """How many writes, events and rounds."""

    block: int = 1_000  # writes between two checkpoints
    rounds: int = 11
    few: int = 10_000
    many: int = 1_000_000
    proofs: int = 50


FULL: Final = Sizes()
QUICK: Final = Sizes(block=100, rounds=3, few=200, many=600, proofs=5)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found."""

    sign_cost_ratio: float  # durable writes a second with checkpoints by policy ÷ without
    sign_aim: float
    writes_per_s: int  # without
    checkpoints: int
    encrypt_cost_ratio: float  # durable writes a second for subjects ÷ for users
    encrypt_aim: float
    prove_ms_10k: float
    prove_ms_1m: float
    prove_ratio: float
    prove_aim: float
    block: int
    few: int
    many: int
    reached: bool
    machine: dict[str, str | int]
    commit: str


def run(sizes: Sizes, folder: Path) -> Report:
    """Measures everything, with keys of its own."""
    with _home(folder / "home"):
        bare_s, signed_s, made = _writes(sizes, folder)
        encrypted = _encrypted(sizes, folder)
        few_ms = _proofs(folder / "few", sizes.few, sizes.proofs)
        many_ms = _proofs(folder / "many", sizes.many, sizes.proofs)
    ratio, grown = bare_s / signed_s, many_ms / few_ms
    return Report(
        sign_cost_ratio=round(ratio, 3),
        sign_aim=SIGN_AIM,
        writes_per_s=round(sizes.block / bare_s),
        checkpoints=made,
        encrypt_cost_ratio=round(encrypted, 3),
        encrypt_aim=ENCRYPT_AIM,
        prove_ms_10k=round(few_ms, 3),
        prove_ms_1m=round(many_ms, 3),
        prove_ratio=round(grown, 3),
        prove_aim=PROVE_AIM,
        block=sizes.block,
        few=sizes.few,
        many=sizes.many,
        reached=ratio >= SIGN_AIM and encrypted >= ENCRYPT_AIM and grown <= PROVE_AIM,
        machine=machine(folder),
        commit=commit(),
    )


@contextmanager
def _home(folder: Path) -> Iterator[None]:
    """A home folder for the keys of this run."""
    before = os.environ.get("HOME", "")
    folder.mkdir(parents=True)
    os.environ["HOME"] = str(folder)
    try:
        yield
    finally:
        os.environ["HOME"] = before


def _writes(sizes: Sizes, folder: Path) -> tuple[float, float, int]:
    """The median time of a block without and with the policy, and the checkpoints of the latter."""
    with (
        Memory.open(folder / "bare", embedder="none") as bare,
        Memory.open(folder / "signed", embedder="none") as signed,
    ):
        Keys(signed).create()
        signed.settings.documents.set("policy", "checkpoints", {"every_events": sizes.block})
        signed.proof.checkpoint()
        bare_s, signed_s = _in_turns([bare], [signed], sizes)
        sizes_made = signed._handle.space.checkpoints().sizes()
        return bare_s, signed_s, len(sizes_made)


def _encrypted(sizes: Sizes, folder: Path) -> float:
    """Writes a second for subjects, as a part of those for users that are none."""
    with (
        Memory.open(folder / "plain", embedder="none") as plain,
        Memory.open(folder / "encrypted", embedder="none") as encrypted,
    ):
        encrypted.settings.set_subjects("users")
        names = [f"user{number}" for number in range(_USERS)]
        plain_s, encrypted_s = _in_turns(
            [plain.scoped(user=name) for name in names],
            [encrypted.scoped(user=name) for name in names],
            sizes,
        )
        return plain_s / encrypted_s


def _in_turns(one: list[Memory], other: list[Memory], sizes: Sizes) -> tuple[float, float]:
    """The median time of a block of each, which take turns."""
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(sizes.rounds + 1):
        for handles, times in zip((one, other), taken, strict=True):
            spent = _block(handles, number, sizes.block)
            if number:  # the first round warms up
                times.append(spent)
    return median(taken[0]), median(taken[1])


def _block(handles: list[Memory], number: int, count: int) -> float:
    began = perf_counter()
    for each in range(count):
        handle = handles[each % len(handles)]
        handle.remember(f"Gate {number}.{each} opens at {each % 24} o'clock.")
    return perf_counter() - began


def _proofs(place: Path, count: int, proofs: int) -> float:
    """The median time of a proof in a ledger of so many events, in milliseconds."""
    with Memory.open(place, embedder="none") as memory:
        for first in range(0, count, _BATCH):
            with memory.batch() as batch:
                for number in range(first, min(first + _BATCH, count)):
                    batch.remember(f"Gate {number} opens at {number % 24} o'clock.")
        Keys(memory).create()
        memory.proof.checkpoint()
        rng, taken = random.Random(count), list[float]()
        for number in range(proofs + 1):
            event = rng.randint(2, count)
            began = perf_counter()
            memory.proof.prove(event=event)
            if number:
                taken.append(1_000 * (perf_counter() - began))
    return median(taken)


def table(report: Report) -> str:
    """The figures for people."""
    return "\n".join(
        [
            f"writes with checkpoints every {report.block:,} events: {report.sign_cost_ratio} of "
            f"those without (aim {report.sign_aim} or more), {report.checkpoints} checkpoints",
            f"encrypted writes for {_USERS} subjects: {report.encrypt_cost_ratio} of those for "
            f"users (aim {report.encrypt_aim} or more)",
            f"a proof: {report.prove_ms_10k} ms of {report.few:,} events, {report.prove_ms_1m} ms "
            f"of {report.many:,}: ratio {report.prove_ratio} (aim {report.prove_aim} or less)",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proof")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        report = run(QUICK if given.quick else FULL, Path(folder))
    if given.json:
        print(json.dumps(msgspec.to_builtins(report), indent=2))
    else:
        print(table(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
