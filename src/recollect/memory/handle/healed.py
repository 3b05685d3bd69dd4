"""A question whose index turned out to be damaged is asked once more.

Responsible for the second try, and for comparing a ledger before the first call. Leaves building
the index again to the store, which says so with ``IndexHealed``. Invariant: only reads are tried
again. That error comes from a read, and no method reads after it wrote, so a second try writes
nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import ParamSpec, TypeVar

from recollect.errors import IntegrityError
from recollect.store.port import IndexHealed

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")


def asked_again(method: Callable[P, T]) -> Callable[P, T]:
    """Tries a method a second time if the index was built again during the first."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except IndexHealed:
            return second_try(lambda: method(*args, **kwargs))

    return call


def second_try(act: Callable[[], T]) -> T:
    """The same once more; an index that is damaged again so soon is not healed for ever."""
    try:
        return act()
    except IndexHealed as error:
        raise IntegrityError(
            "the index was damaged again right after it was built again",
            hint="check the disk, then run `recollect admin doctor`",
        ) from error


def compares(kind: type[C]) -> type[C]:
    """Every public method of a class refuses a ledger that was rewritten since it was signed."""
    for name, member in list(vars(kind).items()):
        if isinstance(member, FunctionType) and not name.startswith("_"):
            setattr(kind, name, _compared_first(member))
    return kind


def _compared_first(method: Callable[P, T]) -> Callable[P, T]:
    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        due = getattr(getattr(args[0], "_handle", None), "due", None)
        if due is not None:  # a memory of a service has none
            due.compare()
        return method(*args, **kwargs)

    return call


def heals(kind: type[C]) -> type[C]:
    """Every public method of a class is asked again where that helps."""
    for name, member in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, FunctionType):
            setattr(kind, name, asked_again(member))
        elif isinstance(member, property) and member.fget is not None:
            setattr(kind, name, property(asked_again(member.fget), doc=member.__doc__))
    return kind
