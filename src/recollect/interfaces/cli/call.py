"""One call of a verb: which memory it is about, and how it answers.

Responsible for what all verbs share: ``--store``, ``--space`` and ``--json``, before or after the
verb. Leaves the rest to each verb. Invariants: a read never creates a memory; a progress bar is
drawn only on a terminal, and never with ``--json``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec

from recollect import config
from recollect.assistants.mounted import Mount
from recollect.config import AUTO, Settings, load, place_of
from recollect.errors import Forbidden, IntegrityError, InvalidInput, NotFound, Unavailable
from recollect.interfaces.cli import answer, plain, questions
from recollect.interfaces.cli.declare import Abort, Option, Parameter, declared, parameters_of
from recollect.memory import Memory, Store
from recollect.places import known
from recollect.store.disk.layout import is_empty
from recollect.store.port import Progress

T = TypeVar("T")

_UNKNOWN: Final = "this memory, because it was not created on this machine"

StoreOption = Annotated[
    str | None,
    Option(
        "--store",
        metavar="PLACE",
        help="The memory's folder or URL.  [default: the nearest .recollect]",
    ),
]
SpaceOption = Annotated[
    str | None, Option("--space", metavar="NAME", help="The space in it.  [default: main]")
]
JsonOption = Annotated[bool, Option("--json", help="Answer with one JSON document.")]


class Call(msgspec.Struct, frozen=True):
    """The shared options of one run of a verb."""

    store: str | None = None
    named: str | None = None  # the space, if one was
    json: bool = False
    start: Mapping[str, Callable[..., object]] | None = None  # other interfaces, by name

    @property
    def space(self) -> str:
        """The space this call is about."""
        return self.named or "main"

    @contextmanager
    def memory(
        self,
        *,
        create: bool = False,
        embedder: str | None = None,
        mount: Mount | None = None,
        having: str | None = None,
    ) -> Iterator[Memory]:
        """Opens the memory this call is about; creates it only with ``create``.

        ``having`` opens the one that has an id, the project's or the person's own.
        """
        if having is not None:
            with self.memories(mount) as found:
                yield _holder(found, having)
            return
        settings = self._place(create=create, embedder=embedder, mount=mount)
        with Store.open(settings=settings) as store:
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

    def _place(self, *, create: bool, embedder: str | None, mount: Mount | None) -> Settings:
        """The one memory to open: a new one is created where an assistant would create it."""
        if mount is not None:
            return self.places(mount)[0][1]
        found = config.places(self.store)
        if create and not found.named:
            return found.project if found.writes_to_project else found.personal
        return load(self.store, embedder=embedder or AUTO)

    @contextmanager
    def memories(self, mount: Mount | None = None) -> Iterator[list[tuple[Mount | None, Memory]]]:
        """Opens every memory that a question is asked of: the project's and the person's own.

        A store or a space that was named is asked alone; a store that was named is not a mount.
        """
        with ExitStack() as stack:
            found: list[tuple[Mount | None, Memory]] = []
            for name, settings in self.places(mount):
                store = stack.enter_context(Store.open(settings=settings))
                memory = store.space(self.space, create=False)
                if _is_there(store, memory, self.space):
                    self.note_if_unknown(store.settings)
                    found.append((name, memory))
            if not found:
                last = settings if mount else load(self.store)
                raise _missing(stack.enter_context(Store.open(settings=last)), self.space)
            yield found

    def places(self, mount: Mount | None = None) -> list[tuple[Mount | None, Settings]]:
        """Where the memories are, or would be, that a question is asked of."""
        found = config.places(self.store)
        if mount is not None and found.named:
            raise InvalidInput(
                "--memory and a named store exclude each other", hint="leave one of them out"
            )
        if found.named:
            return [(None, found.project)]
        if mount is not None:
            is_own = mount == "personal" or found.is_one
            return [("personal", found.personal) if is_own else ("project", found.project)]
        if self.named is not None:  # a space of the nearest store
            settings = load(None)
            is_own = place_of(settings.where) == place_of(found.personal.where)
            return [("personal" if is_own else "project", settings)]
        mine: list[tuple[Mount | None, Settings]] = [("personal", found.personal)]
        return mine if found.is_one else [("project", found.project), *mine]

    def ask(
        self, question: Callable[[Memory], T], mount: Mount | None = None
    ) -> list[tuple[Mount | None, T]]:
        """Each memory's answer; if one of two cannot be read, the other still answers."""
        answers: list[tuple[Mount | None, T]] = []
        failed: list[tuple[Mount | None, IntegrityError | Unavailable]] = []
        with self.memories(mount) as found:
            for name, memory in found:
                try:
                    answers.append((name, question(memory)))
                except (IntegrityError, Unavailable) as error:
                    failed.append((name, error))
        if not answers:
            raise failed[0][1]
        for name, why in failed:
            self.note(f"The memory {name} could not be read and was left out: {why}")
        return answers

    def answer(self, value: T, show: Callable[[T], None], memory: Memory | None = None) -> None:
        """Prints the answer: as JSON for a program, or with ``show`` for a person.

        Of a ``memory`` it also says which one it is, unless the store was named.
        """
        mount = None if memory is None else self.mount_of(memory)
        if self.json:
            found = {} if mount is None else {"memory": mount}
            answer.write_json({**msgspec.to_builtins(value), **found} if found else value)
            return
        show(value)
        if memory is not None and mount is not None:
            plain.say(plain.dim(f"  in {mount}: {plain.safe(memory.where)}"))

    def mount_of(self, memory: Memory) -> Mount | None:
        """Which of the two memories this is; None if the store was named."""
        found = config.places(self.store)
        if found.named:
            return None
        place, mine = Path(place_of(memory.where)), Path(place_of(found.personal.where))
        return "personal" if place == mine or mine in place.parents else "project"

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

    def require_known(self, what: str, mount: Mount | None = None) -> Settings:
        """Refuses a memory that was found here and not created or adopted by this person."""
        settings = self._place(create=False, embedder=None, mount=mount)
        if not known.is_known(settings, self.space):
            raise Forbidden(f"{what} is refused for {_UNKNOWN}", hint=known.HINT)
        return settings

    @contextmanager
    def progress(self, title: str) -> Iterator[Progress | None]:
        """A progress bar, if stdout is a terminal."""
        if self.json or not sys.stdout.isatty():
            yield None
            return
        from recollect.interfaces.cli.screens.draw import progress

        with progress(title) as tick:
            yield tick

    def confirm(self, question: str, *, yes: bool, what: str) -> None:
        """Returns only if a person confirms; raises otherwise."""
        if yes:
            return
        if self.json or not sys.stdin.isatty():
            raise Forbidden(f"{what} needs a confirmation", hint="add --yes to confirm")
        if not questions.confirm(question):
            raise Abort

    def confirm_name(self, name: str, *, yes: bool, what: str) -> None:
        """Returns only if a person types a name again; raises otherwise."""
        if yes:
            return
        if self.json or not sys.stdin.isatty():
            raise Forbidden(f"{what} needs a confirmation", hint="add --yes to confirm")
        if questions.prompt("This cannot be undone. Type the name of the space") != name:
            raise Abort


def _holder(found: list[tuple[Mount | None, Memory]], id: str) -> Memory:
    """The memory that has an id; a single one is not asked, because it answers for itself."""
    if len(found) == 1:
        return found[0][1]
    from recollect.assistants.mounts import holder_of

    return holder_of([(name or "personal", memory) for name, memory in found], id)[1]


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
            f"the space {space!r} does not exist in {store.where}",
            hint=f"use --space with one of: {', '.join(others[:10])}{', …' if others[10:] else ''}",
        )
    if store.settings.folder is None:
        return NotFound(
            f"{store.where} does not contain a memory yet",
            hint="the first `recollect remember` creates it; --space gives it a name",
        )
    return NotFound(
        f"{store.where} does not contain a memory ({store.settings.why})",
        hint="run `recollect init` to create one here, or name another folder with --store",
    )


class Verb(msgspec.Struct, frozen=True):
    """A function of a ``Call``, which also takes the shared options."""

    function: Callable[..., None]
    space: object = SpaceOption

    def parameters(self) -> list[Parameter]:
        """Its own arguments and options, then the shared ones."""
        return [*parameters_of(self.function), *shared_parameters(self.space)]

    def run(self, before: Call, given: dict[str, Any]) -> None:
        """Runs it with parsed values; the shared options may also stand before the verb."""
        call = msgspec.structs.replace(
            before,
            store=given.pop("store") or before.store,
            named=given.pop("space") or before.named,
            json=bool(given.pop("json")) or before.json,
        )
        self.function(call, **given)


def verb(function: Callable[..., None], *, space: object = SpaceOption) -> Verb:
    """Turns a function of a ``Call`` into a verb.

    ``space`` replaces the shared ``--space`` for a verb in which leaving it out means something
    else.
    """
    return Verb(function, space)


def shared_parameters(space: object = SpaceOption) -> list[Parameter]:
    """The options that every verb takes."""
    options = {"store": (StoreOption, None), "space": (space, None), "json": (JsonOption, False)}
    return [declared(name, annotation, default) for name, (annotation, default) in options.items()]
