"""Every page and every act of the inspector, one line each.

Responsible for which address means what. Leaves reading to ``pages`` and changing to ``acts``.
To add a page: a module in ``pages``, a template, a line here. Invariant: an address matches at most
one line; names in braces are decoded, all else is compared as it was sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from recollect.errors import InvalidInput
from recollect.interfaces.web import stops
from recollect.interfaces.web.acts import erase as erase_acts
from recollect.interfaces.web.acts import presets as preset_acts
from recollect.interfaces.web.acts import records as record_acts
from recollect.interfaces.web.acts import review as review_acts
from recollect.interfaces.web.acts import tokens as token_acts
from recollect.interfaces.web.acts import upkeep as upkeep_acts
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.forms import Form
from recollect.interfaces.web.guard import Turned
from recollect.interfaces.web.pages import (
    audit,
    context,
    diff,
    episode,
    erase,
    erasure,
    event,
    go,
    graph,
    help,
    jobs,
    ledger,
    record,
    records,
    review,
    search,
    talk,
    timeline,
    today,
    tokens,
)
from recollect.interfaces.web.pages.presets import preset_edit, presets
from recollect.interfaces.web.pages.receipts import receipt, receipts
from recollect.interfaces.web.rights import (
    ADMIN,
    ERASE,
    LOOK,
    REVIEW,
    SCHEDULE,
    SIGN,
    VERIFY,
    WORK,
    WRITE,
    WRITE_WHOLE,
    Needs,
    Rights,
)
from recollect.interfaces.web.view import Done, Shown, View
from recollect.memory import Memory, Store
from recollect.model.wire import from_segment


class Page(NamedTuple):
    """One page: its path behind the space, and the function that reads it."""

    path: str
    name: str
    read: Callable[[Asked, Memory], View]
    template: str
    about: str  # one sentence, for the help page
    calls: tuple[str, ...]  # of ``Memory``
    nav: bool = False
    key: str = ""  # the letter behind g that goes there
    live: bool = False  # it says how much is new while it is open


class Act(NamedTuple):
    """One form: where it is sent, and what it does."""

    path: str
    name: str
    do: Callable[[Form, Memory], Done | Shown]
    needs: Needs = WRITE


class StorePage(NamedTuple):
    """One page about the whole store, behind ``-`` instead of a space."""

    path: str
    name: str
    read: Callable[[Asked, Store], View]
    template: str
    about: str


class StoreAct(NamedTuple):
    """One form about the whole store."""

    path: str
    name: str
    do: Callable[[Form, Store], Done]
    needs: Needs


PAGES: Final = (
    Page("", "Today", today.page, "today.html",
         "What changed today, what waits for you, and a year of days.",
         ("events.list", "status", "review.list"), nav=True, key="d", live=True),
    Page("timeline", "Timeline", timeline.page, "timeline.html",
         "Everything that happened, newest first.", ("events.list",), nav=True, key="t", live=True),
    Page("search", "Search", search.page, "search.html",
         "What a question finds, what each signal adds, and why something is missing.",
         ("recall", "admin.why_not"), key="s"),
    Page("r/{id}", "Record", record.page, "record.html",
         "One record: what it says, its life, why it is believed.",
         ("get", "history", "why", "events.list")),
    Page("e/{id}", "Episode", episode.page, "episode.html",
         "Something that was said, with what was said around it.", ("get", "sessions.episodes")),
    Page("session/{name}", "Session", talk.page, "session.html",
         "A conversation as it was said, and what rests on each turn.",
         ("sessions.episodes", "list")),
    Page("records", "Records", records.page, "records.html",
         "Everything that is believed, last changed first.", ("list",), nav=True),
    Page("keys", "Keys", records.keys, "keys.html",
         "Each key with the record that holds it, and what held it before.", ("list", "history")),
    Page("about/{entity}", "About", records.about, "about.html",
         "Everything about one thing, and what was believed about it before.", ("list",)),
    Page("context", "Context", context.page, "context.html",
         "What a model would be shown, line by line, and what was left out and why.",
         ("context", "admin.why_not"), nav=True, key="c"),
    Page("receipts", "Receipts", receipts.page, "receipts.html",
         "What was handed out, when and to whom.", ("proof.receipts.list",)),
    Page("receipts/{id}", "Receipt", receipt.page, "receipt.html",
         "The text that was handed out, again; what was erased since shows as erased.",
         ("proof.receipts.get", "replay")),
    Page("presets", "Presets", presets.page, "presets.html",
         "The ways of looking: how much each signal counts.", ("settings.presets.list",)),
    Page("presets/{name}", "Preset", presets.one, "preset.html",
         "One preset: weights, guarantees, template, and a question tried on it.",
         ("settings.presets.get", "context")),
    Page("presets/{name}/edit", "Change a preset", preset_edit.page, "preset_edit.html",
         "The fields of a preset, and what it would pack before it is saved.",
         ("settings.presets.get",)),
    Page("diff", "Difference", diff.page, "diff.html",
         "What was added, changed and gone between two positions.", ("events.list", "get")),
    Page("graph/{id}", "Graph", graph.page, "graph.html",
         "The records around one, as rings and as a table.", ("graph.neighbours",)),
    Page("stops", "Stops", stops.page, "stops.html",
         "The positions at which the memory stood still.", ("events.list",)),
    Page("review", "Review", review.page, "review.html",
         "What waits for a person, one proposal or waiting record at a time.",
         ("review.list", "review.show"), nav=True, key="r"),
    Page("ledger", "Ledger", ledger.page, "ledger.html",
         "The chain of events: where it ends, whether it is sound, who signed it.",
         ("status", "admin.verify", "events.list"), nav=True, key="l"),
    Page("ledger/{seq}", "Event", event.page, "event.html",
         "One event, byte for byte, with what its hash covers.", ("events.get",)),
    Page("ledger/{seq}/proof", "Proof", event.proof, "event.html",
         "The proof of one event, to hand on.", ("proof.prove",)),
    Page("audit", "Audit", audit.page, "audit.html",
         "Who told it what, who approved it, what was handed out; made for print.",
         ("proof.audit",)),
    Page("erase/{id}", "Erase", erase.page, "erase.html",
         "What erasing would remove, what would stay and why.", ("erase",)),
    Page("erasures/{seq}", "Certificate", erasure.page, "erasure.html",
         "What was erased, when, by whom and from where.", ("events.get", "admin.verify")),
    Page("go", "Go", lambda asked, memory: go.page(asked, memory, names()), "search.html",
         "Where a word leads: a page, a key, an id or a text.", ("get", "recall")),
    Page("help", "Help", help.page, "help.html", "Keys, words, signs and colours.", (), key="h"),
)  # fmt: skip

ACTS: Final = (
    Act("r/{id}/revise", "Revise", record_acts.revise),
    Act("r/{id}/forget", "Forget", record_acts.forget),
    Act("r/{id}/restore", "Restore", record_acts.restore),
    Act("r/{id}/tag", "Tag", record_acts.tag),
    Act("r/{id}/link", "Link", record_acts.link),
    Act("r/{id}/unlink", "Unlink", record_acts.unlink),
    Act("r/{id}/undo", "Undo", record_acts.undo),
    Act("review/{id}/approve", "Approve", review_acts.approve, REVIEW),
    Act("review/{id}/reject", "Reject", review_acts.reject, REVIEW),
    Act("review/{id}/undo", "Undo", review_acts.undo, REVIEW),
    Act("erase/{id}", "Erase", erase_acts.erase, ERASE),
    Act("presets/{name}/save", "Save", preset_acts.save, WRITE_WHOLE),
    Act("presets/{name}/drop", "Remove", preset_acts.drop, WRITE_WHOLE),
    Act("presets/{name}/undo", "Undo", preset_acts.undo, WRITE_WHOLE),
    Act("ledger/verify", "Verify", upkeep_acts.verify, VERIFY),
    Act("ledger/checkpoint", "Sign a checkpoint", upkeep_acts.checkpoint, SIGN),
)

STORE_PAGES: Final = (
    StorePage("tokens", "Tokens", tokens.page, "tokens.html",
              "Who may open which memories, and which browsers are logged in; ending both."),
    StorePage("jobs", "Jobs", jobs.page, "jobs.html",
              "Background work: what waits, runs and has ended, and schedules."),
)  # fmt: skip

STORE_ACTS: Final = (
    StoreAct("tokens/create", "Create", token_acts.create, ADMIN),
    StoreAct("tokens/{id}/rotate", "Rotate", token_acts.rotate, ADMIN),
    StoreAct("tokens/{id}/revoke", "Revoke", token_acts.revoke, ADMIN),
    StoreAct("sessions/{name}/end", "End", token_acts.end, LOOK),
    StoreAct("sessions/end", "End all others", token_acts.end_others, LOOK),
    StoreAct("jobs/ask", "Ask", upkeep_acts.ask, WORK),
    StoreAct("jobs/schedule", "Set", upkeep_acts.schedule, SCHEDULE),
    StoreAct("jobs/unschedule", "Remove", upkeep_acts.drop_schedule, SCHEDULE),
    StoreAct("jobs/{id}/cancel", "Cancel", upkeep_acts.cancel, WORK),
)

Line = TypeVar("Line", Page, Act, StorePage, StoreAct)


def names() -> dict[str, str]:
    """The names of pages by their paths."""
    return {each.path: each.name for each in PAGES}


def reasons(
    acts: tuple[Act, ...] | tuple[StoreAct, ...], rights: Rights, off: str | None
) -> dict[str, str | None]:
    """Why each act is off, by its path; None if it is not. ``off`` is why all changes are."""
    return {each.path: off if off and each.needs.verb else rights.lacks(each.needs)
            for each in acts}  # fmt: skip


def find(lines: tuple[Line, ...], segments: tuple[str, ...]) -> tuple[Line, dict[str, str]]:
    """The line of an address, and its names."""
    for line in lines:
        pattern = tuple(line.path.split("/")) if line.path else ()
        if len(pattern) == len(segments) and all(
            want.startswith("{") or want == got for want, got in zip(pattern, segments, strict=True)
        ):
            named = zip(pattern, segments, strict=True)
            return line, {w[1:-1]: decoded(got) for w, got in named if w.startswith("{")}
    raise Turned(404, "this inspector has no page of that name", "start at the top of the page")


def decoded(segment: str) -> str:
    """A name in a path; what is not in its one form is not found."""
    try:
        return from_segment(segment)
    except InvalidInput as error:
        raise Turned(404, "the address is not in the form of this inspector") from error
