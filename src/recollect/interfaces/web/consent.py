"""An assistant asks to be let in, and a person decides.

Responsible for that page and its two forms. Leaves the rules of OAuth to ``serving.oauth``, and
sessions, origins and rates to ``app``. Invariants: nothing is given that the person's own token
does not hold, and never a person's trust; what an assistant says about itself is shown as its own
word; one click does not approve; the browser leaves for the assistant only after a person decided,
only to the address that was checked, and by one way at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from recollect.errors import Forbidden, InvalidInput
from recollect.interfaces.web import layout as around
from recollect.interfaces.web import render
from recollect.interfaces.web.asked import AWAY, parsed
from recollect.interfaces.web.forms import fields_of
from recollect.interfaces.web.guard import Turned
from recollect.interfaces.web.login.session import Session
from recollect.interfaces.web.reply import Reply, Visit
from recollect.memory import Store
from recollect.model import validate
from recollect.model.values import Token
from recollect.serving.oauth import access_request, addresses, clients
from recollect.serving.oauth.desk import Ask, Desk, State, Wish
from recollect.serving.oauth.documents import Documents

PLACE: Final = "assistants"
ENDS_DAYS: Final = {"1": "a day", "7": "a week", "30": "30 days", "90": "90 days"}
_USUAL: Final = "30"
_TRUSTS: Final[dict[str, Literal["agent", "unverified"]]] = {
    "agent": "agent", "unverified": "unverified",
}  # fmt: skip
_INCOMPLETE: Final = "this form is incomplete"
_AGAIN: Final = "load the page again"
_NOT_ASKED: Final = "nothing was approved, because the box “I asked for this just now” is empty"
NEEDS_ADMIN: Final = "your token may not look after tokens, so you cannot let an assistant in"
ASK_ADMIN: Final = "ask a person whose token has the verb admin"


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    ask: str
    name: str
    host: str | None  # where the answer goes; None: a program on the person's computer
    described_at: str | None
    wants: str  # the memory it names
    spaces: tuple[str, ...]
    every_space: bool
    may_write: bool
    asks_to_write: bool
    ends: dict[str, str]
    usual: str


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows when a person has decided."""

    name: str
    host: str | None
    state: State
    place: str  # where the assistant waits; empty if the browser goes there by itself, or never
    again: str  # this page once more


class Consent:
    """The pages about assistants that ask."""

    def __init__(
        self, desk: Desk, root: str, prefix: str, documents: Documents | None = None
    ) -> None:
        self._desk = desk
        self._root = root  # of the inspector
        self._prefix = prefix  # of a proxy
        self._documents = documents or Documents()

    def answer(
        self, store: Store, visit: Visit, session: Session, path: tuple[str, ...], body: bytes,
        is_open: Callable[[], bool],
    ) -> Reply:  # fmt: skip
        """One of its pages, or one of its forms; ``is_open`` tells whether the session lasts."""
        if visit.is_safe and path == ():
            return self._page(store, visit, session)
        if visit.is_safe and path == ("answered",):
            id = (parsed(visit.query).get("ask") or ("",))[-1]
            return self._answered(self._desk.asked(session.id, id), session)
        if not visit.is_safe and path in (("approve",), ("deny",)):
            return self._decided(store, visit, session, path[0], body, is_open)
        raise Turned(404, "this inspector has no page of that name", "start at the top of the page")

    def _page(self, store: Store, visit: Visit, session: Session) -> Reply:
        held = approver(store)  # for others, nothing is fetched and nothing waits
        request = access_request.parsed(
            parsed(visit.query), addresses.base(visit.scope, self._prefix)
        )
        client = clients.found(request.client_id, self._documents)
        clients.check_redirect(client, request.redirect_uri)
        ask = self._desk.ask(session.id, request, client)
        main = _main(ask, held, _spaces(ask, held, store))
        layout = self._layout(session, "An assistant asks")
        return Reply(200, render.page("consent.html", layout, None, main=main))

    def _decided(
        self, store: Store, visit: Visit, session: Session, what: str, body: bytes,
        is_open: Callable[[], bool],
    ) -> Reply:  # fmt: skip
        fields = fields_of(visit.headers, body)
        with session.acting:  # a double click makes one code, not two
            ask = self._desk.asked(session.id, fields.get("ask", ""))
            if ask.answer is None and what == "deny":
                self._desk.deny(ask)
            elif ask.answer is None:
                self._desk.approve(ask, session.token, wish(ask, fields, store), is_open)
        return Reply(303, headers={"Location": self._way_back(ask)})

    def _way_back(self, ask: Ask) -> str:
        return f"{self._root}/{AWAY}/{PLACE}/answered?ask={ask.id}"

    def _answered(self, ask: Ask, session: Session) -> Reply:
        """The way back to the assistant.

        A page and not a redirect: browsers refuse to be led to another website by a form of ours
        (``form-action``), and a person sees where they go. It leads on by itself at first, and by a
        link when it is loaded again; never by both, because a code that comes twice ends the token.
        A person who denied is led nowhere.
        """
        if ask.answer is None:
            raise Turned(404, "nothing was decided about this assistant yet", "go back and decide")
        state = self._desk.state(ask)
        leads = state == "approved" and not ask.is_told
        has_link = state == "denied" or (state == "approved" and ask.is_told)
        main = Answered(
            name=ask.client.name, host=addresses.host_of(ask.request.redirect_uri), state=state,
            place=ask.answer if has_link else "", again=self._way_back(ask),
        )  # fmt: skip
        layout = self._layout(session, "Back to the assistant")
        page = render.page("answered.html", layout, None, main=main)
        ask.is_told = True
        return Reply(200, page, headers={"Refresh": f"1; url={ask.answer}"} if leads else {})

    def _layout(self, session: Session, title: str) -> around.Layout:
        return replace(around.bare(self._root, session), title=title, has_login=True)


def wish(ask: Ask, fields: Mapping[str, str], store: Store) -> Wish:
    """What a form approves, if the person may give it."""
    held = approver(store)
    space = fields.get("space") or None
    # Every token reads. The other verbs need a person, which an assistant is not.
    verbs = ("read", "write") if fields.get("verb-write") == "on" else ("read",)
    if fields.get("ends") not in ENDS_DAYS or fields.get("trust") not in _TRUSTS:
        raise InvalidInput(_INCOMPLETE, hint=_AGAIN)
    if fields.get("asked") != "on":
        raise InvalidInput(_NOT_ASKED, hint="go back and tick it, if you did ask")
    if not set(verbs) <= set(held.verbs):
        raise Forbidden("you cannot give what your own token does not allow", hint="untick it")
    if space not in _spaces(ask, held, store):
        raise Forbidden("you cannot give this memory to this assistant", hint="choose another")
    return Wish(
        space=space, verbs=verbs, trust=_TRUSTS[fields["trust"]], days=int(fields["ends"]),
        user=validate.optional_name(fields.get("user", "").strip() or None, "user"),
    )  # fmt: skip


def approver(store: Store) -> Token:
    """The token of a person who may let assistants in; Forbidden for every other."""
    held = store.token()
    is_admin = held is not None and "admin" in held.verbs and held.trust == "person"
    if held is None or not is_admin or held.user is not None or held.agent is not None:
        raise Forbidden(NEEDS_ADMIN, hint=ASK_ADMIN)
    return held


def _spaces(ask: Ask, held: Token, store: Store) -> list[str | None]:
    """The memories that can be given; None is every one."""
    named = ask.request.space
    found = [each for each in store.spaces() if named is None or each == named]
    return [*found, *([None] if named is None and held.space is None else [])]


def _main(ask: Ask, held: Token, spaces: Sequence[str | None]) -> Main:
    request = ask.request
    if not spaces:
        raise Forbidden("your token opens no memory that this assistant asks for")
    return Main(
        ask=ask.id, name=ask.client.name, host=addresses.host_of(request.redirect_uri),
        described_at=ask.client.described_at, wants=request.space or "",
        spaces=tuple(each for each in spaces if each is not None), every_space=None in spaces,
        may_write="write" in held.verbs, asks_to_write="write" in request.scope,
        ends=ENDS_DAYS, usual=_USUAL,
    )  # fmt: skip
