"""One request of a browser, from bytes to bytes (ASGI).

Responsible for routing, for reading forms and for running a page in one worker thread. Leaves
access to ``guard`` and ``session``, and what is shown to ``pages``. Invariants: all reads of a page
come from one position; nothing of a memory is answered without a session; no answer that shows a
memory is kept by a cache.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from msgspec import json
from msgspec.structs import replace

from recollect.errors import Changed, RecollectError
from recollect.interfaces.web import layout as around
from recollect.interfaces.web import render, stops, table
from recollect.interfaces.web.asked import AWAY, Asked, Place, parsed
from recollect.interfaces.web.checked import CHECKED
from recollect.interfaces.web.consent import PLACE, Consent
from recollect.interfaces.web.draw.browsers import browser
from recollect.interfaces.web.forms import FORM_MAX_BYTES, Form, fields_of
from recollect.interfaces.web.guard import Guard, Turned
from recollect.interfaces.web.login.session import (
    Session,
    Sessions,
    cookie_name,
    cookie_of,
    set_cookie,
)
from recollect.interfaces.web.login.start_page import led_on
from recollect.interfaces.web.memories import Memories, Reach, Takes
from recollect.interfaces.web.of_store import OfStore
from recollect.interfaces.web.problem import conflict, problem_of
from recollect.interfaces.web.reply import SETTINGS, Reply, Visit, body_of, rate_class, to_own
from recollect.interfaces.web.rights import rights
from recollect.interfaces.web.streams import Streams
from recollect.interfaces.web.view import Flash, Login, Shown, View
from recollect.memory import Memory
from recollect.serving.entries import NotLetIn
from recollect.serving.guard import Receive, Scope, Send
from recollect.store.seam import REAL, Seam

_THREADS_COUNT: Final = 4
LOGIN_MAX_BYTES: Final = 65_536  # nobody without a token makes the service hold a long body
_TRIES: Final = 3
_STATIC: Final = Path(__file__).parent / "static"
_KINDS: Final = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
                 ".svg": "image/svg+xml"}  # fmt: skip
_KEPT: Final = "private, max-age=86400"  # its address changes with each process
_NO_SESSION: Final = Turned(
    401,
    "this browser has not been let in",
    "run `recollect ui`, which opens a page of its own; its link works once, for a minute",
)
_LOGGED_OUT: Final = Turned(
    401,
    "you were logged out, and nothing was changed",
    "go back to copy what you wrote, and log in again in another tab",
)
_IN_WORK_OF_ONE: Final = 3  # requests at a time, so that others find a thread
_LIVE: Final = ("live",)  # behind a space
_LOGIN: Final = (AWAY, "login")
_LOGOUT: Final = (AWAY, "logout")
SENT: Final = Reply(0)  # a stream, which has answered by itself
_WRONG: Final = "This token is not one of this service, or it has ended."


class App:
    """The application that a server runs, or that another one mounts."""

    def __init__(
        self,
        memories: Memories,
        sessions: Sessions,
        guard: Guard,
        seam: Seam = REAL,
        take: Takes | None = None,
        consent: Consent | None = None,
    ) -> None:
        self._memories = memories
        self._consent = consent  # asked about assistants that want to be let in
        self._take = take  # counts a request of a token; refuses what is too often
        self._in_work: Counter[str] = Counter()
        self._sessions = sessions
        self._guard = guard
        self._seam = seam
        self._store = OfStore(memories, sessions, seam)
        self._waiting = around.Waiting()
        self._streams = Streams()
        self._threads = ThreadPoolExecutor(_THREADS_COUNT, thread_name_prefix="ui")
        self._aside = ThreadPoolExecutor(2, thread_name_prefix="ui-aside")  # login and streams
        self.entered: Callable[[], None] = lambda: None  # when the page on the disk was used
        self._files = {path.name: path.read_bytes() for path in sorted(_STATIC.iterdir())}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request, or the startup and the shutdown."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        visit = Visit(scope, receive, send)
        try:
            reply = await self._reply(visit)
        except Exception as error:  # noqa: BLE001 - the last place that can answer it readably
            reply = self._problem(visit, error)
        if reply is SENT:
            return
        await reply.send(send, with_body=scope["method"] != "HEAD")

    async def _reply(self, visit: Visit) -> Reply:
        """The answer of the first step that knows the visit; each looks at it in this order."""
        steps = (
            self._post_key, self._check, self._open_key, self._find, self._file, self._log_in,
        )  # fmt: skip
        for step in steps:
            reply = await step(visit)
            if reply is not None:
                return reply
        return await self._serve(visit)

    async def _post_key(self, visit: Visit) -> Reply | None:
        """The page on the disk lets its browser in; it comes from no page of ours."""
        if not self._is_key(visit, "POST"):
            return None
        visit.headers = self._guard.named(visit.scope["headers"])  # from a file; its key lets in
        return self._posted(visit, await body_of(visit.receive, LOGIN_MAX_BYTES))

    async def _check(self, visit: Visit) -> None:
        """From here on a visit has passed the guard."""
        visit.headers = self._guard.check(visit.method, visit.scope["headers"])

    async def _open_key(self, visit: Visit) -> Reply | None:
        return self._opened(visit) if self._is_key(visit, "GET") else None

    def _is_key(self, visit: Visit, method: str) -> bool:
        is_here = visit.path == "/open" and visit.method == method
        return is_here and not self._sessions.has_login

    async def _find(self, visit: Visit) -> None:
        """From here on a visit is to a page below the root."""
        root = self._sessions.root
        if not visit.path.startswith(f"{root}/"):
            hint = "the terminal where it runs shows its address"
            raise Turned(404, "this inspector has no page of that name", hint)
        visit.segments = tuple(visit.path[len(root) + 1 :].removesuffix("/").split("/"))

    async def _log_in(self, visit: Visit) -> Reply | None:
        """The page that asks for a token, which needs no session."""
        if not self._sessions.has_login or visit.segments != _LOGIN:
            return None
        body = b"" if visit.is_safe else await body_of(visit.receive, LOGIN_MAX_BYTES)
        work = asyncio.get_running_loop().run_in_executor
        return await work(self._aside, self._login, visit, body)

    async def _serve(self, visit: Visit) -> Reply:
        """What a browser that was let in asks for."""
        has_login, is_live = self._sessions.has_login, _is_live(visit)
        cookie = cookie_of(visit.headers.get("cookie", ""), cookie_name(self._sessions))
        visit.session = session = self._sessions.find(cookie, is_visit=not is_live)
        if session is not None:
            return await (self._stream if is_live else self._work)(visit, session)
        if has_login and visit.is_safe:
            return self._to_login(visit)
        raise _LOGGED_OUT if has_login else _NO_SESSION

    async def _work(self, visit: Visit, session: Session) -> Reply:
        """One page or one act, in a thread; a browser has a few at a time."""
        body = b"" if visit.is_safe else await body_of(visit.receive, FORM_MAX_BYTES)
        work, owner = asyncio.get_running_loop().run_in_executor, session.owner
        if self._in_work[owner] >= _IN_WORK_OF_ONE:
            raise Turned(503, "several of your pages are still loading", "wait for them")
        self._in_work[owner] += 1
        try:
            return await work(self._threads, self._answer, visit, session, visit.segments, body)
        finally:
            self._in_work[owner] -= 1
            self._in_work += Counter()  # drops what is zero

    async def _stream(self, visit: Visit, session: Session) -> Reply:
        """Says how much is new in a memory, until the browser or the session goes."""
        space, loop = table.decoded(visit.segments[0]), asyncio.get_running_loop()
        after = Asked(place=Place(root="", space=space), query=parsed(visit.query)).number(
            "after", 0
        )

        def read() -> int | None:
            if self._sessions.find(session.id, is_visit=False) is None:
                return None
            try:
                with self._memories.visit(session) as reach:
                    return reach.open(space).events.position
            except (NotLetIn, RecollectError):
                return None

        async def head() -> int | None:
            return await loop.run_in_executor(self._aside, read)

        await self._streams.stream(session.owner, after, head, visit.receive, visit.send)
        return SENT

    def _to_login(self, visit: Visit) -> Reply:
        """To the page that asks for a token, and back from there."""
        asked = f"?{visit.query.decode('latin-1')}" if visit.query else ""
        back = to_own(self._sessions.root, visit.path + asked)
        place = f"{self._sessions.root}/{'/'.join(_LOGIN)}?{urlencode({'back': back})}"
        return Reply(303, headers={"Location": place})

    def _login(self, visit: Visit, body: bytes) -> Reply:
        """The page that asks for a token, and what it sends."""
        try:
            if visit.is_safe:
                back, said = (parsed(visit.query).get("back") or ("",))[-1], None
            else:
                fields = fields_of(visit.headers, body)
                back, said = fields.get("back", ""), _WRONG
                session = self._sessions.enter(fields.get("token", "").strip(), _browser(visit))
                if session is not None:
                    place = to_own(self._sessions.root, back)
                    cookie = set_cookie(self._sessions, session.id)
                    return Reply(303, headers={"Location": place, "Set-Cookie": cookie})
            layout = around.bare(self._sessions.root, None)
            main = Login(back=to_own(self._sessions.root, back), said=said)
            page = render.page("login.html", layout, None, main=main)
            return Reply(200 if said is None else 401, page)
        except Exception as error:  # noqa: BLE001 - shown as a page, in this thread
            return self._problem(visit, error)

    def _opened(self, visit: Visit) -> Reply:
        """Lets a browser in, once for each key; what a browser loads ahead is not a visit."""
        if "sec-purpose" in visit.headers or "purpose" in visit.headers:
            raise Turned(403, "this link is not loaded ahead")
        given = parsed(visit.query).get("key", ("",))
        session = self._sessions.enter(given[0], _browser(visit))
        if session is None:
            raise _NO_SESSION
        cookie = set_cookie(self._sessions, session.id)
        return Reply(303, headers={"Location": self._sessions.first, "Set-Cookie": cookie})

    def _posted(self, visit: Visit, body: bytes) -> Reply:
        """Lets the browser in that opened the page on the disk, which is not needed any more."""
        key = fields_of(visit.headers, body).get("key", "")
        session = self._sessions.enter(key, _browser(visit))
        if session is None:
            raise _NO_SESSION
        self.entered()
        cookie = set_cookie(self._sessions, session.id)
        return Reply(200, led_on(self._sessions.first), headers={"Set-Cookie": cookie})

    async def _file(self, visit: Visit) -> Reply | None:
        """A style, a program or a picture, which say nothing of a memory."""
        segments = visit.segments
        if not (segments[0] == AWAY and visit.is_safe and segments[-1] in self._files):
            return None
        name = segments[1] if len(segments) == 2 else ""
        if name not in self._files:
            raise Turned(404, "this inspector has no file of that name")
        kind = _KINDS[Path(name).suffix]
        return Reply(200, self._files[name], kind, {"Cache-Control": _KEPT})

    def _answer(
        self, visit: Visit, session: Session, segments: tuple[str, ...], body: bytes
    ) -> Reply:
        """One page or one act, in a worker thread."""
        try:
            if segments == _LOGOUT and not visit.is_safe:
                return self._logout(session)
            if self._take is not None and session.token:
                self._take(session.token, rate_class(visit, segments))
            with self._memories.visit(session) as reach:
                return self._answer_in(reach, visit, session, segments, body)
        except NotLetIn:  # its token has ended since
            self._sessions.end(session)
            return self._to_login(visit) if visit.is_safe else self._problem(visit, _LOGGED_OUT)
        except Exception as error:  # noqa: BLE001 - shown as a page, in this thread
            return self._problem(visit, error)

    def _answer_in(
        self, reach: Reach, visit: Visit, session: Session, segments: tuple[str, ...], body: bytes
    ) -> Reply:
        if segments[0] == AWAY:
            if segments[1:] in SETTINGS and not visit.is_safe:
                return self._set(visit, session, segments[1:], body)
            if self._consent is not None and segments[1:2] == (PLACE,):
                return self._consent.answer(
                    reach.store, visit, session, segments[2:], body,
                    lambda: self._sessions.find(session.id, is_visit=False) is not None,
                )  # fmt: skip
            return self._store.answer(reach, visit, session, segments[1:], body)
        if segments == ("",):
            return self._store.spaces(reach, session)
        space = table.decoded(segments[0])
        memory = reach.open(space)
        asked = self._asked(visit, reach, space, segments[1:], memory)
        if visit.is_safe:
            return self._page(reach, session, asked, segments[1:], memory)
        return self._act(visit, reach, session, asked, segments[1:], memory, body)

    def _logout(self, session: Session) -> Reply:
        """Ends the session; the token goes on."""
        self._sessions.end(session)
        place = f"{self._sessions.root}/{'/'.join(_LOGIN)}" if self._sessions.has_login else "/"
        taken = set_cookie(self._sessions, "")
        return Reply(303, headers={"Location": place, "Set-Cookie": taken})

    def _set(self, visit: Visit, session: Session, segments: tuple[str, ...], body: bytes) -> Reply:
        """A setting of this browser: its theme, or whether single keys act."""
        fields = fields_of(visit.headers, body)
        if segments == ("theme",) and fields.get("theme") in ("auto", "light", "dark"):
            session.theme = fields["theme"]  # type: ignore[assignment]
        elif segments == ("keys",):
            session.has_keys = fields.get("keys") == "on"
        else:
            raise Turned(404, "this inspector has no setting of that name")
        root = self._sessions.root
        return Reply(303, headers={"Location": to_own(root, fields.get("back", ""))})

    def _asked(
        self, visit: Visit, reach: Reach, space: str, path: tuple[str, ...], memory: Memory
    ) -> Asked:
        query = parsed(visit.query)
        head = memory.events.position
        at = (query.get("at") or ("",))[-1].strip()
        position = head if not at else stops.position_of(memory, at, self._seam.tz_minutes())
        return Asked(
            place=self._memories.place(self._sessions.root, space),
            path=tuple(table.decoded(each) for each in path),
            query=query,
            position=position,
            head=head,
            at=None if position >= head else position,
            now=self._seam.now(),
            tz_minutes=self._seam.tz_minutes(),
            cannot_write=reach.cannot_write(space),
        )

    def _page(
        self, reach: Reach, session: Session, asked: Asked, path: tuple[str, ...], memory: Memory
    ) -> Reply:
        line, names = table.find(table.PAGES, path)
        asked = replace(asked, names=names)
        view, asked = _read(line, asked, memory)
        if view.to is not None:
            return Reply(303, headers={"Location": view.to})
        if view.download is not None:
            named = {"Content-Disposition": f'attachment; filename="{view.download.name}"'}
            return Reply(view.status, view.download.body, "application/octet-stream", named)
        if asked.text("as") == "json":
            return Reply(view.status, json.encode(view.answer), "application/json")
        layout = self._layout(reach, session, asked, line, view, memory)
        page = render.page(line.template, layout, asked, main=view.main, url=asked.url)
        return Reply(view.status, page)

    def _layout(
        self, reach: Reach, session: Session, asked: Asked, line: table.Page | None, view: View,
        memory: Memory,
    ) -> around.Layout:  # fmt: skip
        root, space = self._sessions.root, asked.place.space
        waiting = self._waiting.count(session, space, memory, asked.head)
        nav = tuple(
            around.Entry(
                name=each.name.lower(),
                href=asked.url(*([each.path] if each.path else [])),
                is_here=each is line,
                count=waiting if each.path == "review" else "",
            )
            for each in table.PAGES
            if each.nav
        )
        spaces = tuple(
            around.Entry(
                name=name,
                href=Asked(place=self._memories.place(root, name)).url(),
                is_here=name == space,
            )
            for name in reach.spaces()
        )
        return around.Layout(
            root=root, theme=session.theme, has_keys=session.has_keys, title=view.title,
            has_login=self._sessions.has_login,
            back=asked.here(), space=space, spaces=spaces, nav=nav, query=asked.text("q"),
            flash=session.told(asked.text("said")), time=around.time_bar(asked, memory),
            is_past=asked.is_past, warning=asked.cannot_write,
            off=_off(reach, asked, memory),
            calls=view.calls, json=asked.here(**{"as": "json"}), refresh_s=view.refresh_s,
            live=asked.url(*_LIVE, after=asked.head)
            if line is not None and line.live and not asked.is_past
            else None,
        )  # fmt: skip

    def _act(
        self, visit: Visit, reach: Reach, session: Session, asked: Asked, path: tuple[str, ...],
        memory: Memory, body: bytes,
    ) -> Reply:  # fmt: skip
        line, names = table.find(table.ACTS, path)
        if off := _off(reach, asked, memory)[line.path]:
            raise Turned(403, off)
        form = Form(asked=replace(asked, names=names), fields=fields_of(visit.headers, body))
        try:
            done = line.do(form, memory)
        except Changed as error:
            done = conflict(form, memory, error)
        if isinstance(done, Shown):
            return self._shown(reach, session, form.asked, done, memory)
        said = session.tell(Flash(said=done.said, undo=done.undo), self._seam)
        joint = "&" if "?" in done.to else "?"
        return Reply(303, headers={"Location": f"{done.to}{joint}said={said}"})

    def _shown(
        self, reach: Reach, session: Session, asked: Asked, shown: Shown, memory: Memory
    ) -> Reply:
        """The page of an act that was not done; it has no address of its own."""
        view = View(title=shown.title, main=shown.main, answer=None)
        found = self._layout(reach, session, asked, None, view, memory)
        layout = replace(found, time=None, json=None, back=asked.url())
        page = render.page(shown.template, layout, asked, main=shown.main, url=asked.url)
        return Reply(shown.status, page)

    def _problem(self, visit: Visit, error: Exception) -> Reply:
        found = problem_of(error, self._seam.random(4).hex())
        root = self._sessions.root
        if not visit.path.startswith(f"{root}/"):  # a page would tell where it begins
            said = f"{found.said} {found.hint or ''}".strip()
            return Reply(found.status, f"{said}\n".encode(), "text/plain; charset=utf-8")
        layout = around.bare(root, visit.session)
        return Reply(found.status, render.page("problem.html", layout, None, main=found))

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.close()
        await send({"type": "lifespan.shutdown.complete"})

    @property
    def path(self) -> str:
        """Where it begins."""
        return self._sessions.first

    def drain(self) -> None:
        """Ends streams, so that the process can end."""
        self._streams.end()

    def close(self) -> None:
        """Ends its threads and what it keeps for sessions."""
        self._threads.shutdown()
        self._aside.shutdown()
        CHECKED.stop()
        self._memories.close()


def _is_live(visit: Visit) -> bool:
    """True for a stream of what is new in a memory."""
    is_space = visit.segments[1:] == _LIVE and visit.segments[0] != AWAY
    return is_space and visit.method == "GET"


def _browser(visit: Visit) -> str:
    return browser(visit.headers.get("user-agent", ""))


def _off(reach: Reach, asked: Asked, memory: Memory) -> Mapping[str, str | None]:
    """Why each act on a memory is off, by its path."""
    off = asked.cannot_write or (around.PAST if asked.is_past else None)
    return table.reasons(table.ACTS, rights(reach.token(), memory), off)


def _read(line: table.Page, asked: Asked, memory: Memory) -> tuple[View, Asked]:
    """A page whose reads all saw one position.

    The present is read as it is, which is faster than a past position, and once more if a write
    came between.
    """
    if asked.is_past:
        return line.read(asked, memory.at(asked.position)), asked
    for _ in range(_TRIES):
        view = line.read(asked, memory)
        head = memory.events.position
        if head == asked.head:
            return view, asked
        asked = replace(asked, position=head, head=head)
    return line.read(asked, memory.at(asked.head)), asked
