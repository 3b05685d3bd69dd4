"""Documents, rules, sessions, proposals, branches; receipts and presets beyond reading them."""

from __future__ import annotations

from functools import partial

import msgspec

from recollect.interfaces.http.call import Call, created, is_found
from recollect.model.values import (
    Branch,
    Diff,
    Document,
    Erasure,
    Merged,
    Proposal,
    Rule,
    Session,
)


class Since(msgspec.Struct, frozen=True, kw_only=True):
    """An instant."""

    since: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The session that is active; null if there is none."""

    session: Session | None


def since(call: Call) -> Since:
    """When a preset was last set."""
    return Since(since=call.space.settings.presets.since(call.path["name"]))


def erase_receipt(call: Call) -> None:
    """Erase a receipt; the memory that it names stays."""
    given = {**call.query.given(), **call.write.options(call.path["receipt"])}
    call.space.proof.receipts.erase(call.path["receipt"], **given)


def flush(call: Call) -> None:
    """Write the receipts that wait for the next append."""
    call.space.admin.flush()


# --- documents ---------------------------------------------------------------------------------


def documents(call: Call) -> list[Document]:
    """Documents by their ids."""
    return call.space.settings.documents.list(**call.query.given("at"))


def document(call: Call) -> Document:
    """One document."""
    return call.space.settings.documents.get(call.path["type"], call.path["name"])


def set_document(call: Call) -> Document:
    """Set a document, whole."""
    type, name = call.path["type"], call.path["name"]
    return created(
        call,
        partial(call.space.settings.documents.set, type, name, call.body),
        lambda memory: is_found(lambda: memory.settings.documents.get(type, name)),
    )


def drop_document(call: Call) -> None:
    """Remove a document."""
    given = {**call.query.given(), **call.write.options()}
    call.space.settings.documents.drop(call.path["type"], call.path["name"], **given)


# --- rules -------------------------------------------------------------------------------------


def rules(call: Call) -> list[Rule]:
    """The rules of this memory, or those that are due."""
    if call.query.due:
        return call.space.settings.rules.due()
    return call.space.settings.rules.list(**call.query.given("at", "due"))


def rule(call: Call) -> Rule:
    """One rule."""
    return call.space.settings.rules.get(call.path["name"])


def set_rule(call: Call) -> Rule:
    """Set a rule, whole."""
    name = call.path["name"]
    return created(
        call,
        partial(call.space.settings.rules.set, name, **call.body.given()),
        lambda memory: is_found(lambda: memory.settings.rules.get(name)),
    )


def drop_rule(call: Call) -> None:
    """Remove a rule."""
    given = {**call.query.given(), **call.write.options()}
    call.space.settings.rules.drop(call.path["name"], **given)


# --- sessions ----------------------------------------------------------------------------------


def open_session(call: Call) -> Session:
    """Open a session."""
    return call.space.sessions.open(**call.body.given(), **call.write.options())


def close_session(call: Call) -> Found:
    """Close a session; with ``erase`` every byte of it is removed."""
    given = {**call.query.given(), **call.write.options()}
    return Found(session=call.space.sessions.close(call.path["id"], **given))


def sessions(call: Call) -> list[Session]:
    """Sessions, newest first, or the one that is active."""
    if call.query.active:
        found = call.space.sessions.active()
        return [] if found is None else [found]
    return call.space.sessions.list(**call.query.given("at", "active"))


# --- proposals ---------------------------------------------------------------------------------


def propose(call: Call) -> Proposal:
    """Propose a change; it waits for a person."""
    return call.space.review.propose(**call.body.given(), **call.write.options())


def withdraw(call: Call) -> Proposal:
    """Take a proposal back."""
    given = {**call.body.given(), **call.write.options()}
    return call.space.review.withdraw(call.path["id"], **given)


def erase_proposal(call: Call) -> Erasure:
    """Erase a proposal; it cannot be undone."""
    given = {**call.body.given(), **call.write.options()}
    return call.space.review.erase(call.path["id"], **given)


# --- branches ----------------------------------------------------------------------------------


def open_branch(call: Call) -> Branch:
    """Open a branch: a named line of proposals."""
    return call.space.branches.open(**call.body.given(), **call.write.options())


def branches(call: Call) -> list[Branch]:
    """Branches, newest first."""
    return call.space.branches.list(**call.query.given("at"))


def branch(call: Call) -> Branch:
    """One branch."""
    return call.space.branches.show(call.path["name"])


def diff(call: Call) -> Diff:
    """What merging a branch would change."""
    return call.space.branches.diff(call.path["name"])


def merge(call: Call) -> Merged:
    """Merge a branch, exactly as it was seen."""
    given = {**call.body.given(), **call.write.options()}
    return call.space.branches.merge(call.path["name"], **given)


def abandon(call: Call) -> Branch:
    """Close a branch without merging it."""
    given = {**call.body.given(), **call.write.options()}
    return call.space.branches.abandon(call.path["name"], **given)


def condense(call: Call) -> Branch:
    """Put one statement in the place of a branch's changes."""
    given = {**call.body.given(), **call.write.options()}
    return call.space.branches.condense(call.path["name"], **given)


def erase_branch(call: Call) -> Erasure:
    """Erase a branch with its proposals; it cannot be undone."""
    given = {**call.body.given(), **call.write.options()}
    return call.space.branches.erase(call.path["name"], **given)
