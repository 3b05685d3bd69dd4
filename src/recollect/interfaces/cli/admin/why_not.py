"""The command that explains why something is missing in an answer.

Responsible for joining the reason with the texts it is about. Leaves finding it to ``Memory``.
Invariant: nothing here changes a memory.
"""

from __future__ import annotations

from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.model.values import INCLUDES, WhyNot


@verb
def why_not(
    call: Call,
    id: o.Id,
    query: o.Query,
    preset: o.MaybePreset = None,
    tokens: o.Tokens = None,
    k: o.Count = 10,
    unit: o.Unit = "any",
    filter: o.Filter = None,
    include: o.Include = None,
    min_relevance: o.MinRelevance = None,
    at: o.At = None,
    user: o.User = None,
) -> None:
    """Explain why a record or an episode is not in an answer."""
    with call.memory(having=id) as opened:
        memory = o.past(opened.scoped(user=user), at)
        why = memory.admin.why_not(
            id,
            query,
            preset=preset,
            tokens=tokens,
            k=k,
            unit=unit,
            filter=filter,
            include=o.included(include),
            min_relevance=min_relevance,
        )
        text = memory.get(why.id, include=INCLUDES).text
        instead = [memory.get(other, include=INCLUDES) for other in why.by]

    def draw(_: WhyNot) -> None:
        from recollect.interfaces.cli.screens import explain

        explain.why_not(why, text, instead)

    call.answer(why, draw, opened)
