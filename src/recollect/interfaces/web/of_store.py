"""Pages and acts about the whole store: tokens, jobs, sessions and the list of memories.

Responsible for one request about them, from its path to the answer. Leaves access to ``app``, and
what is shown to ``pages``. Invariant: a form that is sent twice acts once.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import json
from msgspec.structs import replace

from recollect.interfaces.web import layout as around
from recollect.interfaces.web import render, table
from recollect.interfaces.web.asked import AWAY, Asked, parsed
from recollect.interfaces.web.forms import Form, fields_of
from recollect.interfaces.web.guard import Turned
from recollect.interfaces.web.login.logins import Logins
from recollect.interfaces.web.login.session import Session, Sessions
from recollect.interfaces.web.memories import Memories, Reach
from recollect.interfaces.web.reply import Reply, Visit
from recollect.interfaces.web.rights import rights
from recollect.interfaces.web.view import Flash, View
from recollect.store.seam import Seam


class OfStore:
    """Answers what is not about one memory."""

    def __init__(self, memories: Memories, sessions: Sessions, seam: Seam) -> None:
        self._memories = memories
        self._sessions = sessions
        self._seam = seam

    def answer(
        self, reach: Reach, visit: Visit, session: Session, path: tuple[str, ...], body: bytes
    ) -> Reply:
        """A page or an act about the whole store."""
        asked = Asked(
            place=self._memories.place(self._sessions.root, AWAY),
            path=tuple(table.decoded(each) for each in path),
            query=parsed(visit.query),
            now=self._seam.now(),
            tz_minutes=self._seam.tz_minutes(),
            cannot_write=reach.cannot_manage(),
            logins=Logins(self._sessions, session, reach.store),
        )
        if not visit.is_safe:
            return self._act(reach, visit, session, asked, path, body)
        line, names = table.find(table.STORE_PAGES, path)
        view = line.read(replace(asked, names=names), reach.store)
        if asked.text("as") == "json":
            return Reply(view.status, json.encode(view.answer), "application/json")
        layout = self._layout(reach, session, asked, line.name, view)
        page = render.page(line.template, layout, asked, main=view.main, url=asked.url)
        return Reply(view.status, page)

    def _act(
        self, reach: Reach, visit: Visit, session: Session, asked: Asked, path: tuple[str, ...],
        body: bytes,
    ) -> Reply:  # fmt: skip
        line, names = table.find(table.STORE_ACTS, path)
        if off := _off(reach, asked)[line.path]:
            raise Turned(403, off)
        form = Form(asked=replace(asked, names=names), fields=fields_of(visit.headers, body))
        with session.acting:  # a double click creates one token, not two
            place = session.answered(form.command)
            if place is None:
                done = line.do(form, reach.store)
                flash = Flash(said=done.said, undo=done.undo, secret=done.secret)
                place = f"{done.to}?said={session.tell(flash, self._seam)}"
                session.answer(form.command, place)
        return Reply(303, headers={"Location": place})

    def _layout(
        self, reach: Reach, session: Session, asked: Asked, name: str, view: View
    ) -> around.Layout:
        nav = tuple(
            around.Entry(
                name=each.name.lower(), href=asked.url(each.path), is_here=each.name == name
            )
            for each in table.STORE_PAGES
        )
        return around.Layout(
            root=self._sessions.root, theme=session.theme, has_keys=session.has_keys,
            has_login=self._sessions.has_login, title=view.title, back=asked.here(), nav=nav,
            flash=session.told(asked.text("said")), warning=asked.cannot_write,
            off=_off(reach, asked), calls=view.calls, json=asked.here(**{"as": "json"}),
        )  # fmt: skip

    def spaces(self, reach: Reach, session: Session) -> Reply:
        """The list of memories; a single one is shown at once."""
        root = self._sessions.root
        found = reach.spaces()
        entries = tuple(
            around.Entry(name=name, href=Asked(place=self._memories.place(root, name)).url())
            for name in found
        )
        if len(entries) == 1:
            return Reply(303, headers={"Location": entries[0].href})
        nav = tuple(
            around.Entry(name=each.name.lower(), href=f"{root}/{AWAY}/{each.path}")
            for each in table.STORE_PAGES
        )
        layout = replace(around.bare(root, session), nav=nav, has_login=self._sessions.has_login)
        return Reply(200, render.page("spaces.html", layout, None, entries=entries))


def _off(reach: Reach, asked: Asked) -> Mapping[str, str | None]:
    """Why each act on the store is off, by its path."""
    return table.reasons(table.STORE_ACTS, rights(reach.token()), asked.cannot_write)
