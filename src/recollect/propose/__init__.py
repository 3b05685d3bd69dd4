"""From episodes to suggestions.

Responsible for proposers: what one is, one that asks a language model, and whether the numbers,
dates and names of a learned sentence occur in what it was learned from. Leaves what becomes of a
suggestion to ``memory.rules.suggestions``, which checks it. Invariant: nothing here can write.
"""

TYPE_CHECKING = False  # as type checkers know it, without the time that typing takes to load

if TYPE_CHECKING:
    from recollect.model.values import Quote, Suggestion
    from recollect.propose.chat import ChatProposer
    from recollect.propose.port import Proposer

__all__ = ["ChatProposer", "Proposer", "Quote", "Suggestion"]

_HOMES = {"ChatProposer": "recollect.propose.chat", "Proposer": "recollect.propose.port"}

if not TYPE_CHECKING:  # hidden from type checkers, to whom every name would seem to exist

    def __getattr__(name: str) -> object:
        """Loads a name on first use: a pass with a function needs no client."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(_HOMES.get(name, "recollect.model.values")), name)
        globals()[name] = value
        return value
