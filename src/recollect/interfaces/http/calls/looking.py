"""What is newest, the graph, the audit and pages."""

from __future__ import annotations

import msgspec

from recollect.interfaces.http.call import Call
from recollect.model.values import (
    AuditEntry,
    Episode,
    Finding,
    Graph,
    OrderedErasure,
    Overview,
    PageInfo,
    Record,
)


class PageText(msgspec.Struct, frozen=True, kw_only=True):
    """A page as Markdown."""

    text: str


def recent(call: Call) -> list[Record | Episode]:
    """What is newest, by the instant it was said."""
    return call.space.sessions.recent(**call.query.given("at"))


def overview(call: Call) -> Overview:
    """What the memory holds in general."""
    return call.space.sessions.overview(**call.query.given("at"))


def graph(call: Call) -> Graph:
    """The whole graph, in pages."""
    return call.space.graph.list(**call.query.given("at"))


def path(call: Call) -> Graph:
    """The shortest path along links from one record to another."""
    return call.space.graph.path(**call.query.given("at"))


def audit(call: Call) -> list[AuditEntry]:
    """Who told the memory what, who approved it, what was handed out and erased."""
    return call.space.proof.audit(**call.query.given("at"))


def erasures(call: Call) -> list[OrderedErasure]:
    """Every erasure that the ledger records, oldest first."""
    return call.space.proof.erasures()


def check(call: Call) -> list[Finding]:
    """What leads nowhere: links without an end, events without effect."""
    return call.space.admin.check()


def pages(call: Call) -> list[PageInfo]:
    """The pages of this memory."""
    return call.space.pages.list()


def page(call: Call) -> PageText:
    """One page as Markdown."""
    return PageText(text=call.space.pages.read(call.path["name"]))
