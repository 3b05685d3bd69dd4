"""The verb that makes vectors.

Responsible for ``embed`` and its output. Leaves encoding to ``Memory``. Invariant: an embedder
that is named here becomes the memory's embedder.
"""

from __future__ import annotations

from recollect import compose
from recollect.config import NONE, load
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.model.values import Embedded


@verb
def embed(call: Call, embedder: o.Embedder = None) -> None:
    """Compute missing vectors; --embedder changes the embedder."""
    with call.memory(embedder=embedder) as memory, call.progress("Embedding") as tick:
        done = memory.embed(tick)
    if embedder is not None:
        compose.record_embedder(load(call.store, embedder=embedder), replace=True)
    call.answer({"embedded": done}, lambda _: _tell(done))


def _tell(done: tuple[Embedded, ...]) -> None:
    if not done:
        plain.say(f"The embedder of this memory is {plain.bold(NONE)}: recall uses full text only.")
        plain.next_step("pip install 'recollect[local]'", "recollect embed --embedder static")
    for each in done:
        what = f"{each.texts:,} texts in {each.pieces:,} pieces"
        plain.say(f"Embedded {what} with {plain.bold(plain.one_line(each.model))}")
        if each.missing:
            plain.say(f"  {each.missing:,} texts were added meanwhile and have no vectors yet")
