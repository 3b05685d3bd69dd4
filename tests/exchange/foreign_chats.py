"""Random conversations of ChatGPT.

Responsible for archives that write themselves and change. Leaves comparing to the tests.
"""

from __future__ import annotations

import json
import random
import zipfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.exchange.foreign import START, Said, sentence, stamp


class Chats:
    """Conversations of ChatGPT: trees of messages, of which one branch is shown."""

    format = "chatgpt"

    def __init__(self, rng: random.Random, count: int) -> None:
        self.rng = rng
        self.now = START
        self.made = 0
        self.chats: list[dict[str, object]] = []
        self.shown: dict[str, list[str]] = {}  # the ids of the nodes of each
        self.ever: dict[str, Said] = {}  # also what was on a branch that is not shown any more
        while self.made < count:
            self.add()

    def add(self) -> None:
        id, root = f"chat-{len(self.chats)}", f"root-{len(self.chats)}"
        self.now += timedelta(hours=self.rng.randrange(1, 90))
        chat: dict[str, object] = {
            "id": id,
            "title": sentence(self.rng, 2),
            "create_time": self.now.timestamp(),
            "mapping": {root: {"id": root, "parent": None, "message": None, "children": []}},
        }
        self.chats.append(chat)
        self.shown[id] = [root]
        self._say(chat, "system", {"content_type": "text", "parts": ["Be helpful."]})
        for _ in range(self.rng.randrange(1, 6)):
            self.talk(chat)

    def talk(self, chat: dict[str, object]) -> None:
        """A question, perhaps with a picture or a program that was run, and its answer."""
        rng = self.rng
        text: dict[str, object] = {"content_type": "text", "parts": [sentence(rng)]}
        picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://1"}
        spoken = {"content_type": "audio_transcription", "text": sentence(rng)}
        many: dict[str, object] = {"content_type": "multimodal_text", "parts": [picture, spoken]}
        self._say(chat, "user", many if rng.random() < 0.2 else text)
        if rng.random() < 0.2:
            self._say(chat, "assistant", {"content_type": "code", "text": "print(1)"})
            self._say(chat, "tool", {"content_type": "execution_output", "text": "1"})
        answer = f"{sentence(rng)}\n```python\nfor n in range(3):\n    print(n)\n```"
        self._say(chat, "assistant", {"content_type": "text", "parts": [answer]})

    def _say(self, chat: dict[str, object], role: str, content: dict[str, object]) -> None:
        nodes, branch = chat["mapping"], self.shown[str(chat["id"])]
        assert isinstance(nodes, dict)
        self.made += 1
        self.now += timedelta(minutes=1)
        id, is_dated = f"message-{self.made}", self.rng.random() < 0.9
        message: dict[str, object] = {
            "id": id,
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": self.now.timestamp() if is_dated else None,
            "content": content,
            "metadata": {},
        }
        nodes[branch[-1]]["children"].append(id)
        nodes[id] = {"id": id, "parent": branch[-1], "message": message, "children": []}
        branch.append(id)
        chat["current_node"] = id
        text = self._text(content)
        if role != "system" and text:
            at = self._time(chat)
            data = json.dumps({"title": chat["title"]})
            said = Said(text, kind=role, said_at=at, session=str(chat["id"]), data=data)
            self.ever[id] = said

    def _text(self, content: dict[str, object]) -> str:
        parts = content.get("parts", ())
        assert isinstance(parts, list | tuple)
        return "\n".join(
            one if isinstance(one, str) else one.get("text", "") for one in parts
        ).strip()

    def _time(self, chat: dict[str, object]) -> str:
        """When the last message that has a time was said."""
        nodes, last = chat["mapping"], chat["create_time"]
        assert isinstance(nodes, dict)
        for id in self.shown[str(chat["id"])]:
            last = (nodes[id]["message"] or {}).get("create_time") or last
        assert isinstance(last, float)
        return stamp(datetime.fromtimestamp(round(last, 6), UTC))

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        if self.rng.random() < 0.5:
            (folder / "conversations.json").write_text(json.dumps(self.chats), "utf-8")
            return folder
        file, half = folder / "export.zip", len(self.chats) // 2
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("conversations-000.json", json.dumps(self.chats[:half]))
            archive.writestr("conversations-001.json", json.dumps(self.chats[half:]))
            archive.writestr("user.json", json.dumps({"id": "user-1"}))
            for number in range(80):
                archive.writestr(f"audio/{number}.wav", b"RIFF")
        return file

    def change(self) -> None:
        rng = self.rng
        for chat in rng.sample(self.chats, k=min(3, len(self.chats))):
            branch = self.shown[str(chat["id"])]
            if rng.random() < 0.5 and len(branch) > 3:  # the question is put in other words
                nodes = chat["mapping"]
                assert isinstance(nodes, dict)
                asked = [at for at, id in enumerate(branch[2:], 2) if self._is_asked(nodes[id])]
                del branch[rng.choice(asked) :]
            self.talk(chat)
        rng.shuffle(self.chats)
        self.add()

    def _is_asked(self, node: dict[str, dict[str, dict[str, str]]]) -> bool:
        return node["message"]["author"]["role"] == "user"

    def expected(self) -> Counter[Said]:
        return Counter(self.ever.values())

    def links(self) -> Counter[tuple[str, str, str]]:
        return Counter()

    def left_out(self) -> dict[str, int]:
        found: Counter[str] = Counter()
        for chat in self.chats:
            nodes, branch = chat["mapping"], self.shown[str(chat["id"])]
            assert isinstance(nodes, dict)
            found["messages of branches that are not shown"] += len(nodes) - len(branch)
            for message in (nodes[id]["message"] for id in branch[1:]):
                kind = message["content"]["content_type"]
                if message["author"]["role"] == "system":
                    found["messages of the system"] += 1
                elif kind in ("code", "execution_output"):
                    found[f"messages of the type {kind}"] += 1
                elif kind == "multimodal_text":
                    found["images and files"] += 1
        return {what: many for what, many in found.items() if many}
