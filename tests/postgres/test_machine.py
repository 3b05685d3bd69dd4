"""The state machine of tests/memory on a server: a new space for each example."""

from __future__ import annotations

import itertools

from hypothesis import settings
from hypothesis.stateful import initialize, run_state_machine_as_test

from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.postgres.ledgers import PostgresBackend
from tests.memory.test_machine import QUIET, Machine


def machine_on(backend: PostgresBackend) -> type[Machine]:
    """The machine, bound to one server."""
    numbers = itertools.count()

    class ServerMachine(Machine):
        @initialize()
        def open(self) -> None:
            self.where = f"example {next(numbers)}"
            super().open()

        def _memory(self) -> Memory:
            return Memory(Handle(backend.space(self.where, create=True)))

    return ServerMachine


def test_the_state_machine_holds_on_a_server(database: str) -> None:
    backend = PostgresBackend(database)
    try:
        run_state_machine_as_test(
            machine_on(backend),
            settings=settings(
                max_examples=12, stateful_step_count=25, deadline=None, suppress_health_check=QUIET
            ),
        )
    finally:
        backend.close()
