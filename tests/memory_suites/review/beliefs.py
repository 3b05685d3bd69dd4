"""The conformance suite of rules: what they make of episodes is the same on every engine.

Subclass ``BeliefsSuite`` and define a fixture ``memory`` with an empty memory.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from recollect.errors import Conflict, Forbidden, InvalidInput, NotFound
from recollect.memory import Memory
from recollect.model.events import Role
from recollect.model.validate import Json
from recollect.model.values import Derived, Episode, Pass


def _said(memory: Memory, text: str, role: Role = "user", /, **metadata: Json) -> Episode:
    (episode,) = memory.observe(text, role=role, metadata=metadata)
    return episode


def _fact(
    memory: Memory, subject: str, predicate: str, value: Json, role: Role = "user"
) -> Episode:
    triple: dict[str, Json] = {"subject": subject, "predicate": predicate, "object": value}
    (episode,) = memory.observe(f"{subject}: {value}", role=role, metadata=triple)
    return episode


def _told(done: Pass) -> list[tuple[str, str]]:
    return [(one.intent, one.outcome) for one in done.proposals]


def _only(done: Pass) -> Derived:
    (one,) = done.proposals
    return one


class BeliefsSuite:
    """Episodes become records by rules, once each, with the trust of what they rest on."""

    @pytest.fixture
    def memory(self) -> Memory:
        """An empty memory; subclasses say where."""
        raise NotImplementedError

    def test_a_rule_is_a_document_that_is_checked_when_it_is_set(self, memory: Memory) -> None:
        made = memory.settings.rules.set(
            "prefs", filter="content contains 'tea'", every=5, channels=["taste", "taste"]
        )
        assert (made.name, made.filter, made.every, made.cron) == (
            "prefs",
            "text contains 'tea'",
            5,
            None,
        )
        assert (made.channels, made.trust, made.through) == (("taste",), "person", 0)
        assert memory.settings.documents.get("rules", "prefs").data["every"] == 5
        memory.settings.rules.set("nightly", cron="0  3 * * MON")
        memory.settings.documents.set("rules", "mail", {"never": ["before noon"]})
        assert [(one.name, one.cron) for one in memory.settings.rules.list()] == [
            ("nightly", "0 3 * * mon"),
            ("prefs", None),
        ]
        assert [one.name for one in memory.settings.rules.list(after="nightly")] == ["prefs"]
        assert [one.name for one in memory.settings.rules.list(limit=1)] == ["nightly"]
        assert memory.settings.rules.get("prefs") == made
        memory.settings.rules.drop("prefs")
        with pytest.raises(NotFound):
            memory.settings.rules.get("prefs")
        with pytest.raises(InvalidInput, match=r"'rules/mail' is not a rule: .*never"):
            memory.settings.rules.run("mail")
        memory.settings.documents.set("rules", "mail", {"cron": "never"})
        with pytest.raises(InvalidInput, match="'rules/mail' is not a rule: cron has 1 fields"):
            memory.settings.rules.get("mail")

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"filter": "colour = 'red'"}, "unknown field 'colour'"),
            ({"filter": "confidence > 0.5"}, "unknown field 'confidence' of episodes"),
            ({"every": 0}, "every must be a positive whole number"),
            ({"cron": "* * *"}, "cron has 3 fields"),
            ({"every": 1, "cron": "* * * * *"}, "a rule has one cadence"),
            ({"channels": "facts"}, "channels must be a list"),
        ],
    )
    def test_a_rule_that_cannot_run_is_refused(
        self, memory: Memory, fields: Mapping[str, object], message: str
    ) -> None:
        with pytest.raises(InvalidInput, match=message):
            memory.settings.rules.set("prefs", **fields)  # type: ignore[arg-type]  # wrong on purpose
        assert memory.settings.rules.list() == []

    def test_metadata_says_what_becomes_of_an_episode(self, memory: Memory) -> None:
        memory.settings.rules.set("all", channels=["facts"])
        first = _said(memory, "The gate opens at nine.")
        _said(memory, "Nothing to see.", intent="noop")
        done = memory.settings.rules.run("all")
        assert _told(done) == [("add", "applied"), ("noop", "unchanged")]
        assert (done.applied, done.waiting, done.skipped, done.seen) == (1, 0, (), 2)
        (record,) = memory.list()
        assert (record.text, record.tags, record.trust) == (first.text, ("facts",), "person")
        assert (record.evidence, record.how_known) == ((first.id,), "observed")
        assert (record.said_at, record.data) == (first.said_at, {"rule": "all"})
        assert done.proposals[0].id == record.id

        _said(memory, "The gate opens at ten.", intent="update", replaces=[record.id])
        changed = _only(memory.settings.rules.run("all"))
        (now,) = memory.list()
        assert (now.id, now.text, now.replaces) == (
            changed.id,
            "The gate opens at ten.",
            record.id,
        )
        assert memory.at(changed_before(memory)).get(record.id).status == "active"

        _said(memory, "There is no gate.", intent="delete", replaces=now.id)
        gone = _only(memory.settings.rules.run("all"))
        assert (gone.outcome, gone.id) == ("applied", now.id)
        assert memory.list() == []
        with pytest.raises(NotFound):
            memory.get("gate")
        memory.undo()
        assert [one.id for one in memory.list()] == [now.id]

    def test_what_rests_on_an_episode_is_replaced_with_it(self, memory: Memory) -> None:
        memory.settings.rules.set("all")
        first = _said(memory, "The bridge is red.")
        memory.settings.rules.run("all")
        (record,) = memory.list()
        other = memory.remember("The bridge has a colour.", evidence=[first.id, record.id])
        _said(memory, "The bridge is blue.", intent="update", replaces=[first.id])
        memory.settings.rules.run("all")
        assert {one.text for one in memory.list()} == {"The bridge is blue.", other.text}
        assert memory.why(record.id).replaced_by is not None

    def test_an_update_of_nothing_that_is_known_is_an_addition(self, memory: Memory) -> None:
        memory.settings.rules.set("all")
        _said(memory, "The tram is late.", intent="update", replaces=["nothing"])
        assert _only(memory.settings.rules.run("all")).outcome == "applied"
        assert [one.text for one in memory.list()] == ["The tram is late."]

    def test_triples_become_facts_and_a_repeated_key_an_update(self, memory: Memory) -> None:
        memory.settings.rules.set("facts", filter="metadata.subject != null")
        _fact(memory, "alice", "lives_in", "Oslo")
        _said(memory, "not for this rule")
        _fact(memory, "alice", "lives_in", "Bergen")
        done = memory.settings.rules.run("facts")
        assert _told(done) == [("add", "applied"), ("update", "applied")]
        before = memory.events.position
        (fact,) = memory.list()
        assert (fact.text, fact.about, fact.key) == (
            "alice lives in Bergen",
            "alice",
            "alice.lives_in",
        )
        assert fact.data == {
            "rule": "facts",
            "subject": "alice",
            "predicate": "lives_in",
            "object": "Bergen",
        }
        _fact(memory, "alice", "lives_in", "Bodø")  # in another pass
        assert _only(memory.settings.rules.run("facts")).outcome == "applied"
        assert memory.get("alice.lives_in").text == "alice lives in Bodø"
        assert memory.at(before).get("alice.lives_in").text == "alice lives in Bergen"
        assert [one.text for one in memory.list()] == ["alice lives in Bodø"]

    def test_a_fact_that_is_said_again_is_reinforced(self, memory: Memory) -> None:
        memory.settings.rules.set("facts")
        first, second = (_fact(memory, "alice", "seat", "aisle") for _ in range(2))
        done = memory.settings.rules.run("facts")
        assert (done.applied, done.waiting) == (2, 0)
        (record,) = memory.list()
        assert record.evidence == (first.id, second.id)
        assert record.reinforcement_count == 1
        for _ in range(300):  # more than a record can name
            _fact(memory, "alice", "seat", "aisle")
        done = memory.settings.rules.run("facts")
        assert (done.applied, done.skipped) == (300, ())
        (record,) = memory.list()
        assert (len(record.evidence), record.reinforcement_count) == (256, 301)

    def test_each_user_has_their_own_beliefs(self, memory: Memory) -> None:
        memory.settings.rules.set("facts")
        ann, ben = memory.scoped(user="ann"), memory.scoped(user="ben")
        _fact(ann, "me", "seat", "aisle")
        said = _fact(ben, "me", "seat", "window")
        _said(ann, "forget it", intent="delete", replaces=[said.id])
        done = memory.settings.rules.run("facts")
        assert _told(done) == [("add", "applied"), ("add", "applied")]
        assert [one.reason for one in done.skipped] == ["what it would delete was not found"]
        assert ann.get("me.seat").text == "me seat aisle"
        assert ben.get("me.seat").text == "me seat window"
        with pytest.raises(Forbidden, match="concerns the whole space"):
            ann.settings.rules.run("facts")

    def test_a_record_has_the_least_trust_of_actor_rule_and_episode(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        memory.settings.rules.set("persons")
        agent.settings.rules.set("agents")
        _said(memory, "A person's word.")
        _said(memory, "An agent's word.", "assistant")
        _said(memory, "A tool's word.", "tool")
        memory.settings.rules.run("persons")
        found = {one.text: (one.trust, one.status) for one in memory.list(include=["waiting"])}
        assert found == {
            "A person's word.": ("person", "active"),
            "An agent's word.": ("agent", "active"),
            "A tool's word.": ("unverified", "waiting"),
        }
        _said(memory, "Another word.")
        memory.settings.rules.run("agents")  # the agent's rule lends no more than it has
        (record,) = [one for one in memory.list() if one.text == "Another word."]
        assert record.trust == "agent"
        with pytest.raises(Forbidden, match="set with trust 'person'; 'agent' may not run it"):
            agent.settings.rules.run("persons")
        with pytest.raises(Forbidden, match="set with trust 'person'"):
            agent.settings.rules.set("persons", every=1)
        with pytest.raises(Forbidden, match="'unverified' may not run it"):
            memory.scoped(trust="unverified").settings.rules.run("agents")

    def test_what_may_not_change_at_once_waits_with_its_rule(self, memory: Memory) -> None:
        memory.settings.rules.set("facts")
        held = memory.remember("alice seat aisle", key="alice.seat")
        said = _fact(memory, "alice", "seat", "window", "tool")
        _fact(memory, "alice", "seat", "window", "tool")  # the same is not filed twice
        _fact(memory, "alice", "seat", "aisle", "tool")  # known already
        _said(memory, "drop it", "tool", intent="delete", key="alice.seat")
        done = memory.settings.rules.run("facts")
        assert [one.outcome for one in done.proposals] == [
            "waiting",
            "waiting",
            "unchanged",
            "waiting",
        ]
        assert (done.applied, done.waiting) == (0, 3)
        update, delete = memory.review.list()
        assert (update.intent, update.target, update.text) == (
            "update",
            held.id,
            "alice seat window",
        )
        assert (update.rule, delete.rule) == ("facts", "facts")
        assert (delete.intent, update.evidence) == ("delete", (said.id,))
        assert memory.get("alice.seat").text == "alice seat aisle"
        memory.review.approve(update.id, update.digest)
        assert memory.get("alice.seat").text == "alice seat window"

    def test_an_agents_rule_corrects_a_person_with_a_persons_later_words(
        self, memory: Memory
    ) -> None:
        agent = memory.scoped(trust="agent")
        agent.settings.rules.set("facts")
        memory.remember("alice seat aisle", key="alice.seat")
        _fact(memory, "alice", "seat", "window", "assistant")
        assert _only(agent.settings.rules.run("facts")).outcome == "waiting"
        _fact(memory, "alice", "seat", "window")
        assert _only(agent.settings.rules.run("facts")).outcome == "applied"
        found = memory.get("alice.seat")
        assert (found.text, found.trust) == ("alice seat window", "agent")

    def test_many_deletions_without_a_person_wait(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        agent.settings.rules.set("all")
        ids = [agent.remember(f"note {n}").id for n in range(25)]
        for id in ids:
            _said(memory, f"drop {id}", "assistant", intent="delete", replaces=id)
        done = agent.settings.rules.run("all")
        assert (done.applied, done.waiting) == (20, 5)
        assert {one.rule for one in memory.review.list()} == {"all"}

    def test_a_second_pass_makes_nothing_and_a_rebuild_remembers_it(self, memory: Memory) -> None:
        memory.settings.rules.set("facts")
        for n in range(5):
            _fact(memory, f"s{n}", "is", n)
        first = memory.settings.rules.run("facts")
        assert (first.applied, first.through) == (5, memory.events.position - 6)
        assert memory.settings.rules.get("facts").through == first.through
        position, digest = memory.events.position, memory.admin.digest()
        again = memory.settings.rules.run("facts")
        assert (again.proposals, again.seen, memory.events.position) == ((), 0, position)
        memory.admin.rebuild()
        assert memory.admin.digest() == digest
        assert memory.settings.rules.run("facts").seen == 0
        assert memory.events.position == position
        (event,) = memory.events.list(kinds=["rule.passed"])
        assert (event.id, event.unit, event.what) == ("rules/facts", "document", "passed")
        assert memory.at(event.seq - 1).settings.rules.get("facts").through == 0

    def test_a_dry_run_writes_nothing(self, memory: Memory) -> None:
        memory.settings.rules.set("facts")
        _fact(memory, "alice", "seat", "aisle")
        _fact(memory, "bob", "seat", "aisle", "tool")
        _said(memory, "?", intent="delete", replaces="nothing")
        _said(memory, "-", intent="noop")
        position = memory.events.position
        done = memory.settings.rules.run("facts", dry_run=True)
        assert _told(done) == [("add", "applied"), ("add", "waiting"), ("noop", "unchanged")]
        assert (done.dry_run, len(done.skipped)) == (True, 1)
        assert memory.events.position == position
        assert memory.settings.rules.run("facts").proposals != ()
        again = memory.settings.rules.run("facts", dry_run=True)
        assert (again.proposals, again.seen) == ((), 0)

    def test_a_limit_stops_a_pass_and_the_next_goes_on(self, memory: Memory) -> None:
        memory.settings.rules.set("facts")
        for n in range(7):
            _fact(memory, f"s{n}", "is", n)
        assert [memory.settings.rules.run("facts", limit=3).applied for _ in range(4)] == [
            3,
            3,
            1,
            0,
        ]
        assert len(memory.list()) == 7

    def test_a_pass_that_is_stopped_repeats_nothing(self, memory: Memory) -> None:
        memory.settings.rules.set("facts")
        with memory.batch() as batch:
            for n in range(600):
                batch.observe(f"fact {n}", metadata={"key": f"k{n}"})

        def stop(done: int, total: int) -> None:
            raise LookupError("the caller is gone")

        with pytest.raises(LookupError, match="caller"):
            memory.settings.rules.run("facts", progress=stop)
        made = len(memory.list(limit=1_000))
        assert 0 < made < 600
        told: list[tuple[int, int]] = []
        done = memory.settings.rules.run("facts", progress=lambda n, total: told.append((n, total)))
        assert (done.applied, len(memory.list(limit=1_000))) == (600 - made, 600)
        assert told[-1][0] == told[-1][1]
        assert all(one.reinforcement_count == 0 for one in memory.list(limit=1_000))

    def test_two_passes_at_once_do_not_make_the_same_twice(self, memory: Memory) -> None:
        memory.settings.rules.set("facts")
        with memory.batch() as batch:
            for n in range(600):
                batch.observe(f"fact {n}", metadata={"key": f"k{n}"})

        def other(done: int, total: int) -> None:
            memory.settings.rules.run("facts")

        with pytest.raises(Conflict, match="was changed or run meanwhile"):
            memory.settings.rules.run("facts", progress=other)
        found = memory.list(limit=1_000)
        assert len(found) == 600
        assert all(one.reinforcement_count == 0 for one in found)

    def test_a_changed_rule_goes_on_where_it_stands_or_from_the_start(self, memory: Memory) -> None:
        memory.settings.rules.set("facts", filter="text contains 'tea'")
        _said(memory, "tea is hot")
        _said(memory, "ice is cold")
        assert memory.settings.rules.run("facts").applied == 1
        memory.settings.rules.set("facts", filter="text contains 'ice'")
        assert memory.settings.rules.run("facts").seen == 0
        memory.settings.rules.drop("facts")
        with pytest.raises(NotFound):
            memory.settings.rules.run("facts")
        memory.settings.rules.set("facts", filter="text contains 'ice'")
        assert memory.settings.rules.run("facts").seen == 0
        made = memory.settings.rules.set("facts", filter="text contains 'ice'", from_start=True)
        assert made.through == 0
        position = memory.events.position
        memory.settings.rules.set("facts", filter="text contains 'ice'", from_start=True)
        assert memory.events.position == position
        assert memory.settings.rules.run("facts").applied == 1
        assert {one.text for one in memory.list()} == {"tea is hot", "ice is cold"}

    def test_one_bad_episode_is_reported_and_skipped(self, memory: Memory) -> None:
        memory.settings.rules.set("facts")
        for n in range(9):
            _fact(memory, f"s{n}", "is", n)
            if n % 3 == 0:
                _said(memory, f"bad {n}", intent="delete", replaces=["nothing"])
        odd = _said(memory, "odd", intent="erase")
        long = _said(memory, "long", subject="s" * 300, predicate="is", object="x")
        done = memory.settings.rules.run("facts")
        assert (done.applied, done.seen, len(done.skipped)) == (9, 14, 5)
        reasons = {one.episode: one.reason for one in done.skipped}
        assert reasons[odd.id].startswith("intent is 'erase'")
        assert reasons[long.id] == "key is longer than 200 characters"
        assert len(memory.list()) == 9
        assert memory.settings.rules.run("facts").seen == 0

    def test_what_was_forgotten_or_corrected_is_not_believed_again(self, memory: Memory) -> None:
        memory.settings.rules.set("all")
        _said(memory, "The lamp is on.")
        gone = _said(memory, "The door is open.")
        memory.forget(gone.id)
        record = memory.remember(
            "The lamp was on.", evidence=[memory.sessions.recent(limit=2)[-1].id]
        )
        memory.forget(record.id)  # its episode is shadowed
        done = memory.settings.rules.run("all")
        assert (done.seen, memory.list()) == (0, [])

    def test_erasing_an_episode_leaves_nothing_of_what_was_derived(self, memory: Memory) -> None:
        memory.settings.rules.set("facts")
        known = memory.remember("The code is blue.", key="code")
        said = _said(memory, "canary-7 is the code", "tool", key="code")
        _said(memory, "gone", intent="delete", key="code")
        memory.settings.rules.run("facts")
        assert memory.get(known.id, include=["forgotten"]).status == "forgotten"
        (proposal,) = memory.review.list()
        memory.erase(said.id)
        with pytest.raises(NotFound):
            memory.review.show(proposal.id)

    def test_erasing_a_rule_erases_how_far_it_has_looked(self, memory: Memory) -> None:
        memory.settings.rules.set("facts")
        _fact(memory, "alice", "seat", "aisle")
        memory.settings.rules.run("facts")
        memory.settings.rules.drop("facts", erase=True)
        assert memory.events.list(kinds=["rule.passed", "document.set"]) == []
        memory.settings.rules.set("facts")
        assert memory.settings.rules.run("facts").seen == 1  # it has never looked

    def test_near_duplicates_and_contradictions_are_linked(self, memory: Memory) -> None:
        memory.settings.rules.set("all")
        _said(memory, "The harbour gate opens at nine.", subject="gate")
        _said(memory, "The harbour gate does not open at nine.")  # in the same pass
        memory.settings.rules.run("all")
        _said(memory, "The harbour gate opens at nine, usually.", subject="gate")  # in a later one
        memory.scoped(user="ann").observe("The harbour gate opens at nine today.")
        memory.settings.rules.run("all")
        found = {one.text: one for one in memory.list()}
        first = found["The harbour gate opens at nine."]
        denied = memory.why(found["The harbour gate does not open at nine."].id).links
        assert [(one.kind, one.target) for one in denied] == [("contradicts", first.id)]
        assert 0.6 <= denied[0].weight <= 1
        again = memory.why(found["The harbour gate opens at nine, usually."].id).links
        assert [(one.kind, one.target) for one in again] == [("near_duplicate_of", first.id)]
        assert memory.why(found["The harbour gate opens at nine today."].id).links == ()
        memory.graph.unlink(again[0].source, again[0].target, "near_duplicate_of")  # resolved
        assert memory.why(again[0].source).links == ()

    def test_a_cadence_is_due_when_it_has_come(self, memory: Memory) -> None:
        memory.settings.rules.set("called")
        memory.settings.rules.set("counts", every=2, filter="text contains 'tea'")
        memory.settings.rules.set("later", cron="0 0 29 2 *")
        assert memory.settings.rules.due() == []
        _said(memory, "tea one")
        _said(memory, "ice one")
        assert memory.settings.rules.due() == []
        _said(memory, "tea two")
        assert [one.name for one in memory.settings.rules.due()] == ["counts"]
        memory.settings.rules.run("counts")
        assert memory.settings.rules.due() == []


def changed_before(memory: Memory) -> int:
    """The position before the last command."""
    (last,) = memory.events.list(kinds=["rule.passed"], before=memory.events.position + 1, limit=1)
    return last.seq - 1
