"""What one request does in a thread: from its parts to its answer.

Responsible for entering the store, making the call, and the headers that follow from its answer.
Leaves bodies and sending to ``app`` and what is done to ``calls``. Invariant: a request works with
the rights of its own token.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlencode

import msgspec
from msgspec import structs

from recollect.errors import Changed, Forbidden, RecollectError
from recollect.interfaces.http import replies, requests
from recollect.interfaces.http.call import Answer, Call, File, needs_match, past
from recollect.interfaces.http.entries import Entries, Entry
from recollect.interfaces.http.limits.gate import Headers, unauthorized
from recollect.interfaces.http.limits.rates import Rates
from recollect.interfaces.http.problems import Refused, refusal
from recollect.interfaces.http.replies import Reply
from recollect.interfaces.http.routes import STRICT, Route
from recollect.interfaces.http.seen import Seen
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.memory.handle.repeats import noticing
from recollect.model import wire
from recollect.model.values import INCLUDES, MadeToken
from recollect.store.deadline import within
from recollect.store.entered import EnteredSpace
from recollect.store.tokens.tokens import Ended

READ_MAX_S: Final = 30.0
_ANSWER_MAX_BYTES: Final = 67_108_864
_CREATED: Final = 201
_LONG: Final = frozenset(  # reads that may take long, or whose answer is read later
    "verify get_ledger export events diff branch_diff digest audit prove prove_event check "
    "get_checkpoint graph overview retrace".split()
)
_OF_THE_STORE: Final = ("create", "drop", "admin")  # verbs that no handle of a memory narrows


class Rules(NamedTuple):
    """What a service allows beyond what tokens do."""

    rates: Rates
    is_strict: bool = False  # changes need If-Match
    root_path: str = ""  # the prefix under which a proxy has the service


class Work(NamedTuple):
    """A request, to be done in a thread once its body is there."""

    entries: Entries
    rules: Rules
    route: Route
    path: str  # as it was sent
    names: dict[str, str]
    token: str
    headers: Headers
    query: bytes
    seen: Seen

    def reply(self, raw: bytes) -> Reply:
        """The answer to the request."""
        try:
            is_asked = "space" not in self.names  # else the look at the space asks
            with self.entries.using(self.token, is_asked=is_asked) as entry:
                with self._in_time(), self._together(entry), noticing() as noticed:
                    call = self._call(entry, raw)
                    found = self._made(call)
                self._settle(call, found)
            reply = self._answered(found)
        except Ended as error:
            return replies.refused(unauthorized(error.message), self.seen, self.rules.root_path)
        except (Refused, RecollectError) as error:
            return replies.refused(refusal(error), self.seen, self.rules.root_path)
        if noticed.is_repeated:
            reply = reply._replace(headers={**reply.headers, "Recollect-Repeated": "true"})
        if self.route.gives is MadeToken or not replies.is_asked(
            self.headers.get("accept-encoding", "")
        ):
            return reply
        return replies.packed(reply)

    def _in_time(self) -> AbstractContextManager[None]:
        """A limit for reads, but for those of a whole ledger, which take as long as it is."""
        return nullcontext() if self.route.rate_class == "admin" else within(READ_MAX_S)

    def _together(self, entry: Entry) -> AbstractContextManager[None]:
        """One look at token and ledger for a short read; the ledger is free for others else."""
        is_short = self.route.verb == "read" and self.route.name not in _LONG
        if not is_short or "space" not in self.names:
            return nullcontext()
        space = handle_of(entry.memory(self.names["space"])).space
        return space.together() if isinstance(space, EnteredSpace) else nullcontext()

    def _made(self, call: Call) -> Any:
        """What the operation gives; a refusal for a change has the ETag that would not be late."""
        try:
            return self.route.call(call)
        except Changed as error:
            late = refusal(error)
            tag = None if call.write.match is None else _current_tag(call)
            if tag is not None:
                late.headers = {**late.headers, "ETag": tag}
            raise late from error

    def _settle(self, call: Call, found: Any) -> None:
        """Closes a space that was opened to create it."""
        if self.route.name == "create_space" and found.status == _CREATED:
            self.entries.settle(call.body.name)
        elif self.route.name == "push_ledger":
            self.entries.settle(self.names["space"])

    def asked(self, raw: bytes) -> tuple[Call, Entry] | Reply:
        """The request alone, for a stream, or why there is none."""
        entry: Entry | None = None
        try:
            entry = self.entries.take(self.token)
            call = self._call(entry, raw)
            if self.route.name == "events":
                _check_events(call)
        except (Refused, RecollectError) as error:
            if entry is not None:
                self.entries.give_back(entry)
            return replies.refused(refusal(error), self.seen, self.rules.root_path)
        return call, entry

    def _call(self, entry: Entry, raw: bytes) -> Call:
        self.seen.token_id, self.seen.rate_class = entry.token_id, self.route.rate_class
        self.rules.rates.take(entry.key, self.route.rate_class)
        if self.route.verb in _OF_THE_STORE and requests.narrowing(self.headers):
            raise Forbidden("a narrowed request has no rights over the whole store")
        query = requests.parameters(self.query, self.route.query)
        memory = self._memory(entry, query)
        call = Call(
            store=entry.store,
            memory=memory,
            path=self.names,
            body=requests.body(raw, self.route.takes),
            query=query,
            write=requests.written(self.headers, self.route.is_write),
        )
        if self.rules.is_strict and self.route.name in STRICT:
            needs_match(call)
        return call

    def _memory(self, entry: Entry, query: Any) -> Memory | None:
        if "space" not in self.names:
            return None
        may_be_new = self.route.name == "push_ledger"  # then its first event is theirs
        opened = entry.store.space if may_be_new else entry.memory
        memory = requests.memory(opened, self.names["space"], self.headers)
        at = getattr(query, "at", msgspec.UNSET)
        return memory if at is msgspec.UNSET else past(memory, at)

    def _answered(self, found: Any) -> Reply:
        answer = found if isinstance(found, Answer) else Answer(value=found)
        answer = structs.replace(answer, headers=self._placed(answer))
        tag, known = answer.headers.get("ETag"), self.headers.get("if-none-match", "")
        if not self.route.is_write and tag and requests.is_known(tag, known):
            return Reply(304, headers=answer.headers)
        status = answer.status or self.route.status
        if isinstance(answer.value, File):
            return Reply(status, b"", self.route.media.encode(), answer.headers, answer.value)
        body = b"" if answer.value is None else msgspec.json.encode(answer.value)
        if len(body) > _ANSWER_MAX_BYTES:
            detail = f"the answer is longer than {_ANSWER_MAX_BYTES:,} bytes"
            raise Refused(422, "limit_exceeded", detail, hint="ask for less")
        return Reply(status, body, headers=answer.headers)

    def _placed(self, answer: Answer) -> dict[str, str]:
        """The headers of an answer, with addresses as the caller reaches them."""
        found, root = dict(answer.headers), self.rules.root_path
        if root and "Location" in found:
            found["Location"] = root + found["Location"]
        if isinstance(answer.value, wire.Page) and answer.value.next is not None:
            name, asked = self.route.continues, parse_qsl(self.query.decode(), True)
            rest = urlencode(
                [*(pair for pair in asked if pair[0] != name), (name, answer.value.next)]
            )
            found["Link"] = f'<{root}{self.path}?{rest}>; rel="next"'
        return found


def _check_events(call: Call) -> None:
    """Refuses a stream of events before it begins."""
    if "at" in call.query.given():
        raise Refused(400, "malformed", "a stream has no past", hint="use after= instead")
    call.space.events.list(**{**call.query.given(), "limit": 1})


def _current_tag(call: Call) -> str | None:
    """The ETag that a late write would need now; None if what it names is not there."""
    is_head, _, of = wire.parse_tag(call.write.match or "")
    id = of or call.path.get("id")
    try:
        if is_head or id is None:
            return wire.head_tag(call.space.events.position)
        return wire.version_tag(call.space.get(id, include=INCLUDES).seq, of)
    except RecollectError:
        return None
