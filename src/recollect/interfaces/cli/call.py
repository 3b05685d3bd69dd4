"""One call of a verb: which memory it is about, and how it answers.

Responsible for what all verbs share: ``--store``, ``--space`` and ``--json``, before or after the
verb. Leaves the rest to each verb. Invariants: a read never creates a memory; a progress bar is
drawn only on a terminal, and never with ``--json``.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Concatenate, Final, ParamSpec, TypeVar

import msgspec
import typer

from recollect.config import AUTO, Settings, load
from recollect.errors import Forbidden, NotFound
from recollect.interfaces.cli import answer, plain
from recollect.memory import Memory, Store
from recollect.places import known
from recollect.store.layout import is_empty
from recollect.store.port import Progress

P = ParamSpec("P")
T = TypeVar("T")

_UNKNOWN: Final = "this memory, because it was not created on this machine"

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="PLACE",
        help="The memory's folder or URL.  [default: the nearest .recollect]",
    ),
]
SpaceOption = Annotated[
    str | None, typer.Option("--space", metavar="NAME", help="The space in it.  [default: main]")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer with one JSON document.")]


class Call(msgspec.Struct, frozen=True):
    """The shared options of one run of a verb."""

    store: str | None = None
    named: str | None = None  # the space, if one was
    json: bool = False
    start: Mapping[str, Callable[..., None]] | None = None  # other interfaces, by name

    @property
    def space(self) -> str:
        """The space this call is about."""
        return self.named or "main"

    @contextmanager
    def memory(self, *, create: bool = False, embedder: str | None = None) -> Iterator[Memory]:
        """Opens the memory this call is about; creates it only with ``create``."""
        with Store.open(self.store, embedder=embedder or AUTO) as store:
            memory = store.space(self.space, create=create)
            is_new = not _is_there(store, memory, self.space)
            if is_new and not create:
                raise _missing(store, self.space)
            is_known = self.note_if_unknown(store.settings)
            yield memory
            if create and is_known and store.settings.known_in is not None:
                known.adopt(store.settings, self.space)  # it may have just been created or pulled
            if is_new:
                self.note(f"Created a memory: space {self.space} in {store.where}")

    def answer(self, value: T, show: Callable[[T], None]) -> None:
        """Prints the answer: as JSON for a program, or with ``show`` for a person."""
        if self.json:
            answer.write_json(value)
        else:
            show(value)

    def note(self, text: str) -> None:
        """Prints a note to stderr, unless the caller is a program (``--json``)."""
        if not self.json:
            plain.say_to_stderr(plain.safe(text))

    def note_if_unknown(self, settings: Settings | None = None) -> bool:
        """Prints a note if the memory found here is not known; returns True if it is known."""
        is_known = known.is_known(settings or load(self.store), self.space)
        if not is_known:
            self.note(f"Assistants ignore {_UNKNOWN}: {known.HINT}.")
        return is_known

    @contextmanager
    def progress(self, title: str) -> Iterator[Progress | None]:
        """A progress bar, if stdout is a terminal."""
        if self.json or not sys.stdout.isatty():
            yield None
            return
        from recollect.interfaces.cli.draw import progress

        with progress(title) as tick:
            yield tick

    def confirm(self, question: str, *, yes: bool, what: str) -> None:
        """Returns only if a person confirms; raises otherwise."""
        if yes:
            return
        if self.json or not sys.stdin.isatty():
            raise Forbidden(f"{what} needs a confirmation", hint="add --yes to confirm")
        if not typer.confirm(question, err=True):
            raise typer.Abort


def _is_there(store: Store, memory: Memory, space: str) -> bool:
    """True if the memory exists, even in part: a missing part is a loss to report."""
    if store.settings.folder is None:
        return space in store.spaces()
    return not is_empty(Path(memory.where))


def _missing(store: Store, space: str) -> NotFound:
    """The error for a missing memory: where it was looked for, and how to create one."""
    others = store.spaces()
    if others:
        return NotFound(
            f"there is no space {space!r} in {store.where}",
            hint=f"use --space with one of: {', '.join(others)}",
        )
    return NotFound(
        f"there is no memory in {store.where} ({store.settings.why})",
        hint="run `recollect init` to create one here, or name another folder with --store",
    )


def verb(
    function: Callable[Concatenate[Call, P], None], *, space: object = SpaceOption
) -> Callable[..., None]:
    """Turns a function of a ``Call`` into a command that also takes the shared options.

    ``space`` replaces the shared ``--space`` for a verb in which leaving it out means something
    else.
    """
    own = inspect.signature(function, eval_str=True)

    def command(ctx: typer.Context, **given: object) -> None:
        before = ctx.obj if isinstance(ctx.obj, Call) else Call()
        call = msgspec.structs.replace(
            before,
            store=given.pop("store") or before.store,
            named=given.pop("space") or before.named,
            json=bool(given.pop("json")) or before.json,
        )
        function(call, **given)  # type: ignore[arg-type, call-arg]

    shared = dict(inspect.signature(_shared, eval_str=True).parameters)
    shared["space"] = shared["space"].replace(annotation=space)
    parameters = [shared["ctx"], *list(own.parameters.values())[1:], *list(shared.values())[1:]]
    keyword = inspect.Parameter.KEYWORD_ONLY
    command.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[parameter.replace(kind=keyword) for parameter in parameters]
    )
    command.__name__ = function.__name__
    command.__doc__ = function.__doc__
    return command


def _shared(
    ctx: typer.Context,
    store: StoreOption = None,
    space: SpaceOption = None,
    json: JsonOption = False,
) -> None:
    """The shared options; only this signature is used."""
