"""Every witness passes the suite, and witnesses with a fault do not."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.proof.checkpoints import Checkpoint
from recollect.proof.witness import Accepted, Answer, Cosigned, Request
from recollect.store.witnesses.port import Witness
from recollect.store.witnesses.remote import RemoteWitness
from recollect.testing.witness_suite import LOGS, WitnessSuite
from recollect.testing.witnesses import MemoryWitness
from tests.witnesses.folders import created
from tests.witnesses.serving import served

KEYS = tuple(log.key.public for log in LOGS)


class TestInMemory(WitnessSuite):
    @pytest.fixture
    def witness(self) -> Witness:
        return MemoryWitness(*KEYS)


class TestInAFolder(WitnessSuite):
    @pytest.fixture
    def witness(self, tmp_path: Path) -> Witness:
        return created(tmp_path)[0]


class TestOverHttp(WitnessSuite):
    @pytest.fixture
    def witness(self, tmp_path: Path) -> Iterator[Witness]:
        behind, _ = created(tmp_path)
        with served(behind) as address:
            yield RemoteWitness(address, behind.key)


# The controls: each has one fault.


class Trusting(MemoryWitness):
    """Cosigns whatever a pinned key signed."""

    def add(self, request: Request) -> Answer:
        if any(key.name == request.checkpoint.origin for key in self._pinned):
            return self._cosigned(Accepted(request.checkpoint, request.note))
        return super().add(request)


class Forgetful(MemoryWitness):
    """Answers, and keeps nothing."""

    def _cosigned(self, accepted: Accepted) -> Cosigned:
        answer = super()._cosigned(accepted)
        self._kept.clear()
        return answer


class Welcoming(MemoryWitness):
    """Pins the key of whoever comes."""

    def add(self, request: Request) -> Answer:
        names = {key.name for key in self._pinned}
        if request.checkpoint.origin not in names:
            return self._cosigned(Accepted(request.checkpoint, request.note))
        return super().add(request)


class Careless(MemoryWitness):
    """Takes one log for the other."""

    def _latest(self, origin: str) -> Checkpoint | None:
        return super()._latest(next(iter(self._kept), origin))


class Vague(MemoryWitness):
    """Signs something else."""

    def _cosigned(self, accepted: Accepted) -> Cosigned:
        super()._cosigned(accepted)
        return Cosigned((self._key.cosign(f"{accepted.note.text}more\n", 1),))


def failing(made: Callable[..., MemoryWitness]) -> list[str]:
    """The tests of the suite that a witness does not pass."""
    failed = []
    for name, test in inspect.getmembers(WitnessSuite, inspect.isfunction):
        marks = getattr(test, "pytestmark", [])
        cases = marks[0].args[1] if marks else [None]
        for case in cases:
            given = () if case is None else (case,)
            try:
                test(WitnessSuite(), made(*KEYS), *given)
            except AssertionError:
                failed.append(name)
                break
    return failed


@pytest.mark.parametrize("kind", [Trusting, Forgetful, Welcoming, Careless, Vague])
def test_control_a_witness_with_a_fault_fails(kind: Callable[..., MemoryWitness]) -> None:
    assert failing(kind)


def test_control_a_sound_one_fails_nothing() -> None:
    assert failing(MemoryWitness) == []


def test_each_promise_of_the_port_has_a_test() -> None:
    promises = [
        line.strip()[2:-1].lower().replace(" ", "_")
        for line in (Witness.__doc__ or "").splitlines()
        if line.strip().startswith("- ")
    ]
    tests = {name for name, _ in inspect.getmembers(WitnessSuite, inspect.isfunction)}
    assert len(promises) == 12
    assert [each for each in promises if f"test_{each}" not in tests] == []
