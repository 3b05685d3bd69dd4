"""A session of the OpenAI Agents SDK whose items are episodes.

Responsible for storing a conversation's items and returning them in order. Leaves episodes to the
memory. Invariants: an item is returned as exactly the JSON it was; two sessions never share an
item; nothing is deleted.

An episode's text is the text of the item, so that recall finds it in later sessions; its metadata
holds the item itself. ``pop_item`` forgets the episode. ``clear_session`` does not: it writes a
mark, and the session begins after the last mark. Everything before it stays in long-term memory,
because an agent may not forget a whole conversation at once; a person may, with ``memory.forget``
or ``memory.erase``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final, cast

from recollect.aio import Workers
from recollect.config import Where
from recollect.errors import InvalidInput, RecollectError
from recollect.exchange.injected import without_memory
from recollect.integrations.extras import needs
from recollect.integrations.trust import lowered
from recollect.memory import Memory
from recollect.model import validate
from recollect.model.events import Role, Trust
from recollect.model.limits import LIST_MAX_RECORDS
from recollect.model.values import Episode
from recollect.store.seam import REAL

with needs("openai-agents"):
    from agents.items import TResponseInputItem
    from agents.memory import SessionABC, SessionSettings

_PAGE: Final = 100  # items in the first read of a session
_ITEM: Final = "openai_agents.item"
_SESSION: Final = "openai_agents.session"
_CLEARED: Final = "openai_agents.cleared"
_ROLES: Final[dict[str, Role]] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}
_BY_THE_MODEL: Final = ("function_call", "reasoning", "computer_call")


class RecollectSession(SessionABC):
    """A conversation in a memory; every session can recall what was said in it.

    Writes have an agent's trust; ``trust="unverified"`` lowers it. Output of tools is always
    unverified: the session returns it, and a recall lists it separately.
    """

    def __init__(
        self,
        session_id: str,
        memory: Memory,
        *,
        trust: Trust = "agent",
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self.memory = lowered(memory, trust)
        self._name = _session_name(session_id)
        self._workers = Workers()

    @classmethod
    def open(
        cls,
        session_id: str,
        where: Where = None,
        *,
        space: str = "main",
        trust: Trust = "agent",
        session_settings: SessionSettings | None = None,
    ) -> RecollectSession:
        """Opens a memory and a session in it; close the session when you are done."""
        memory = Memory.open(where, space=space)
        return cls(session_id, memory, trust=trust, session_settings=session_settings)

    # The SDK's interface.

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items in the order they were added; with a limit, the last ``limit`` items."""
        at_most = self.session_settings.limit if limit is None and self.session_settings else limit
        return await self._workers.run(self._get, at_most)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Stores items, all of them or none."""
        if items:
            await self._workers.run(self._add, list(items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Removes the last item from the session: its episode is forgotten, not deleted."""
        return await self._workers.run(self._pop)

    async def clear_session(self) -> None:
        """Starts an empty session. Earlier items stay in long-term memory."""
        await self._workers.run(self._clear)

    async def close(self) -> None:
        """Closes the memory with its files and connections."""
        await self._workers.close(self.memory.close)

    # The same, synchronously.

    def _get(self, limit: int | None) -> list[TResponseInputItem]:
        found: list[TResponseInputItem] = []
        for episode in self._newest():
            if limit is not None and 0 <= limit <= len(found):
                break
            found.append(_item(episode))
        return found[::-1]

    def _add(self, items: list[TResponseInputItem]) -> None:
        with self.memory.batch() as batch:
            for item in items:
                given = cast(Mapping[str, Any], item)
                batch.observe(
                    text_of(given),
                    role=role_of(given),
                    session=self._name,
                    metadata={_SESSION: self.session_id, _ITEM: _verbatim(given)},
                )

    def _pop(self) -> TResponseInputItem | None:
        for episode in self._newest():
            self.memory.forget(episode.id, reason="popped from its session")
            return _item(episode)
        return None

    def _clear(self) -> None:
        """Writes a mark and forgets it at once, so that no recall finds it."""
        if next(self._newest(), None) is None:
            return
        id = f"cleared-{REAL.random(16).hex()}"
        with self.memory.batch() as batch:
            batch.observe(
                "The session was cleared.",
                role="system",
                session=self._name,
                metadata={_SESSION: self.session_id, _CLEARED: True},
                id=id,
            )
            batch.forget(id, reason="a mark only")

    def _newest(self) -> Iterator[Episode]:
        """The session's episodes back to the last mark, newest first."""
        user = self.memory.scope.user
        name = self._name.replace("'", "''")
        look, after = _PAGE, None
        while True:
            page = self.memory.sessions.episodes(
                filter=f"session = '{name}'",
                include=("waiting", "hidden", "forgotten"),
                limit=look,
                after=after,
            )
            for episode in page:
                mine = episode.metadata.get(_SESSION) == self.session_id
                if not mine or episode.scope.user != user:
                    continue
                if _CLEARED in episode.metadata:
                    return
                if episode.status != "forgotten":
                    yield episode
            if len(page) < look:
                return
            after, look = page[-1].id, min(4 * look, LIST_MAX_RECORDS)


def _session_name(session_id: str) -> str:
    """The session name of the episodes: the id, or its digest if it is not a valid name."""
    if not isinstance(session_id, str) or not session_id:
        raise InvalidInput("a session id must be a non-empty string")
    try:
        if validate.name(session_id, "session") == session_id:
            return session_id
    except RecollectError:
        pass
    validate.text(f"id {session_id}", "session id")  # the episode's metadata holds the original
    return f"sha256:{sha256(session_id.encode()).hexdigest()}"


def _item(episode: Episode) -> TResponseInputItem:
    return cast(TResponseInputItem, json.loads(cast(str, episode.metadata[_ITEM])))


def _verbatim(item: Mapping[str, Any]) -> str:
    """An item as ASCII-only JSON, which can represent any text."""
    try:
        return json.dumps(item)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"an item of a session must be JSON: {error}") from error


def role_of(item: Mapping[str, Any]) -> Role:
    """The role of an item; an item without an author counts as a tool's."""
    role = item.get("role")
    if isinstance(role, str) and role in _ROLES:
        return _ROLES[role]
    return "assistant" if item.get("type") in _BY_THE_MODEL else "tool"


def text_of(item: Mapping[str, Any]) -> str:
    """The text of an item for recall, without memory that was handed out; else its type."""
    said = "\n".join(part for part in _texts(item) if part.strip())
    clean = said.encode(errors="replace").decode().replace("\0", " ")
    clean = without_memory(clean).strip()
    return clean or f"[{item.get('type') or 'empty message'}]"


def _texts(item: Mapping[str, Any]) -> Iterator[str]:
    if item.get("type") == "function_call":
        yield f"{item.get('name')}({item.get('arguments', '')})"
    for field in ("content", "output", "summary"):
        yield from _said(item.get(field))


def _said(content: object) -> Iterator[str]:
    """The text of a message, given as a string or as a list of parts."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        yield from _said(content.get("text") or content.get("refusal"))
    elif isinstance(content, list | tuple):
        for part in content:
            yield from _said(part)
