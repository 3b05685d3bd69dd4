"""A state machine drives Memory against plain dictionaries."""

from __future__ import annotations

import shutil
import tempfile
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from recollect import Conflict, Episode, Memory, NotFound, Record
from recollect.testing.rebuilding import rebuilt_digest

TEXTS = st.sampled_from(["red apple", "green apple", "blue plum", "red plum", "old pear"])
KEYS = st.sampled_from([None, "k1", "k2"])
TAGS = st.sampled_from(["x", "y"])
SESSIONS = st.sampled_from(["s1", "s2", "s3"])


class Model:
    """What a memory should hold, said as plainly as possible."""

    def __init__(self) -> None:
        self.records: dict[str, dict[str, Any]] = {}
        self.episodes: dict[str, dict[str, Any]] = {}
        self.links: set[tuple[str, str]] = set()
        self.opened: dict[str, bool] = {}  # sessions, and whether each is open; the last one last

    def active(self) -> dict[str, dict[str, Any]]:
        return {id: r for id, r in self.records.items() if r["status"] == "active"}

    def holder(self, key: str | None) -> str | None:
        return next((id for id, r in self.active().items() if key and r["key"] == key), None)

    def twins(self, text: str, key: str | None) -> list[str]:
        """What says the same already: under the same key, or under any if none is given."""
        active = self.active().items()
        return [id for id, r in active if r["text"] == text and (not key or r["key"] == key)]

    def saying(self, text: str) -> list[str]:
        active = self.active().items()
        return sorted(id for id, r in active if r["text"] == text)

    def last_after(self, id: str) -> str | None:
        """The record that holds at the end of what replaced this one in turn."""
        seen = {id}
        while (by := self.records[id]["by"]) in self.records and by not in seen:
            if id != self.records[by]["replaces"] and by != self.records[id]["replaces"]:
                return None  # it was there before
            if self.records[by]["status"] == "active":
                return str(by)
            seen.add(by)
            id = by
        return None

    def sessions(self) -> dict[str, str]:
        """Those that were opened, and those that what is left names."""
        named = {one["session"]: "named" for one in self.episodes.values() if one["session"]}
        ran = {id: "open" if is_open else "closed" for id, is_open in self.opened.items()}
        return named | ran

    def retire(self, id: str, status: str) -> None:
        self.records[id]["status"] = status
        self.records[id]["retired"] = True

    def shows(self, episode: str) -> bool:
        """Shadowed if it was evidence, and for nothing that still says so."""
        if self.episodes[episode]["forgotten"]:
            return False
        uses = [
            version
            for record in self.records.values()
            for version in record["versions"]
            if episode in version["evidence"]
        ]
        return not uses or any(version["live"] for version in uses)


class Machine(RuleBasedStateMachine):
    """Every verb, in any order."""

    where = ":memory:"
    records = Bundle("records")
    episodes = Bundle("episodes")

    @initialize()
    def open(self) -> None:
        self.model = Model()
        self.memory = self._memory()

    def _memory(self) -> Memory:
        return Memory.open(self.where)

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            digest = self.memory.admin.digest()
            assert rebuilt_digest(self.memory.admin) == digest
            assert self.memory.admin.verify().ok
            self.compare()
            self.memory.close()

    @rule(target=records, text=TEXTS, key=KEYS, evidence=st.lists(episodes, max_size=2))
    def remember(self, text: str, key: str | None, evidence: list[str]) -> Any:
        model = self.model
        evidence = list(dict.fromkeys(evidence))
        twins = model.twins(text, key)
        holder = model.holder(key)
        same = model.saying(text)
        record = self.memory.remember(text, key=key, evidence=evidence)
        if twins:
            assert record.id in twins
            known = model.records[record.id]
            known["count"] += 1
            more = [e for e in evidence if e not in known["versions"][-1]["evidence"]]
            if more:
                # Named in a version of its own, but the same words: both hold together.
                known["versions"][-1]["evidence"] += more
            return multiple()
        if holder is not None:
            self._retire(holder, "archived", record.id)
        taken = same[0] if key and same and model.records[same[0]]["key"] is None else None
        if taken is not None:
            self._retire(taken, "archived", record.id)
        model.records[record.id] = {
            "text": text,
            "key": key,
            "status": "active",
            "replaces": holder or taken,
            "by": None,
            "count": 0,
            "tags": set(),
            "versions": [{"text": text, "evidence": evidence, "live": True}],
        }
        return record.id

    @rule(target=episodes, text=TEXTS, session=st.none() | SESSIONS)
    def observe(self, text: str, session: str | None) -> str:
        (episode,) = self.memory.observe(text, session=session)
        self.model.episodes[episode.id] = {"text": text, "forgotten": False, "session": session}
        return episode.id

    @rule(id=SESSIONS)
    def open_session(self, id: str) -> None:
        if self.model.opened.get(id) is False:
            with pytest.raises(Conflict):
                self.memory.sessions.open(id)
            return
        self.memory.sessions.open(id)
        self.model.opened.setdefault(id, True)

    @rule(id=SESSIONS, erase=st.booleans())
    def close_session(self, id: str, erase: bool) -> None:
        if id not in self.model.opened:
            with pytest.raises(NotFound):
                self.memory.sessions.close(id, erase=erase)
            return
        self.memory.sessions.close(id, erase=erase)
        if erase:
            del self.model.opened[id]
        else:
            self.model.opened[id] = False

    @rule(id=records, text=TEXTS)
    def revise(self, id: str, text: str) -> None:
        known = self.model.records.get(id)
        if known is None or known["status"] != "active":
            with pytest.raises(NotFound if known is None else Conflict):
                self.memory.revise(id, text)
            return
        self.memory.revise(id, text)
        if known["text"] != text:
            known["text"] = text
            known["versions"][-1]["live"] = False
            known["versions"].append({"text": text, "evidence": [], "live": True})

    @rule(target=records, id=records, text=TEXTS)
    def supersede(self, id: str, text: str) -> Any:
        model, known = self.model, self.model.records.get(id)
        if known is None or known["status"] != "active" or known["text"] == text:
            with pytest.raises(NotFound if known is None else Conflict):
                self.memory.remember(text, replaces=id)
            return multiple()
        key, same = known["key"], model.saying(text)
        twins = [] if key else same
        record = self.memory.remember(text, replaces=id)
        self._retire(id, "archived", record.id)
        if twins:
            assert record.id in twins
            model.records[record.id]["count"] += 1
            return multiple()
        if same and model.records[same[0]]["key"] is None:
            self._retire(same[0], "archived", record.id)
        model.records[record.id] = {
            "text": text,
            "key": key,
            "status": "active",
            "replaces": id,
            "by": None,
            "count": 0,
            "tags": set(known["tags"]),
            "versions": [{"text": text, "evidence": [], "live": True}],
        }
        return record.id

    @rule(id=records)
    def forget(self, id: str) -> None:
        if id not in self.model.records:
            with pytest.raises(NotFound):
                self.memory.forget(id)
            return
        self.memory.forget(id)
        self._retire(id, "forgotten")

    @rule(id=records)
    def restore(self, id: str) -> None:
        known = self.model.records.get(id)
        if known is None:
            with pytest.raises(NotFound):
                self.memory.undo(id)
        elif known["status"] == "active":
            return  # an undo would take back its last change
        elif known["by"] is not None:
            self._in_place(id)
        elif self.model.holder(known["key"]) is not None:
            with pytest.raises(Conflict):
                self.memory.undo(id)
        else:
            self.memory.undo(id)
            known["status"] = "active"
            known["versions"][-1]["live"] = True

    def _in_place(self, id: str) -> None:
        """What was replaced holds again in the place of what came in its place, however often."""
        model, known = self.model, self.model.records[id]
        found = (model.holder(known["key"]), model.last_after(id))
        ended = {other for other in found if other is not None}
        self.memory.undo(id)
        for other in ended:
            self._retire(other, "archived", id)
        known.update(status="active", by=None)
        known["versions"][-1]["live"] = True

    @rule(id=episodes)
    def forget_episode(self, id: str) -> None:
        if id in self.model.episodes:
            self.memory.forget(id)
            self.model.episodes[id]["forgotten"] = True

    @rule(id=episodes)
    def restore_episode(self, id: str) -> None:
        if id in self.model.episodes and self.model.episodes[id]["forgotten"]:
            self.memory.undo(id)
            self.model.episodes[id]["forgotten"] = False

    @rule(id=records, tag=TAGS, off=st.booleans())
    def tag(self, id: str, tag: str, off: bool) -> None:
        if id in self.model.records:
            tags = self.model.records[id]["tags"]
            if off:
                self.memory.revise(id, untag=[tag])
                tags.discard(tag)
            else:
                self.memory.revise(id, tags=[tag])
                tags.add(tag)

    @rule(one=records, other=records)
    def link(self, one: str, other: str) -> None:
        if one != other and {one, other} <= self.model.records.keys():
            self.memory.graph.link(one, other)
            self.model.links.add((one, other))

    @rule(id=consumes(records))
    def erase(self, id: str) -> None:
        if id not in self.model.records:
            with pytest.raises(NotFound):
                self.memory.erase(id)
            return
        report = self.memory.erase(id)
        gone = self.model.records.pop(id)
        self.model.links = {link for link in self.model.links if id not in link}
        mine = {e for version in gone["versions"] for e in version["evidence"]}
        others = {
            e for r in self.model.records.values() for v in r["versions"] for e in v["evidence"]
        }
        known = {e for e in mine if e in self.model.episodes}
        assert set(report.episodes) == known - others
        assert known & others <= set(report.kept) <= others  # and of earlier values of its key
        for episode in report.episodes:
            del self.model.episodes[episode]

    @rule(id=records)
    def use(self, id: str) -> None:
        if id in self.model.active():
            self.memory.used(None, [id])
            self.model.records[id]["count"] += 1

    @rule()
    def rebuild(self) -> None:
        self.memory.admin.rebuild()

    @rule()
    def seal(self) -> None:
        self.memory.admin.seal()

    @invariant()
    def compare(self) -> None:
        if not hasattr(self, "memory"):
            return
        active = self.model.active()
        assert {r.id: self._said(r) for r in self.memory.list()} == {
            id: (r["text"], r["key"], r["count"], frozenset(r["tags"])) for id, r in active.items()
        }
        shown = {id for id in self.model.episodes if self.model.shows(id)}
        assert {episode.id for episode in self.memory.sessions.episodes()} == shown
        sessions = {session.id: session.status for session in self.memory.sessions.list()}
        assert sessions == self.model.sessions()
        still_open = [id for id, is_open in self.model.opened.items() if is_open]
        last = self.memory.sessions.active()
        assert (last.id if last else None) == (still_open[-1] if still_open else None)

    @rule(word=st.sampled_from(["apple", "plum", "red", "pear"]))
    def recall(self, word: str) -> None:
        active = {id for id, r in self.model.active().items() if word in r["text"]}
        shown = {
            id
            for id, e in self.model.episodes.items()
            if word in e["text"] and self.model.shows(id)
        }
        hits = self.memory.recall(word, k=100)
        records = {hit.id for hit in hits if hit.unit == "record"}
        # With what still says a former value comes the record that holds now.
        assert active <= records <= active | self._since(word)
        folded = {source.id for hit in hits for source in hit.sources}
        found = {hit.id for hit in hits if hit.unit == "episode"} | folded
        repeats = {hit.text: hit.said for hit in hits}
        assert found <= shown | self._beside(shown)
        for text in {self.model.episodes[id]["text"] for id in shown - found}:
            same = {id for id in shown if self.model.episodes[id]["text"] == text}
            assert len(same) >= repeats[text]  # said again: one hit stands for all

    def _since(self, word: str) -> set[str]:
        """The records that hold, of all that once said a word and what came in their place."""
        model = self.model.records
        found = {id for id, r in model.items() if any(word in v["text"] for v in r["versions"])}
        while more := {r["by"] for id, r in model.items() if id in found} - found - {None}:
            found |= more
        keys = {model[id]["key"] for id in found & model.keys()} - {None}
        holding = self.model.active()
        return {id for id, r in holding.items() if id in found or r["key"] in keys}

    def _beside(self, shown: set[str]) -> set[str]:
        """What shows in the same sessions: the neighbour of a turn may be found with it."""
        told = self.model.episodes
        sessions = {told[id]["session"] for id in shown} - {None}
        return {id for id in told if told[id]["session"] in sessions and self.model.shows(id)}

    @rule(id=records)
    def look(self, id: str) -> None:
        if id in self.model.active():
            found = self.memory.get(id)
            assert isinstance(found, Record)
            assert found.text == self.model.records[id]["text"]
            links = {(link.source, link.target) for link in self.memory.why(id).links}
            assert links == {link for link in self.model.links if id in link}
        else:
            with pytest.raises(NotFound):
                self.memory.get(id)

    @rule(id=episodes)
    def look_at_episode(self, id: str) -> None:
        if id in self.model.episodes and self.model.shows(id):
            assert isinstance(self.memory.get(id), Episode)
        else:
            with pytest.raises(NotFound):
                self.memory.get(id)

    def _retire(self, id: str, status: str, by: str | None = None) -> None:
        self.model.records[id].update(status=status, by=by)
        self.model.records[id]["versions"][-1]["live"] = False

    @staticmethod
    def _said(record: Record) -> tuple[str, str | None, int, frozenset[str]]:
        return record.text, record.key, record.reinforcement_count, frozenset(record.tags)


class FilesMachine(Machine):
    """The same on real files."""

    @initialize()
    def open(self) -> None:
        self.where = tempfile.mkdtemp()
        super().open()

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.where, ignore_errors=True)


class ManyFilesMachine(FilesMachine):
    """And more often."""


QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much]

TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=QUIET
)
TestFilesMachine = pytest.mark.ci(FilesMachine.TestCase)
TestFilesMachine.settings = settings(
    max_examples=15, stateful_step_count=40, deadline=None, suppress_health_check=QUIET
)
TestManyFilesMachine = pytest.mark.nightly(ManyFilesMachine.TestCase)
TestManyFilesMachine.settings = settings(
    max_examples=200, stateful_step_count=40, deadline=None, suppress_health_check=QUIET
)
