"""Random graphs of MCP's memory server, and random memories of mem0.

Responsible for stores that write themselves and change. Leaves comparing to the tests.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

from tests.exchange.foreign import START, WORDS, Said, reworded, sentence, stamp


class Graph:
    """Entities, observations and relations."""

    format = "mcp-memory"

    def __init__(self, rng: random.Random, count: int) -> None:
        self.rng = rng
        self.entities: dict[str, tuple[str, list[str]]] = {}
        self.relations: list[tuple[str, str, str]] = []
        for _ in range(count):
            self.add()

    def add(self) -> None:
        rng = self.rng
        name = f"{rng.choice(WORDS)}_{len(self.entities)}"
        said = [sentence(rng) for _ in range(rng.randrange(5))]
        self.entities[name] = (rng.choice(["person", "company", "project"]), said)
        for _ in range(rng.randrange(3)):
            self.relate(name)

    def relate(self, name: str) -> None:
        other = self.rng.choice(list(self.entities))
        relation = (name, self.rng.choice(["works_at", "knows"]), other)
        if relation not in self.relations and other != name:
            self.relations.append(relation)

    def write(self, folder: Path) -> Path:
        lines: list[dict[str, object]] = [
            {"type": "entity", "name": name, "entityType": kind, "observations": said}
            for name, (kind, said) in self.entities.items()
        ]
        lines += [
            {"type": "relation", "from": one, "to": other, "relationType": kind}
            for one, kind, other in self.relations
        ]
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "memory.jsonl"
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        file.write_text(text, "utf-8")
        return file

    def change(self) -> None:
        rng = self.rng
        known = {name for name, (_, said) in self.entities.items() if said}
        for name in rng.sample(list(self.entities), k=min(6, len(self.entities))):
            _, said = self.entities[name]
            how = rng.randrange(5)
            if how == 0 and len(said) > 1:
                place = rng.randrange(len(said))
                said[place] = reworded(rng, said[place])
            elif how == 1 and len(said) > 1:
                said.remove(rng.choice(said))
            elif how == 2:
                said.insert(rng.randrange(len(said) + 1), sentence(rng))
            elif how == 3:
                rng.shuffle(said)
            else:
                self.relate(name)
        gone = [one for one in self.relations if one[0] in known]
        if gone:  # of an entity that goes on saying something, so it is known to be the same
            self.relations.remove(rng.choice(gone))
        self.add()

    def expected(self) -> Counter[Said]:
        found: Counter[Said] = Counter()
        for name, (kind, said) in self.entities.items():
            for text in said:
                found[Said(text, name, "fact", frozenset([kind]))] += 1
        for one, kind, other in self.relations:
            data = json.dumps({"from": one, "relation": kind, "to": other}, sort_keys=True)
            text = f"{one} {kind.replace('_', ' ')} {other}"
            found[Said(text, one, "relation", data=data)] += 1
        return found

    def links(self) -> Counter[tuple[str, str, str]]:
        return Counter(self.relations)

    def left_out(self) -> dict[str, int]:
        return {}


class Memories:
    """What mem0's ``get_all`` gives."""

    format = "mem0"

    def __init__(self, rng: random.Random, count: int) -> None:
        self.rng = rng
        self.now = START
        self.made = 0
        self.memories: list[dict[str, object]] = []
        for _ in range(count):
            self.add()

    def add(self) -> None:
        rng = self.rng
        self.now += timedelta(minutes=rng.randrange(1, 900))
        self.made += 1
        self.memories.append(
            {
                "id": f"{self.made:08x}-0000-4000-8000-{rng.randrange(16**12):012x}",
                "memory": sentence(rng),
                "hash": f"{rng.randrange(16**32):032x}",
                "metadata": rng.choice([None, {"mood": "fine", "depth": {"n": [1, 0.5, None]}}]),
                "categories": sorted(set(rng.choices(WORDS[:9], k=rng.randrange(3)))),
                "created_at": self.now.isoformat(),
                "updated_at": None,
                "user_id": rng.choice(["ada", "bob", "ada"]),
                "run_id": rng.choice([None, "chat-1"]),
            }
        )

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "mem0.json"
        file.write_text(json.dumps({"results": self.memories}, ensure_ascii=False), "utf-8")
        return file

    def change(self) -> None:
        rng = self.rng
        for one in rng.sample(self.memories, k=min(5, len(self.memories))):
            if rng.random() < 0.5:
                one["memory"] = f"{one['memory']} since"
            else:
                one["categories"] = ["moved"]
        rng.shuffle(self.memories)
        self.add()

    def expected(self) -> Counter[Said]:
        return Counter(map(self._said, self.memories))

    def _said(self, one: dict[str, object]) -> Said:
        own = ("id", "memory", "hash", "metadata", "user_id", "run_id")
        rest = {name: value for name, value in one.items() if name not in own and value}
        metadata = one["metadata"] or {}
        assert isinstance(metadata, dict)
        tags = one["categories"]
        assert isinstance(tags, list)
        return Said(
            str(one["memory"]),
            kind="fact",
            tags=frozenset(tags),
            said_at=stamp(datetime.fromisoformat(str(one["created_at"]))),
            user=str(one["user_id"]),
            session=None if one["run_id"] is None else str(one["run_id"]),
            data=json.dumps(metadata | rest, sort_keys=True),
        )

    def links(self) -> Counter[tuple[str, str, str]]:
        return Counter()

    def left_out(self) -> dict[str, int]:
        return {}
