"""What calls cost that are given a text: the table of the cost suite.

Responsible for the calls and for the processor time of each. Leaves the texts to ``hostile``. A
call gets a memory that holds what it needs; the time is that of all threads of the process.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

from recollect import Memory
from recollect.errors import InvalidInput
from recollect.exchange.redaction import redact, refuse_secrets
from recollect.model import limits

Act = Callable[[], object]
Prepare = Callable[[Memory, str], Act]

COST_MAX_RATIO: Final = 5.0  # of the time that a plain text of as many bytes takes
QUERY: Final = "which port has the harbour"
BEGINS: Final = "The harbour has port 4711. "


class Priced(NamedTuple):
    """A call, and how often its cost of a plain text it may have."""

    call: str
    prepare: Prepare
    most: float = COST_MAX_RATIO


def remember(memory: Memory, text: str) -> Act:
    """A write, and the index of it: reads wait for what a write left to fold."""
    return lambda: (memory.remember(BEGINS + text), memory.get(memory.list(limit=1)[0].id))


def observe(memory: Memory, text: str) -> Act:
    said = [{"role": "user", "content": BEGINS + text}]
    return lambda: (memory.observe(said), memory.sessions.episodes(limit=1))


def revise(memory: Memory, text: str) -> Act:
    record = memory.remember(BEGINS)
    return lambda: (memory.revise(record.id, BEGINS + text), memory.list(limit=1))


def recall_trusted(memory: Memory, text: str) -> Act:
    memory.remember(BEGINS + text)
    return lambda: memory.recall(QUERY)


def recall_tagged(memory: Memory, text: str) -> Act:
    memory.revise(memory.remember(BEGINS + text).id, tags=["red"])
    return lambda: memory.recall(QUERY)


def recall_unverified(memory: Memory, text: str) -> Act:
    memory.scoped(trust="unverified").remember(BEGINS + text)
    return lambda: memory.recall(QUERY)


def recall_said(memory: Memory, text: str) -> Act:
    memory.observe([{"role": "user", "content": BEGINS + text}], session="s")
    return lambda: memory.recall(QUERY)


def recall_replaced(memory: Memory, text: str) -> Act:
    memory.remember("The harbour has port 1234.", key="port")
    memory.remember("The harbour has port 4711.", key="port")
    memory.observe([{"role": "user", "content": "The harbour has port 1234. " + text}])
    return lambda: memory.recall(QUERY)


def recall_value(memory: Memory, text: str) -> Act:
    memory.observe([{"role": "user", "content": "The harbour has port 4711."}])
    memory.remember(BEGINS + text, key="port")
    memory.remember("The harbour has port 1234.", key="port")
    return lambda: memory.recall(QUERY)


def ask(memory: Memory, text: str) -> Act:
    memory.remember(BEGINS)
    question = text.encode()[: limits.QUESTION_MAX_CHARS].decode("utf-8", "ignore")
    return lambda: memory.recall(question)


def context(memory: Memory, text: str) -> Act:
    memory.remember(BEGINS + text)
    return lambda: memory.context(QUERY)


def context_whole(memory: Memory, text: str) -> Act:
    memory.remember(BEGINS + text)
    return lambda: memory.context(QUERY, tokens=1_000_000)


def why_not(memory: Memory, text: str) -> Act:
    record = memory.remember(BEGINS + text)
    return lambda: memory.admin.why_not(record.id, QUERY)


def page(memory: Memory, text: str) -> Act:
    memory.remember(BEGINS + text, about="person:Bob")
    return lambda: memory.pages.read("person-bob")


def secrets(_: Memory, text: str) -> Act:
    def look() -> None:
        with suppress(InvalidInput):  # it looks like one
            refuse_secrets({"text": text})

    return look


def redacted(_: Memory, text: str) -> Act:
    return lambda: redact(text)


def rebuild(memory: Memory, text: str) -> Act:
    memory.remember(BEGINS + text)
    return memory.admin.rebuild


CALLS: Final = (
    Priced("remember", remember),
    Priced("observe", observe),
    Priced("revise", revise),
    Priced("recall of a record", recall_trusted),
    Priced("recall of a record that was tagged", recall_tagged),
    # Its shelf keeps no tokens, so the text is split again: of ASCII that takes no time.
    Priced("recall of an unverified text", recall_unverified, 6),
    Priced("recall of an episode", recall_said),
    Priced("recall of a replaced value", recall_replaced),
    Priced("recall of a text that was replaced", recall_value),
    Priced("recall by a question", ask),
    # A plain text is seen not to fit; one of letters and digits in turn is drawn to find out.
    Priced("context", context, 8),
    # What is not seen, of three bytes, is shown and counted as a mark of eight.
    Priced("context with room for all", context_whole, 7),
    Priced("why_not", why_not),
    # A plain text takes 0.03 µs for each byte; a fence is matched on its own, and may have 4 bytes.
    Priced("pages.read", page, 15),
    Priced("rebuild", rebuild),
    # Up to six readings of a text are searched: as written, without escapes, with what hides gone.
    Priced("refuse_secrets", secrets, 16),
    # The same up to eight times, because what stands beside a removed secret may look like one.
    Priced("redact", redacted, 40),
)


def spent(prepare: Prepare, text: str) -> float:
    """The processor seconds of one call, in a new memory."""
    with Memory.open(":memory:", embedder="none") as memory:
        act = prepare(memory, text)
        gc.disable()
        try:
            before = time.process_time()
            act()
            return time.process_time() - before
        finally:
            gc.enable()
