"""One record or episode in full: its text, its history and its evidence.

Responsible for joining record, history and why into one answer. Leaves the drawing to ``draw``.
Invariant: nothing here changes a memory.
"""

from __future__ import annotations

from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.model.values import INCLUDES, Episode


@verb
def show(call: Call, id: o.Id, at: o.At = None) -> None:
    """Show a record with its history and its evidence, or an episode."""
    with call.memory(having=id) as opened:
        memory = o.past(opened, at)
        found = memory.get(id, include=INCLUDES)
        if isinstance(found, Episode):
            episode = found
            call.answer({"episode": episode}, lambda _: _draw_episode(episode), opened)
            return
        history, why = memory.history(found.id), memory.why(found.id)

    def draw(_: object) -> None:
        from recollect.interfaces.cli.draw import record_view

        record_view(found, history, why)

    call.answer({"record": found, "history": history, "why": why}, draw, opened)


def _draw_episode(episode: Episode) -> None:
    from recollect.interfaces.cli.draw import episode_view

    episode_view(episode)
