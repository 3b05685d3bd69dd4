"""Whatever a proposer suggests: only proposals are written, each true to what it was shown."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import event, given
from hypothesis import strategies as st

from recollect import Memory
from recollect.lifecycle.trust.lineage import in_one_line
from recollect.memory.rules import suggestions
from recollect.model.events import TRUST_RANK, Intent, Role
from recollect.model.values import Episode, Proposal, Quote, Record, Suggestion
from tests.memory_suites.review.proposer import passed

USERS = (None, None, "ann")
ROLES: tuple[Role, ...] = ("user", "assistant", "tool")
WORDS = "door harbour garden 1234 kettle violin bridge lantern".split()

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
ids = st.sampled_from([*(f"r{n}" for n in range(6)), *(f"e{n}" for n in range(8)), "x", "", "r"])
odd = st.sampled_from([None, "", "\0", "\ud800", "k" * 300, "door.code"])
words = st.sampled_from(WORDS) | texts | st.sampled_from(["", "DOOR", "door  garden"])
quotes = st.lists(st.builds(Quote, ids, words), max_size=3).map(tuple)
anything = st.builds(
    Suggestion,
    intent=st.sampled_from(["add", "update", "delete", "noop", "erase"]),
    quotes=quotes,
    text=st.none() | texts | odd,
    target=st.none() | ids,
    key=odd,
    about=odd,
    confidence=st.sampled_from([None, 0.5, -1.0, float("nan")]),
    reason=odd,
)
plausible = st.tuples(
    st.sampled_from(["add", "update", "delete"]),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=2),
    st.integers(0, 5),
    texts,
)
Plausible = tuple[Intent, list[tuple[int, int]], int, str]


def made(told: Suggestion | Plausible, said: list[tuple[int, int, str]]) -> Suggestion:
    """A suggestion with words that were said, about a record that may be there."""
    if isinstance(told, Suggestion):
        return told
    intent, places, record, text = told
    quoted = []
    for number, first in places:
        words = said[number % len(said)][2].split()
        quoted.append(Quote(f"e{number % len(said)}", " ".join(words[first % len(words) :])))
    return Suggestion(
        intent=intent,
        quotes=tuple(quoted),
        text=None if intent == "delete" else text,
        target=None if intent == "add" else f"r{record}",
    )


class Seen:
    """A proposer that says random things, and keeps what it was shown."""

    def __init__(self, said: list[Suggestion]) -> None:
        self.said = said
        self.shown: list[tuple[set[str], set[str]]] = []

    def __call__(
        self, episodes: Sequence[Episode], related: Sequence[Record], /
    ) -> list[Suggestion]:
        self.shown.append(({one.id for one in episodes}, {one.id for one in related}))
        return self.said


def filled(facts: list[tuple[int, str]], said: list[tuple[int, int, str]]) -> Memory:
    memory = Memory.open(":memory:", embedder="none")
    for n, (user, text) in enumerate(facts):
        memory.scoped(user=USERS[user]).remember(f"{text} {n}", id=f"r{n}")
    for n, (user, role, text) in enumerate(said):
        memory.scoped(user=USERS[user]).observe(text, role=ROLES[role], id=f"e{n}")
    return memory


@given(
    st.lists(st.tuples(st.integers(0, 2), texts), max_size=6),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), texts), min_size=1, max_size=8),
    st.lists(plausible | anything, min_size=4, max_size=25),
)
def test_only_proposals_are_written_and_each_is_true_to_its_sources(
    facts: list[tuple[int, str]],
    said: list[tuple[int, int, str]],
    told: list[Suggestion | Plausible],
) -> None:
    suggested = [made(one, said) for one in told]
    with filled(facts, said) as memory:
        memory.settings.rules.set("chat", propose=True)
        before, position = memory.list(limit=1_000), memory.events.position
        proposer = Seen(suggested)
        done = passed(memory, proposer)
        assert memory.list(limit=1_000) == before
        waits = [one for one in memory.review.list() if one.unit == "proposal"]
        assert sorted(one.id for one in waits) == sorted(str(one.id) for one in done.proposals)
        assert memory.events.position == position + len(waits) + 1
        episodes = {one.id: one for one in memory.sessions.episodes(include=["waiting"])}
        event(f"{min(len(waits), 3)} proposals or more")
        for one in waits:
            event(f"{one.intent} {one.trust}")
            check(one, episodes, proposer)
        skipped = len(proposer.shown) * len(suggested) - len(waits)
        assert len(done.skipped) == skipped or len(suggested) > 20
        assert passed(memory, Seen(suggested)).proposals == ()


def check(one: Proposal, episodes: dict[str, Episode], proposer: Seen) -> None:
    quoted = [episodes[quote.episode] for quote in one.quotes]
    assert quoted
    for quote in one.quotes:
        assert in_one_line(quote.words) in in_one_line(episodes[quote.episode].text)
    assert {episode.scope.user for episode in quoted} == {one.scope.user}
    least = min(TRUST_RANK[episode.trust] for episode in quoted)
    assert TRUST_RANK[one.trust] == min(least, TRUST_RANK["agent"])
    names = {episode.id for episode in quoted}
    given_with = [records for heard, records in proposer.shown if names <= heard]
    assert given_with  # all that it quotes was shown at once
    if one.intent != "add":
        assert any(one.target in records for records in given_with)
    batch = next(heard for heard, _ in proposer.shown if names <= heard)
    if one.trust == "agent":  # nothing that is unverified was in its sight
        assert all(episodes[id].trust != "unverified" for id in batch)


def test_the_batches_are_of_one_user_and_bounded() -> None:
    with filled([], [(n % 3, n % 3, "tea") for n in range(200)]) as memory:
        heard = memory.sessions.episodes(include=["waiting"], limit=1_000)
        found = list(suggestions.batches(heard))
    assert sum(map(len, found)) == 200
    for batch in found:
        assert len(batch) <= 20
        assert len({(one.scope.user, one.trust == "unverified") for one in batch}) == 1
