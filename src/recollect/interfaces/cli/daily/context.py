"""The command that packs a context for a prompt, and prints an earlier one again.

Responsible for passing the question on and printing the text. Leaves packing to ``Memory``.
Invariant: stdout holds the text alone, ready to paste.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from recollect.errors import InvalidInput, NotFound
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.daily import both
from recollect.interfaces.cli.declare import Argument, Exit, Option
from recollect.memory import Memory
from recollect.model.values import Context, Replay

MaybeQuestion = Annotated[
    str | None, Argument(metavar="[QUERY]", help="A question, or a few words.")
]
Receipt = Annotated[
    str | None,
    Option(
        "--replay",
        metavar="RECEIPT",
        help="Print the exact text of an earlier context again; `proof receipts` lists them.",
    ),
]


@verb
def context(
    call: Call,
    query: MaybeQuestion = None,
    tokens: o.Tokens = None,
    preset: o.Preset = "task",
    no_receipt: o.NoReceipt = False,
    replay: Receipt = None,
    at: o.At = None,
    user: o.User = None,
    mount: o.MountOption = None,
    hook: o.AsHook = False,  # a hook's call is answered before it gets here
) -> None:
    """Pack what is known about a question for a prompt.

    Asks the project's memory and your own. With --replay it prints the exact text of an earlier
    context again; a question beside it is ranked again as of then.
    """
    if replay is not None:
        _replay(call, replay, query)
        return
    if query is None:
        raise InvalidInput("QUERY is missing", hint='ask something: recollect context "two words"')

    def pack(memory: Memory, tokens: int | None, receipt: bool) -> Context:
        return o.past(memory.scoped(user=user), at).context(
            query, tokens=tokens, preset=preset, receipt=receipt and not no_receipt
        )

    with call.memories(both.mount_at(call, mount, at)) as memories:
        packed = both.packed(memories, pack, tokens)
    call.answer(packed.document, lambda _: packed.draw())
    if not packed.document["hits"]:
        raise Exit(answer.NO)


def _replay(call: Call, receipt: str, query: str | None) -> None:
    """Prints the exact text of an earlier context again."""
    with call.memories() as memories:
        found, memory = _found([each for _, each in memories], receipt, query)
    call.answer(found, _replayed)
    mount = call.mount_of(memory)
    if mount is not None:
        call.note(f"from {mount}: {memory.where}")


def _found(memories: list[Memory], receipt: str, query: str | None) -> tuple[Replay, Memory]:
    """A context of the first memory that has the receipt."""
    *others, last = memories
    for memory in others:
        with suppress(NotFound):
            return memory.replay(receipt, query=query), memory
    return last.replay(receipt, query=query), last


def _replayed(found: Replay) -> None:
    """The text alone on stdout; where it comes from on stderr."""
    plain.say(plain.safe(found.text))
    receipt = found.receipt
    order = {None: "", True: "; ranks the same", False: "; ranks differently"}[found.same_order]
    plain.say_to_stderr(
        f"handed out at {plain.moment(receipt.now)}, position {receipt.position:,}, in the preset "
        f"{plain.one_line(receipt.preset)}{order}"
    )
