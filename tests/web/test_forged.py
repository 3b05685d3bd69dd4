"""Thousands of requests that this person's browser did not make: no act, no byte of a memory.

The controls take one protection out and send the same requests: then something happens.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlencode

import pytest

from recollect import Memory, Store
from recollect.interfaces.web import draft as drafts
from recollect.interfaces.web.guard import Guard, Headers
from recollect.interfaces.web.login.session import Launched, Session
from recollect.interfaces.web.memories import UNKNOWN, Own
from recollect.model.presets import BUILT_IN
from tests.web.acts.test_presets import sent
from tests.web.addresses import addresses
from tests.web.visiting import Served, served

SECRET = "zanzibar"  # in every text of the memory
FORM = "application/x-www-form-urlencoded"
OURS = "same-origin"


class Place(NamedTuple):
    """An inspector with what an attacker may know or have: everything but a right session."""

    inspector: Served
    memory: Memory
    cookie: str  # of the person: a browser would not send it along
    ended: str  # of a session that is over
    others: str  # of another inspector on this machine
    used: str  # a launch key
    pages: list[str]
    forms: list[tuple[str, dict[str, str]]]


@contextmanager
def told() -> Iterator[Store]:
    """A memory in which every act has something to act on."""
    with Store.open(":memory:") as store:
        memory = store.space("demo")
        said = memory.observe(f"I keep my bicycle in {SECRET}.")
        memory.remember(f"Alice sits in {SECRET}.", key="seat", evidence=[said[0].id])
        memory.remember(f"Bob lives in {SECRET}.", key="home")
        gone = memory.remember(f"Carol works in {SECRET}.", key="work")
        memory.forget(gone.id)
        agent = memory.scoped(trust="agent", agent="planner")
        agent.review.propose(f"Alice stands in {SECRET}.", target=memory.get(key="seat").id)
        memory.scoped(trust="unverified").remember(f"Dora drives to {SECRET}.", key="seat")
        yield store


@contextmanager
def opened(store: Store, **options: object) -> Iterator[Place]:
    with (
        served(store, **options) as inspector,  # type: ignore[arg-type]
        served(store) as other,
    ):
        memory = store.space("demo")
        ended, person = inspector.enter(), inspector.enter()
        inspector.sessions.end(ended.session())
        used = inspector.sessions.launch()
        inspector.ask("GET", f"/open?key={used}")
        pages = [each.split("?")[0] for each in addresses(memory)]
        cookie, over, others = person.cookie, ended.cookie, other.enter().cookie
        yield Place(inspector, memory, cookie, over, others, used, sorted(set(pages)), acts(memory))


def acts(memory: Memory) -> list[tuple[str, dict[str, str]]]:
    """Every form, with fields that would be accepted."""
    seat, home = memory.get(key="seat"), memory.get(key="home")
    gone = memory.list(include=["forgotten"], filter="key = 'work'")[0]
    position = str(memory.events.position)
    found = [
        (f"/demo/r/{seat.id}/revise", {"text": "forged", "expect": str(seat.seq)}),
        (f"/demo/r/{seat.id}/forget", {"expect": str(seat.seq)}),
        (f"/demo/r/{gone.id}/restore", {"expect": str(gone.seq)}),
        (f"/demo/r/{seat.id}/tag", {"add": "forged", "expect": str(seat.seq)}),
        (f"/demo/r/{seat.id}/link", {"target": home.id, "kind": "x", "expect": str(seat.seq)}),
        (f"/demo/r/{gone.id}/undo", {"expect": str(gone.seq)}),
        (f"/demo/erase/{home.id}", {"typed": home.id[-6:], "position": position}),
        ("/demo/presets/task/save", {**sent(drafts.of(BUILT_IN["task"])), "name": "forged"}),
        *(
            (f"/demo/review/{each.id}/{verb}", {"digest": each.digest, "position": position})
            for each in memory.review.list()
            for verb in ("approve", "reject")
        ),
    ]
    return [(path, {"command": f"c{n}", **fields}) for n, (path, fields) in enumerate(found)]


Forge = Callable[[Place, random.Random], dict[str, str]]


def _site(place: Place, rng: random.Random) -> str:
    return rng.choice(["cross-site", "same-site", "somewhere", "", "Same-Origin", "none, x"])


def _origin(place: Place, rng: random.Random) -> str:
    port = place.inspector.port
    return rng.choice(
        [
            "http://evil.example", "https://127.0.0.1", f"https://127.0.0.1:{port}",
            f"http://127.0.0.1:{port + 1}", f"http://localhost:{port}", "null",
            f"http://127.0.0.1:{port}.evil.example", f"http://evil@127.0.0.1:{port}", "file:",
        ]
    )  # fmt: skip


def _cookie(place: Place, rng: random.Random) -> str:
    name, _, value = place.cookie.partition("=")
    return rng.choice(
        [
            "", place.ended, place.others, f"{name}={place.used}", f"{name}={value[:-1]}",
            f"{name}={value.upper()}x", f"x{place.cookie}", f"{place.cookie}; {name}=1",
            f"{name}=%s" % rng.randbytes(24).hex(),
        ]
    )  # fmt: skip


# What is wrong with a request. All but the cookies have the cookie of the person.
WRONG: Mapping[str, Forge] = {
    "foreign origin": lambda p, r: {"Origin": _origin(p, r), "Sec-Fetch-Site": _site(p, r)},
    "origin alone": lambda p, r: {"Origin": _origin(p, r)},
    "site alone": lambda p, r: {"Sec-Fetch-Site": _site(p, r)},
    "host": lambda p, r: {
        "Host": r.choice(["evil.example", f"evil.example:{p.inspector.port}", "127.0.0.1", ""]),
        "Sec-Fetch-Site": OURS,
    },
    "cookie": lambda p, r: {"Cookie": _cookie(p, r), "Sec-Fetch-Site": OURS},
}


def send(place: Place, kind: str, rng: random.Random) -> tuple[int, str]:
    """One forged request; a status and all that came back."""
    headers = {"Cookie": place.cookie, "Content-Type": FORM, **WRONG[kind](place, rng)}
    body, method = None, rng.choice(["POST", "POST", "POST", "GET", "HEAD", "PUT", "DELETE"])
    if method == "POST":
        path, fields = rng.choice(place.forms)
        body = urlencode(fields)
    else:
        path = rng.choice(place.pages)
        path += rng.choice(["", "?as=json", "?at=3"])
    answer = place.inspector.ask(method, f"{place.inspector.root}{path}", headers, body)
    return answer.status, answer.text + str(answer.headers)


def forged(place: Place, count: int, kinds: Iterable[str], seed: int) -> tuple[int, int, Counter]:  # type: ignore[type-arg]
    """How many acts and how many leaks, and which answers there were."""
    rng, names = random.Random(seed), list(kinds)
    done, leaked, answers = 0, 0, Counter[int]()
    for n in range(count):
        position = place.memory.events.position
        status, text = send(place, names[n % len(names)], rng)
        answers[status] += 1
        done += place.memory.events.position != position
        leaked += SECRET in text
    return done, leaked, answers


@pytest.mark.parametrize(
    "count", [200, pytest.param(2_000, marks=pytest.mark.nightly)], ids=["bounded", "full"]
)
def test_forged_requests_do_nothing_and_show_nothing(
    count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with told() as store, opened(store) as place:
        done, leaked, answers = forged(place, count, WRONG, seed=count)
        again = place.inspector.ask("GET", f"/open?key={place.used}")
        assert again.status == 401
        assert "set-cookie" not in again.headers
    with capsys.disabled():
        print(f"\nforged: {count:,} requests, {done} acts, {leaked} leaks, {dict(answers)}")  # noqa: T201
    assert (done, leaked) == (0, 0)
    assert all(400 <= status < 500 for status in answers)


def test_a_few_forged_requests_do_nothing() -> None:
    with told() as store, opened(store) as place:
        assert forged(place, 40, WRONG, seed=1)[:2] == (0, 0)


class Open(Guard):
    """A guard that lets everything in."""

    def check(self, method: str, raw: Iterable[tuple[bytes, bytes]]) -> Headers:
        return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in raw}


class Anyone(Launched):
    """Sessions that take every cookie for a right one."""

    def find(self, cookie: str, *, is_visit: bool = True) -> Session | None:
        return next(reversed(self._sessions.values()), None)


@pytest.mark.parametrize("kind", [kind for kind in WRONG if kind != "cookie"])
def test_control_without_the_guard_they_act_and_show(kind: str) -> None:
    with told() as store, opened(store, guard=Open) as place:
        done, leaked, _ = forged(place, 40, [kind], seed=3)
        assert done > 0
        assert leaked > 0


def test_control_without_sessions_they_act_and_show() -> None:
    with told() as store, opened(store, sessions=Anyone()) as place:
        done, leaked, _ = forged(place, 40, ["cookie"], seed=3)
        assert done > 0
        assert leaked > 0


class Unknown(Own):
    """A store whose memories were not created on this machine."""

    def cannot_write(self, space: str) -> str | None:
        return UNKNOWN


class ForAgents(Own):
    """A store that is opened with the rights of an agent."""

    def open(self, space: str) -> Memory:
        return super().open(space).scoped(trust="agent", agent="planner")


def all_acts(store: Store, memories: Own, only: str = "") -> tuple[int, Counter[int]]:
    """Sends every form with a right session: how many acts, and the answers."""
    done, answers = 0, Counter[int]()
    with served(store, memories) as inspector:
        visitor, memory = inspector.enter(), store.space("demo")
        for path, fields in acts(memory):
            if only in path:
                position = memory.events.position
                answers[visitor.post(path, fields).status] += 1
                done += memory.events.position != position
    return done, answers


def test_a_memory_that_may_not_be_changed_is_not() -> None:
    with told() as store:
        for memories in (Own(store, read_only=True), Unknown(store)):
            done, answers = all_acts(store, memories)
            assert done == 0
            assert set(answers) == {403}
        assert all_acts(store, Own(store))[0] >= 3  # the control


@pytest.mark.parametrize("what", ["/review/", "/erase/"])
def test_an_agent_decides_and_erases_nothing(what: str) -> None:
    with told() as store:
        done, answers = all_acts(store, ForAgents(store), what)
        assert done == 0
        assert set(answers) == {403}
        assert all_acts(store, Own(store), what)[0] > 0  # the control: a person does
