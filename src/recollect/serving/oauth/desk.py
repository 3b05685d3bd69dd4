"""What waits for a person, and the codes that an approval is exchanged for.

Responsible for both, in the memory of this process. Leaves the page to ``interfaces.web`` and the
exchange's form to ``interfaces.http``. Invariants: a request waits ten minutes, for the session
that opened it, and is not approved before a person can have read it; a code works once, for a
minute, while that session lasts, for the client, the address, the verifier and the resource that it
was made for; the token is created by the rights of the person who approved, as they are when the
code is exchanged, and allows what was approved and no more; a code that comes twice ends the token
it was exchanged for.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from hashlib import sha256
from typing import Final, Literal, Protocol, TypeVar
from urllib.parse import urlencode

import msgspec

from recollect.errors import InvalidInput, NotFound, RecollectError, Unavailable
from recollect.memory.store import Store
from recollect.model import instants
from recollect.model.values import MadeToken
from recollect.model.wire import encoded
from recollect.serving.entries import NotLetIn
from recollect.serving.oauth import access_request, addresses
from recollect.serving.oauth.access_request import Request
from recollect.serving.oauth.clients import Client
from recollect.store.seam import REAL, Seam

ASK_MAX_S: Final = 600.0
CODE_MAX_S: Final = 60.0
READ_MIN_S: Final = 1.0  # a second click of two must not approve what the first one opened
_OF_ONE: Final = 10  # of one session, or of one person
_MOST: Final = 1_000
NOT_ANY_MORE: Final = "the person who approved may not give this any more"
LOGGED_OUT: Final = "the person who approved has logged out since"
State = Literal["open", "denied", "approved", "taken", "over"]


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a person approved."""

    space: str | None
    verbs: tuple[str, ...]
    trust: Literal["agent", "unverified"]
    days: int
    user: str | None = None


class Ask:
    """A request that waits for a person."""

    def __init__(self, id: str, owner: str, request: Request, client: Client, at: float) -> None:
        self.id = id
        self.owner = owner
        self.request = request
        self.client = client
        self.at = at
        self.until = at + ASK_MAX_S
        self.answer: str | None = None  # where the browser goes, once a person decided
        self.approval: Approval | None = None
        self.is_told = False


class Approval:
    """What a code stands for."""

    def __init__(
        self, owner: str, ask: Ask, wish: Wish, until: float, is_open: Callable[[], bool]
    ) -> None:
        self.owner = owner  # the token of the person
        self.is_open = is_open  # false once the session has ended in which it was approved
        self.request = ask.request
        self.client = ask.client
        self.wish = wish
        self.until = until
        self.lock = threading.Lock()
        self.is_used = False
        self.token_id: int | None = None


class Refusal(Exception):
    """Why a code is not exchanged, as OAuth names it."""

    def __init__(self, error: str, said: str) -> None:
        super().__init__(said)
        self.error = error
        self.said = said


class Entered(Protocol):
    """The store of someone who was let in."""

    @property
    def store(self) -> Store:
        """The store, with their rights."""


Enters = Callable[[str], AbstractContextManager[Entered]]
Kept = TypeVar("Kept", Ask, Approval)


class Desk:
    """Requests and codes of one process."""

    def __init__(self, seam: Seam = REAL, clock: Callable[[], float] = time.monotonic) -> None:
        self._seam = seam
        self._clock = clock
        self._lock = threading.Lock()
        self._asks: OrderedDict[str, Ask] = OrderedDict()
        self._approvals: OrderedDict[str, Approval] = OrderedDict()

    def ask(self, owner: str, request: Request, client: Client) -> Ask:
        """Keeps a request for the session that opened it."""
        id = self._seam.random(16).hex()
        ask = Ask(id, owner, request, client, self._clock())
        self._keep(self._asks, id, ask)
        return ask

    def asked(self, owner: str, id: str) -> Ask:
        """A request that waits; NotFound if it waits no more, or for another session."""
        with self._lock:
            ask = self._asks.get(id)
        if ask is None or ask.owner != owner or ask.until <= self._clock():
            raise NotFound(
                "this request of an assistant has ended", hint="begin again in the assistant"
            )
        return ask

    def approve(self, ask: Ask, by: str, wish: Wish, is_open: Callable[[], bool]) -> str:
        """Where the browser takes a new code.

        ``by`` is the token of the person, and ``is_open`` tells whether their session still lasts.
        """
        now = self._clock()
        if now - ask.at < READ_MIN_S:
            raise InvalidInput(
                "this was approved sooner than it can be read, so nothing was given",
                hint="go back, read what the assistant asks for, and decide again",
            )
        code = encoded(self._seam.random(32))
        approval = Approval(by, ask, wish, now + CODE_MAX_S, is_open)
        self._keep(self._approvals, _name(code), approval)
        ask.approval, ask.answer = approval, _answered(ask.request, {"code": code})
        return ask.answer

    def state(self, ask: Ask) -> State:
        """What became of a request."""
        if ask.answer is None:
            return "open"
        if ask.approval is None:
            return "denied"
        with ask.approval.lock:  # waits for an exchange, so that its end is told
            if ask.approval.token_id is not None:
                return "taken"
            is_over = ask.approval.is_used or ask.approval.until <= self._clock()
            return "over" if is_over else "approved"

    def deny(self, ask: Ask) -> str:
        """Where the browser takes a refusal."""
        ask.answer = _answered(ask.request, {"error": "access_denied"})
        return ask.answer

    def redeem(self, given: Mapping[str, str], enters: Enters) -> MadeToken:
        """The token that a code is exchanged for; Refusal if it is not."""
        with self._lock:
            approval = self._approvals.get(_name(given.get("code", "")))
        if approval is None or approval.until <= self._clock():
            raise _unknown()
        with approval.lock:
            if approval.is_used:
                _end(approval, enters)
                raise _unknown()
            approval.is_used = True  # whatever is wrong below: it is tried once
            check(approval, given)
            if not approval.is_open():
                raise Refusal("invalid_grant", LOGGED_OUT)
            made = self._made(approval, enters)
            approval.token_id = made.id
            return made

    def _made(self, approval: Approval, enters: Enters) -> MadeToken:
        wish = approval.wish
        try:
            with enters(approval.owner) as entered:
                held = entered.store.token()
                ends = instants.later(self._seam.now(), timedelta(days=wish.days))
                if held is not None and held.expires is not None:
                    ends = min(ends, held.expires)
                # To create a token creates its memory: one that was dropped must not come back.
                if wish.space is not None and wish.space not in entered.store.spaces():
                    raise Refusal("invalid_grant", NOT_ANY_MORE)
                made = entered.store.tokens.create(
                    label(approval.client, approval.request), space=wish.space, verbs=wish.verbs,
                    trust=wish.trust, user=wish.user, expires=ends,
                )  # fmt: skip
                if set(made.verbs) != set(wish.verbs):
                    entered.store.tokens.revoke(made.id)
                    raise Refusal("invalid_grant", "the token would allow more than was approved")
                return made
        except Unavailable as error:
            raise Refusal("temporarily_unavailable", error.message) from error
        except (NotLetIn, RecollectError) as error:
            raise Refusal("invalid_grant", NOT_ANY_MORE) from error

    def _keep(self, kept: OrderedDict[str, Kept], name: str, one: Kept) -> None:
        """Keeps one more; of one owner a few, and of all a bounded number."""
        now = self._clock()
        with self._lock:
            for old in [key for key, each in kept.items() if each.until <= now]:
                del kept[old]
            mine = [key for key, each in kept.items() if each.owner == one.owner]
            # Those of the same client go first: a page that is being read stays, however often
            # another website opens its own.
            mine.sort(key=lambda key: kept[key].client.id != one.client.id)
            for old in mine[: max(0, len(mine) + 1 - _OF_ONE)]:
                del kept[old]
            if len(kept) >= _MOST:
                raise Unavailable("too many assistants ask at a time", hint="try again in a minute")
            kept[name] = one


def check(approval: Approval, given: Mapping[str, str]) -> None:
    """Refuses a code that someone else shows, or shows for something else."""
    request = approval.request
    if given.get("client_id") != request.client_id:
        raise _unknown()
    if given.get("redirect_uri") != request.redirect_uri:
        raise Refusal("invalid_grant", "redirect_uri is not the one that the code was sent to")
    if not access_request.is_answer(given.get("code_verifier", ""), request.challenge):
        raise Refusal("invalid_grant", "code_verifier is not the one of this code")
    if given.get("resource", request.resource) != request.resource:
        raise Refusal("invalid_target", "resource is not the one that was approved")


def label(client: Client, request: Request) -> str:
    """The name of a token, as the page of tokens lists it: where it was sent, and who asked.

    The host comes first, because the name was not checked.
    """
    host = addresses.host_of(request.redirect_uri)
    place = "on a person's computer" if host is None else f"at {host}"
    return f"assistant {place}: {client.name}"


def _end(approval: Approval, enters: Enters) -> None:
    """Ends the token of a code that was shown twice: one of the two was not the client."""
    if approval.token_id is None:
        return
    try:
        with enters(approval.owner) as entered:
            entered.store.tokens.revoke(approval.token_id)
        approval.token_id = None
    except (NotLetIn, RecollectError):  # the person has ended it, or may not any more
        return


def _answered(request: Request, answer: Mapping[str, str]) -> str:
    """The client's address with an answer; ``iss`` says whose it is (RFC 9207)."""
    told = {**answer, "iss": request.issuer}
    if request.state is not None:
        told["state"] = request.state
    joint = "&" if "?" in request.redirect_uri else "?"
    return f"{request.redirect_uri}{joint}{urlencode(told)}"


def _name(code: str) -> str:
    """A code is kept as its hash, as tokens are."""
    return sha256(code.encode("utf-8", "replace")).hexdigest()


def _unknown() -> Refusal:
    return Refusal("invalid_grant", "this code was not given to this client, or has ended")
