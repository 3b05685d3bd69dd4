"""State, actor and act give events, nothing, or a refusal: one row for each outcome.

``test_decide`` has the events of each act. Here is what each act refuses, and what it leaves as it
is. A test compares the rows with every ``raise`` in ``lifecycle``, so none is left out.
"""

from __future__ import annotations

import ast
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import pytest

from recollect import lifecycle
from recollect.errors import (
    Ambiguous,
    Changed,
    Conflict,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    RecollectError,
)
from recollect.index.reads import Reads
from recollect.lifecycle import commands as c
from recollect.lifecycle.decide import check_command, decide, foreseen, named_subject, origin_of
from recollect.lifecycle.ledger_merge import Take
from recollect.lifecycle.marks import require_same
from recollect.lifecycle.proposals.proposals import digest_of
from recollect.lifecycle.records.foreign import BringLink
from recollect.model import events as e
from recollect.model.limits import (
    EVIDENCE_MAX_COUNT,
    FORGET_AT_ONCE_MAX_COUNT,
    LOWER_AT_ONCE_MAX_COUNT,
    PROPOSALS_MAX_COUNT,
    TAGS_MAX_COUNT,
)
from recollect.model.presets import BUILT_IN, Preset
from recollect.model.validate import Json
from recollect.model.values import Quote
from recollect.store.sqlite import SqliteDb
from tests.bodies import AT, ONE_OF_EACH
from tests.lifecycle import branch_outcomes
from tests.lifecycle.folding import Event, index_of

PERSON, AGENT = c.Actor(trust="person"), c.Actor(trust="agent")
UNKNOWN = c.Actor(trust="unverified")
ANN, BOB = (c.Actor(trust="person", user=user) for user in ("ann", "bob"))
ANNS_AGENT = c.Actor(trust="agent", user="ann")
STAMP, TAKEN = "20260101", "abcdef"
(RECEIPT,) = [body for body in ONE_OF_EACH if isinstance(body, e.ContextHanded)]
(PRESET,) = [body for body in ONE_OF_EACH if isinstance(body, e.FrameSet)]
HERE = Path(str(lifecycle.__file__)).parent
SAID = Quote("e-1", "said e-1")
WEIGHTS = next(iter(BUILT_IN.values())).weights


def record(id: str, **more: object) -> e.RecordAdded:
    plain = e.RecordAdded(
        id=id,
        text=f"the text of {id}",
        kind="fact",
        confidence=0.7,
        status="active",
        trust="person",
    )
    return msgspec.structs.replace(plain, **more)


def episode(id: str, user: str | None = None) -> e.EpisodeObserved:
    return e.EpisodeObserved(id=id, text=f"said {id}", role="user", said_at=AT, user=user)


MANY_TAGS = tuple(f"t{number}" for number in range(TAGS_MAX_COUNT))
MANY_GROUNDS = tuple(f"elsewhere-{number}" for number in range(EVIDENCE_MAX_COUNT))
MASSES = tuple(f"of-mass-{number}" for number in range(LOWER_AT_ONCE_MAX_COUNT + 1))
ODD_FIELDS: dict[str, dict[str, Json]] = {
    "trust": {"trust": "person"},
    "expires": {"expires": 5},
    "tags": {"tags": ["", ""]},
}
STATE: list[Event] = [
    ("person", record("a")),
    ("person", record("b")),
    ("person", record("full", tags=MANY_TAGS, evidence=MANY_GROUNDS)),
    ("person", record("bobs", user="bob")),
    ("unverified", record("held", status="held", trust="unverified")),
    ("person", record("gone")),
    ("person", e.RecordForgotten(id="gone")),
    ("agent", record("agents", trust="agent")),
    ("person", e.RecordForgotten(id="agents")),
    ("person", record("old", key="k")),
    ("person", e.RecordSuperseded(id="old", by="new")),
    ("person", record("new", key="k")),
    ("person", record(f"{STAMP}-{TAKEN}")),
    ("person", episode(f"e-{STAMP}-{TAKEN}")),
    ("person", episode("e-1")),
    ("person", episode("e-bobs", user="bob")),
    ("person", episode("e-gone")),
    ("person", e.EpisodeForgotten(id="e-gone")),
    ("person", e.LinkAdded(source="a", target="b", kind="k", trust="person", weight=1.0)),
    ("person", PRESET),
    ("person", RECEIPT),
    ("person", record("user-ann", key="both", user="ann")),
    ("person", record("user-bob", key="both", user="bob")),
    ("person", record("heir", supersedes="vanished")),
    ("person", record("ring-1", supersedes="ring-2")),
    ("person", record("ring-2", supersedes="ring-1")),
    *(("person", record(id)) for id in ("loop-1", "loop-2")),
    ("person", e.RecordSuperseded(id="loop-1", by="loop-2")),
    ("person", e.RecordSuperseded(id="loop-2", by="loop-1")),
    ("person", record("named", trust="agent")),
    ("person", record("has-the-key", key="named")),
    ("person", record("bait", key="with-more", trust="unverified", status="held")),
    ("person", record("with-more-trust")),
    ("person", record("guess", is_hypothesis=True, evidence=MANY_GROUNDS)),
    ("agent", record("loose", trust="agent")),
    ("person", record("above", evidence=("loose",))),
    ("person", record("anns", user="ann")),
    ("person", record("shared", evidence=("anns",))),
    ("unverified", record("rumour", user="ann", status="held", trust="unverified")),
    ("agent", episode("e-anns", user="ann")),
    ("person", episode("e-ann-later", user="ann")),
    ("agent", record("few", trust="agent")),
    *(("agent", record(f"{id}-few", trust="agent", evidence=("few",))) for id in MASSES[:21]),
    ("person", record("mass")),
    *(("person", record(id, evidence=("mass",))) for id in MASSES),
    ("person", e.SessionOpened(id="open")),
    ("person", e.SessionOpened(id="ran")),
    ("person", e.SessionClosed(id="ran")),
    ("person", e.SessionOpened(id=f"s-{STAMP}-{TAKEN}")),
    *(("person", e.SessionOpened(id="both", user=user)) for user in ("ann", "bob")),
    ("person", msgspec.structs.replace(episode("e-named"), session="named")),
    ("agent", e.ProposalMade(id="p", intent="update", trust="agent", target="a", base=1, text="x")),
    ("agent", e.ProposalMade(id="p-stale", intent="delete", trust="agent", target="old", base=10)),
    ("person", e.ProposalMade(id="p-mine", intent="noop", trust="person", target="a", base=1)),
    ("person", e.ProposalMade(id="p-done", intent="noop", trust="person", target="a", base=1)),
    ("person", e.ProposalWithdrawn(id="p-done")),
    (
        "agent",
        e.ProposalMade(
            id="p-odd", intent="update", trust="agent", target="a", base=1, changes={"expires": 5}
        ),
    ),
    (
        "agent",
        e.ProposalMade(
            id="p-more",
            intent="update",
            trust="agent",
            target="a",
            base=1,
            changes={"trust": "person"},
        ),
    ),
    *(
        (
            "agent",
            e.ProposalMade(
                id=f"p-new-{name}",
                intent="update",
                trust="agent",
                target="a",
                base=1,
                text="x",
                changes={"supersede": True, **odd},
            ),
        )
        for name, odd in ODD_FIELDS.items()
    ),
    ("agent", e.ProposalMade(id="p-empty", intent="add", trust="agent")),
    ("agent", e.ProposalMade(id="p-ahead", intent="delete", trust="agent", target="a", base=2**52)),
    ("agent", e.ProposalMade(id=f"p-{STAMP}-{TAKEN}", intent="noop", trust="agent", target="b")),
    *(
        ("agent", e.ProposalMade(id=f"p-{n}", intent="noop", trust="agent", target="b", base=2))
        for n in range(PROPOSALS_MAX_COUNT)
    ),
    *branch_outcomes.EVENTS,
    ("person", e.DocumentSet(type="rules", name="mail", trust="person", data={"n": 1})),
]
ASKING: Event = (
    "person",
    e.DocumentSet(
        type="policy",
        name="agents",
        trust="person",
        data={"update": "review", "delete": "review"},
    ),
)


class Case(NamedTuple):
    """An actor, an act, and what is refused; None if nothing need be done."""

    actor: c.Actor
    act: c.Act
    refusal: type[RecollectError] | None


def remember(text: str = "tea", **more: object) -> c.Remember:
    plain = c.Remember(text=text, id=None, stamp=STAMP, chance=f"{TAKEN}0123456789")
    return msgspec.structs.replace(plain, **more)


def observe(text: str = "tea", **more: object) -> c.Observe:
    plain = c.Observe(text=text, role="user", id=None, said_at=AT, stamp=STAMP, chance=f"{TAKEN}01")
    return msgspec.structs.replace(plain, **more)


def opening(id: str | None = None, **more: object) -> c.OpenSession:
    plain = c.OpenSession(id=id, stamp=STAMP, chance=TAKEN)
    return msgspec.structs.replace(plain, **more)


def passed(**more: object) -> c.Pass:
    plain = c.Pass(rule="mail", after=0, set_at=len(STATE), through=5)
    return msgspec.structs.replace(plain, **more)


def derived(**more: object) -> c.Derive:
    plain = c.Derive(
        rule="mail",
        trust="person",
        episode="e-1",
        user=None,
        intent="update",
        text="tea",
        said_at=AT,
        stamp=STAMP,
        chance=f"{TAKEN}0123456789",
    )
    return msgspec.structs.replace(plain, **more)


def proposed(**more: object) -> c.Propose:
    plain = c.Propose(intent="delete", target="a", stamp=STAMP, chance=f"{TAKEN}01")
    return msgspec.structs.replace(plain, **more)


def review(id: str, verdict: Literal["approved", "rejected"], digest: str = "") -> c.Review:
    """A review of what is there, or of what is not."""
    if not digest:
        view = state()
        row = view.proposal(id) or view.version(id)
        digest = "none" if row is None else digest_of(row)
    return c.Review(id=id, verdict=verdict, digest=digest, stamp=STAMP, chance="0" * 16)


@cache
def state() -> Reads:
    """What the state above comes to, folded once."""
    return Reads(folded())


@pytest.fixture(scope="module", autouse=True)
def _state_is_closed() -> Iterator[None]:
    yield
    state().db.close()  # type: ignore[attr-defined]  # an index of SQLite


def folded(*more: Event) -> SqliteDb:
    """An index that holds the state above."""
    return index_of([*STATE, *more])


def policy(**data: str) -> c.SetDocument:
    return c.SetDocument(type="policy", name="agents", data=dict(data))


def ruled(name: str) -> c.SetDocument:
    return c.SetDocument(type="rules", name=name, data={"n": 1})


def derive(source: str, target: str) -> c.Link:
    return c.Link(source=source, target=target, kind="derived_from")


def preset(name: str) -> c.SetPreset:
    return c.SetPreset(preset=Preset(name=name, weights=WEIGHTS, tokens=100))


class Later(c.Act, frozen=True, kw_only=True):
    """An act of a later release."""


CASES: dict[str, Case] = {
    "an act that is not known": Case(PERSON, Later(), InvalidInput),
    # remember
    "an id of another user's": Case(ANN, remember(id="bobs"), Conflict),
    "an id that is used": Case(PERSON, remember(id="a"), Conflict),
    "an id that was superseded": Case(PERSON, remember(id="old"), Conflict),
    "the id of an episode": Case(PERSON, remember(id="e-1"), Conflict),
    "no free id": Case(PERSON, remember(chance=TAKEN), Conflict),
    "too much evidence": Case(PERSON, remember("the text of full", evidence=("x",)), LimitExceeded),
    "too many tags, restated": Case(
        PERSON, remember("the text of full", tags=("x",)), LimitExceeded
    ),
    "a quote that does not occur": Case(
        PERSON, remember(evidence=("e-1",), quotes=(Quote("e-1", "tea"),)), InvalidInput
    ),
    "a quote of nothing": Case(
        PERSON, remember(evidence=("a",), quotes=(Quote("a", "tea"),)), InvalidInput
    ),
    "supersede nothing": Case(PERSON, remember(supersedes="none"), NotFound),
    "supersede another user's": Case(ANN, remember(supersedes="bobs"), NotFound),
    "supersede with the same words": Case(
        PERSON, remember("the text of a", supersedes="a"), Conflict
    ),
    "supersede again": Case(PERSON, remember(supersedes="old"), Conflict),
    "supersede one of a ring": Case(PERSON, remember(supersedes="loop-1"), Conflict),
    "supersede what is forgotten": Case(PERSON, remember(supersedes="gone"), Conflict),
    "supersede what is held": Case(PERSON, remember(supersedes="held"), Conflict),
    "supersede a person's": Case(AGENT, remember(supersedes="a"), Forbidden),
    "supersede with too many tags, restated": Case(
        PERSON, remember("the text of full", tags=("x",), supersedes="a"), LimitExceeded
    ),
    # observe
    "observed before": Case(PERSON, observe("said e-1", id="e-1"), None),
    "observed with other words": Case(PERSON, observe(id="e-1"), Conflict),
    "observed by another user": Case(ANN, observe("said e-bobs", id="e-bobs"), Conflict),
    "the id of a record": Case(PERSON, observe(id="a"), Conflict),
    "no free id for an episode": Case(PERSON, observe(chance=TAKEN), Conflict),
    # revise
    "remember with an id that is a key": Case(PERSON, remember(id="k"), Conflict),
    "observe with an id that is a key": Case(UNKNOWN, observe(id="k", role="tool"), Conflict),
    "revise nothing": Case(PERSON, c.Revise(id="a", text="the text of a"), None),
    "revise what is not there": Case(PERSON, c.Revise(id="z", text="x"), NotFound),
    "revise another user's": Case(ANN, c.Revise(id="bobs", text="x"), NotFound),
    "revise what is forgotten": Case(PERSON, c.Revise(id="gone", text="x"), Conflict),
    "revise a person's as an agent": Case(AGENT, c.Revise(id="a", text="x"), Forbidden),
    "let a person's end sooner as an agent": Case(
        AGENT,
        c.Revise(id="a", text="said e-1", evidence=("e-1",), quotes=(SAID,), expires=AT),
        Forbidden,
    ),
    "a key of several users": Case(PERSON, c.Revise(id="both", text="x"), Ambiguous),
    "an id that is a key": Case(PERSON, c.Forget(id="named"), Ambiguous),
    "a key that begins an id": Case(PERSON, c.Forget(id="with-more"), Ambiguous),
    "the beginning of several ids": Case(PERSON, c.Revise(id="user", text="x"), Ambiguous),
    # forget and restore
    "forget again": Case(PERSON, c.Forget(id="gone"), None),
    "forget an episode that is hidden anyway": Case(
        PERSON, c.Forget(id="e-gone", visible=True), None
    ),
    "forget an episode again": Case(PERSON, c.Forget(id="e-gone"), None),
    "forget a person's episode as an agent": Case(AGENT, c.Forget(id="e-1"), Forbidden),
    "restore what holds": Case(PERSON, c.Restore(id="a"), None),
    "restore an episode that shows": Case(PERSON, c.Restore(id="e-1"), None),
    "restore a person's episode as an agent": Case(AGENT, c.Restore(id="e-gone"), Forbidden),
    "undo what a person did": Case(AGENT, c.Restore(id="agents"), Forbidden),
    "restore what has lost its key": Case(PERSON, c.Restore(id="old"), Conflict),
    "restore what was replaced alone": Case(PERSON, c.Restore(id="old", alone=True), Conflict),
    # revert
    "revert to when it did not hold": Case(PERSON, c.Revert(id="old", to=11), Conflict),
    "revert what has no past": Case(PERSON, c.Revert(id="a"), Conflict),
    "revert to what was erased": Case(PERSON, c.Revert(id="heir"), Conflict),
    "revert a ring": Case(PERSON, c.Revert(id="ring-1", to=0), Conflict),
    "revert what a person did": Case(AGENT, c.Revert(id="agents"), Forbidden),
    "revert a person's as an agent": Case(AGENT, c.Revert(id="new"), Forbidden),
    "revert what is so already": Case(PERSON, c.Revert(id="new", to=99), None),
    "put back what was not there": Case(PERSON, c.Revert(id="gone", to=0, exactly=True), None),
    "put back what was superseded": Case(PERSON, c.Revert(id="old", to=11, exactly=True), None),
    # archive and settle
    "archive what is forgotten": Case(PERSON, c.Archive(id="gone", why="decayed"), None),
    "archive what is held": Case(PERSON, c.Archive(id="held", why="decayed"), None),
    "archive what changed": Case(PERSON, c.Archive(id="a", why="decayed", seq=99), None),
    "take a change of a person's that no key signed": Case(
        AGENT, Take(id="c", bodies=(e.RecordForgotten(id="a"),), fork=0), Forbidden
    ),
    "take a change whose predecessor is not here": Case(
        PERSON, Take(id="c", bodies=(e.RecordForgotten(id="a"),), fork=0, follows="b"), Changed
    ),
    "archive a person's as an agent": Case(AGENT, c.Archive(id="a", why="decayed"), Forbidden),
    "settle what is forgotten": Case(PERSON, c.Settle(id="gone", holds=True), Conflict),
    "settle a statement": Case(PERSON, c.Settle(id="a", holds=True), Conflict),
    "settle a person's as an agent": Case(AGENT, c.Settle(id="guess", holds=False), Forbidden),
    "too much evidence for a hypothesis": Case(
        PERSON, c.Settle(id="guess", holds=True, evidence=("more",)), LimitExceeded
    ),
    # retract
    "retract nothing": Case(PERSON, c.Retract(id="z"), NotFound),
    "retract what is gone": Case(PERSON, c.Retract(id="gone"), None),
    "retract a person's episode as an agent": Case(AGENT, c.Retract(id="e-1"), Forbidden),
    "retract what a person's rests on": Case(AGENT, c.Retract(id="loose"), Forbidden),
    "retract what another user's rests on": Case(ANN, c.Retract(id="anns"), Forbidden),
    "retract many as an agent": Case(AGENT, c.Retract(id="few"), Forbidden),
    "retract too much": Case(PERSON, c.Retract(id="mass"), LimitExceeded),
    # erase
    "erase as an agent": Case(AGENT, c.Erase(id="a"), Forbidden),
    "erase nothing of many": Case(
        ANN, c.EraseAll(ids=("bobs", "z"), receipts=("z",), proposals=("z",)), None
    ),
    "erase many as an agent": Case(AGENT, c.EraseAll(ids=("a",)), Forbidden),
    "erase what is not there": Case(PERSON, c.Erase(id="z"), NotFound),
    "erase no receipt": Case(PERSON, c.Erase(id="z", what="receipt"), NotFound),
    "erase no preset": Case(PERSON, c.Erase(id="z", what="frame"), NotFound),
    "erase a preset for one user": Case(ANN, c.Erase(id="mine", what="frame"), Forbidden),
    # reinforce and tag
    "reinforce what is forgotten": Case(PERSON, c.Reinforce(id="gone"), None),
    "reinforce without trust": Case(UNKNOWN, c.Reinforce(id="a"), Forbidden),
    "tag as before": Case(PERSON, c.Tag(id="full", add=("t1",), remove=("x",)), None),
    "too many tags": Case(PERSON, c.Tag(id="full", add=("x",)), LimitExceeded),
    "tag a person's as an agent": Case(AGENT, c.Tag(id="a", add=("x",)), Forbidden),
    # links
    "bring a link that is here": Case(
        AGENT, BringLink(source="a", target="b", kind="k", trust="agent"), None
    ),
    "bring a link to itself": Case(
        AGENT, BringLink(source="a", target="a", kind="k", trust="agent"), InvalidInput
    ),
    "link as before": Case(PERSON, c.Link(source="a", target="b", kind="k"), None),
    "link to itself": Case(PERSON, c.Link(source="a", target="a", kind="k"), InvalidInput),
    "a fresh link that exists": Case(
        PERSON, c.Link(source="a", target="b", kind="k", fresh=True), Conflict
    ),
    "link a person's again as an agent": Case(
        AGENT, c.Link(source="a", target="b", kind="k", weight=0.5), Forbidden
    ),
    "reinforce no link": Case(PERSON, c.ReinforceLink(source="b", target="a", kind="k"), None),
    "reinforce a link without trust": Case(
        UNKNOWN, c.ReinforceLink(source="a", target="b", kind="k"), Forbidden
    ),
    "unlink what is not linked": Case(PERSON, c.Unlink(source="b", target="a", kind="k"), NotFound),
    "unlink a person's as an agent": Case(
        AGENT, c.Unlink(source="a", target="b", kind="k"), Forbidden
    ),
    # lowering what was derived
    "lower a person's as an agent": Case(AGENT, derive("loose", "held"), Forbidden),
    "lower what is not the user's": Case(ANN, derive("anns", "rumour"), Forbidden),
    "correct what others derived from": Case(
        ANNS_AGENT,
        c.Revise(
            id="anns",
            text="said e-ann-later",
            evidence=("e-ann-later",),
            quotes=(Quote("e-ann-later", "said e-ann-later"),),
        ),
        Forbidden,
    ),
    "lower too much at once": Case(PERSON, derive("mass", "held"), LimitExceeded),
    # presets and receipts
    "set a built-in preset": Case(PERSON, preset(next(iter(BUILT_IN))), Conflict),
    "set a preset for one user": Case(ANN, preset("new"), Forbidden),
    "set a preset without trust": Case(UNKNOWN, preset("new"), Forbidden),
    "set a person's preset as an agent": Case(AGENT, preset("mine"), Forbidden),
    "drop no preset": Case(PERSON, c.DropPreset(name="z"), NotFound),
    # documents
    "set a document for one user": Case(ANN, ruled("new"), Forbidden),
    "set a document without trust": Case(UNKNOWN, ruled("new"), Forbidden),
    "set a person's document as an agent": Case(AGENT, ruled("mail"), Forbidden),
    "set a policy as an agent": Case(AGENT, policy(add="review"), Forbidden),
    "drop a policy as an agent": Case(AGENT, c.DropDocument(type="policy", name="x"), Forbidden),
    "set a policy of another name": Case(
        PERSON, c.SetDocument(type="policy", name="z", data={}), InvalidInput
    ),
    "set a policy that lets more in": Case(PERSON, policy(add="never"), InvalidInput),
    "set a policy with a field too many": Case(PERSON, policy(trust="person"), InvalidInput),
    "set a document as it is": Case(PERSON, ruled("mail"), None),
    "drop no document": Case(PERSON, c.DropDocument(type="rules", name="z"), NotFound),
    "erase no document": Case(PERSON, c.Erase(id="rules/z", what="document"), NotFound),
    "erase a document for one user": Case(
        ANN, c.Erase(id="rules/mail", what="document"), Forbidden
    ),
    # rules
    "run a rule for one user": Case(ANN, passed(), Forbidden),
    "run no rule": Case(PERSON, passed(rule="z"), NotFound),
    "run a person's rule as an agent": Case(AGENT, passed(), Forbidden),
    "run a rule that was changed": Case(PERSON, passed(set_at=1), Changed),
    "begin a rule again that never looked": Case(PERSON, c.Pass(rule="mail"), None),
    "derive from nothing": Case(PERSON, derived(episode="e-z"), NotFound),
    "derive for another user": Case(PERSON, derived(episode="e-bobs"), NotFound),
    "delete nothing": Case(PERSON, derived(intent="delete", replaces=("z",)), NotFound),
    "replace too many at once": Case(PERSON, derived(replaces=MASSES[:21]), LimitExceeded),
    "say what a person knows": Case(UNKNOWN, derived(text="the text of a"), None),
    "say what a key holds": Case(UNKNOWN, derived(text="the text of new", key="k"), None),
    # sessions
    "open a session without trust": Case(UNKNOWN, opening("new"), Forbidden),
    "open a session that is open": Case(AGENT, opening("open"), None),
    "open a fresh session that is open": Case(AGENT, opening("open", fresh=True), Conflict),
    "open a session for another task": Case(AGENT, opening("open", task_type="x"), Conflict),
    "open a session that is closed": Case(PERSON, opening("ran"), Conflict),
    "no free id for a session": Case(PERSON, opening(), Conflict),
    "close a session without trust": Case(UNKNOWN, c.CloseSession(id="open"), Forbidden),
    "close a session again": Case(PERSON, c.CloseSession(id="ran"), None),
    "close a session that is only named": Case(PERSON, c.CloseSession(id="named"), NotFound),
    "close another user's session": Case(ANN, c.CloseSession(id="open"), NotFound),
    "close a session of several users": Case(PERSON, c.CloseSession(id="both"), Ambiguous),
    "erase no session": Case(PERSON, c.Erase(id="named", what="session"), NotFound),
    "erase no sessions of a user": Case(
        PERSON, c.EraseAll(ids=(), sessions=("open",), user="ann"), None
    ),
    # proposals
    "propose for what is not there": Case(PERSON, proposed(target="z"), NotFound),
    "propose for what is forgotten": Case(PERSON, proposed(target="gone"), Conflict),
    "no free id for a proposal": Case(PERSON, proposed(chance=TAKEN), Conflict),
    "propose once more": Case(AGENT, proposed(target="b"), LimitExceeded),
    "file once more": Case(
        AGENT, c.Revise(id="b", text="x", stamp=STAMP, chance="0" * 16), LimitExceeded
    ),
    "file the same again": Case(
        AGENT, c.Revise(id="a", text="x", stamp=STAMP, chance="0" * 16), None
    ),
    "forget what is gone as an agent": Case(
        AGENT, c.Forget(id="gone", stamp=STAMP, chance="0" * 16), Forbidden
    ),
    "review as an agent": Case(AGENT, review("p", "approved"), Forbidden),
    "review nothing": Case(PERSON, review("z", "approved"), NotFound),
    "review another user's": Case(ANN, review("bobs", "approved"), NotFound),
    "review what was not shown": Case(PERSON, review("p", "approved", "0" * 64), Changed),
    "approve what is stale": Case(PERSON, review("p-stale", "approved"), Changed),
    "approve another type than a field has": Case(PERSON, review("p-odd", "approved"), Conflict),
    "approve other fields": Case(PERSON, review("p-more", "approved"), Conflict),
    "approve other fields of a new record": Case(
        PERSON, review("p-new-trust", "approved"), Conflict
    ),
    "approve a new record with another type than a field has": Case(
        PERSON, review("p-new-expires", "approved"), Conflict
    ),
    "approve a new record with tags that are no names": Case(
        PERSON, review("p-new-tags", "approved"), Conflict
    ),
    "approve an addition without words": Case(PERSON, review("p-empty", "approved"), Conflict),
    "approve what speaks of a later event": Case(PERSON, review("p-ahead", "approved"), Changed),
    "erase no proposal": Case(PERSON, c.Erase(id="z", what="proposal"), NotFound),
    "review again": Case(PERSON, review("p-done", "rejected"), Conflict),
    "reject what is not held": Case(PERSON, review("a", "rejected"), Conflict),
    "approve what is trusted": Case(PERSON, review("a", "approved"), Conflict),
    "approve what is forgotten": Case(PERSON, review("gone", "approved"), Conflict),
    "withdraw nothing": Case(PERSON, c.Withdraw(id="z"), NotFound),
    "withdraw again": Case(PERSON, c.Withdraw(id="p-done"), Conflict),
    "withdraw a person's as an agent": Case(AGENT, c.Withdraw(id="p-mine"), Forbidden),
    "hand out again": Case(PERSON, c.Hand(receipt=RECEIPT), None),
    # branches
    **{f"branch: {name}": Case(*row) for name, row in branch_outcomes.rows(STATE).items()},
}
# What an agent may do unless a policy asks a person.
GOVERNED: tuple[c.Act, ...] = (
    c.Revise(id="loose", text="x"),
    c.Revert(id="loose"),
    c.Restore(id="loose"),
    c.Retract(id="loose"),
)
FORGETTING = tuple(c.Forget(id="a") for _ in range(FORGET_AT_ONCE_MAX_COUNT + 1))
COMMANDS: dict[str, tuple[c.Command, type[RecollectError] | None]] = {
    name: (c.Command(id="x", actor=actor, acts=acts, expect=expect), refusal)
    for name, (actor, acts, expect, refusal) in {
        "no expectation": (PERSON, (), None, None),
        "at the position": (PERSON, (), 9, None),
        "at another position": (PERSON, (), 8, Changed),
        "at the record's seq": (PERSON, (), ("a", 1), None),
        "at another seq": (PERSON, (), ("a", 2), Changed),
        "at the document's seq": (PERSON, (), ("rules/mail", len(STATE)), None),
        "at another seq of a document": (PERSON, (), ("rules/mail", 1), Changed),
        "of no document": (PERSON, (), ("rules/z", 1), NotFound),
        "of nothing": (PERSON, (), ("z", 1), NotFound),
        "of another user's": (ANN, (), ("bobs", 4), NotFound),
        "forgets many as a person": (PERSON, FORGETTING, None, None),
        "forgets many as an agent": (AGENT, FORGETTING, None, Forbidden),
    }.items()
}


@pytest.fixture(name="view", scope="module")
def of_the_state() -> Iterator[Reads]:
    db = folded()
    yield Reads(db)
    db.close()


def refused_at(error: RecollectError) -> tuple[str, int]:
    """The module and the line that refused."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return Path(last.filename).name, last.lineno or 0


@pytest.mark.parametrize("name", CASES)
def test_an_act_is_refused_or_changes_nothing(view: Reads, name: str) -> None:
    actor, act, refusal = CASES[name]
    if refusal is None:
        assert decide(view, actor, act)[0] == []
        return
    with pytest.raises(RecollectError) as caught:
        decide(view, actor, act)
    assert type(caught.value) is refusal


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_refused_or_let_through(view: Reads, name: str) -> None:
    command, refusal = COMMANDS[name]
    if refusal is None:
        check_command(view, command, {9})
        return
    with pytest.raises(RecollectError) as caught:
        check_command(view, command, {9})
    assert type(caught.value) is refusal


def refusals(view: Reads) -> Iterator[tuple[str, int]]:
    """Where the rows of all tables are refused."""
    db = folded(ASKING)
    for act in GOVERNED:
        with pytest.raises(Forbidden) as caught:
            decide(Reads(db), AGENT, act)
        yield refused_at(caught.value)
    db.close()
    for actor, act, _ in CASES.values():
        try:
            decide(view, actor, act)
        except RecollectError as error:
            yield refused_at(error)
    for command, _ in COMMANDS.values():
        try:
            check_command(view, command, {9})
        except RecollectError as error:
            yield refused_at(error)
    with pytest.raises(Conflict) as reused:
        require_same("", c.Command(id="x", actor=PERSON, acts=()))
    yield refused_at(reused.value)


CAUGHT = "_Unreadable("  # in `intents`, which catches it and returns a reason instead


@cache
def raised() -> list[tuple[str, range]]:
    """The file and the lines of each ``raise`` statement of the package."""
    return [
        (path.name, range(node.lineno, (node.end_lineno or node.lineno) + 1))
        for path in sorted(HERE.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Raise)
        and node.exc is not None  # else it is another's refusal
        and not ast.unparse(node.exc).startswith(CAUGHT)
    ]


def unreached(reached: set[tuple[str, int]]) -> list[str]:
    """The ``raise`` statements of the package that no row comes to."""
    return [
        f"{name}:{lines.start}"
        for name, lines in raised()
        if not any((name, line) in reached for line in lines)
    ]


def test_every_refusal_has_a_row(view: Reads) -> None:
    reached = {at for at in refusals(view) if (HERE / at[0]).exists()}
    assert unreached(reached) == []
    for one in reached:  # the control: without its rows it is missed
        assert len(unreached(reached - {one})) == 1


@pytest.mark.parametrize(
    ("act", "subject"),
    [(remember(), None), (remember(id="a"), "a"), (observe(), None), (preset("new"), "new")],
)
def test_the_subject_that_an_act_names(act: c.Act, subject: str | None) -> None:
    assert named_subject(act) == subject


def test_an_id_that_is_taken_becomes_longer(view: Reads) -> None:
    assert decide(view, PERSON, remember())[1] == f"{STAMP}-{TAKEN}01"
    assert decide(view, PERSON, observe())[1] == f"e-{STAMP}-{TAKEN}01"


def test_what_deciding_will_look_up() -> None:
    names = foreseen(
        [
            remember(evidence=("x",)),
            remember(id="mine", key="k"),
            observe(),
            observe(id="e-mine"),
            c.Revise(id="a", evidence=("y",)),
            c.Forget(id="a"),
        ]
    )
    record_id, episode_id = f"{STAMP}-{TAKEN}", f"e-{STAMP}-{TAKEN}"
    chosen = {"mine", "e-mine"}
    assert names.records == {"x", "y", record_id, episode_id, *chosen}
    assert names.episodes == {"x", "y", episode_id, *chosen}
    assert len(names.contents) == 1
    assert names.keys == {"k", *chosen}


@pytest.mark.parametrize(
    ("actor", "role", "origin"),
    [(PERSON, "user", "person"), (PERSON, "tool", "unverified"), (UNKNOWN, "user", "unverified")],
)
def test_an_episode_has_the_origin_of_its_speaker(
    actor: c.Actor, role: e.Role, origin: e.Origin
) -> None:
    said = msgspec.structs.replace(episode("e-2"), role=role)
    assert origin_of(actor, said) == origin
    assert origin_of(actor, record("c")) == actor.trust
