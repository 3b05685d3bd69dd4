"""Jobs, tokens and other calls of a store, through the client."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from recollect import AsyncStore, Store
from recollect import errors as e
from recollect.aio.jobs import AsyncJobs
from recollect.aio.tokens import AsyncTokens
from recollect.client import Store as Remote
from recollect.client import jobs as client_jobs
from recollect.client import tokens as client_tokens
from recollect.memory.jobs.jobs import Jobs
from recollect.memory.memory import _service_memory, service_memory
from recollect.memory.tokens import Tokens
from recollect.model.values import JobKind, Schedule
from tests.http.serving import served
from tests.memory.test_jobs import port_of

EVERY = ("read", "write", "erase", "create", "drop", "review", "admin")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("main").remember("The first one.")
        store.space("alice").remember("The second one.")
        yield store


@pytest.fixture
def remote(store: Store) -> Iterator[Remote]:
    token = store.tokens.create("all", space=None, verbs=EVERY, trust="person").token
    with (
        served(store) as port,
        Remote.open(f"http://127.0.0.1:{port}", token=token, timeout_s=20) as remote,
    ):
        yield remote


def calls(kind: type) -> dict[str, list[inspect.Parameter]]:
    return {
        name: list(inspect.signature(call).parameters.values())
        for name, call in vars(kind).items()
        if not name.startswith("_") and inspect.isfunction(call)
    }


@pytest.mark.parametrize(
    ("plain", "client", "awaited"),
    [(Jobs, client_jobs.Jobs, AsyncJobs), (Tokens, client_tokens.Tokens, AsyncTokens)],
)
def test_the_client_has_the_calls_of_a_store(plain: type, client: type, awaited: type) -> None:
    own = calls(client)
    own.pop("follow", None)  # a service tells; where the store is, a job is looked at
    assert own == calls(plain) == calls(awaited)


def test_a_job_is_asked_for_followed_and_found(store: Store, remote: Remote) -> None:
    asked = remote.jobs.ask("seal", due=timedelta(0, 0, 1))
    seen: list[str] = []
    following = threading.Thread(
        target=lambda: seen.extend(job.state for job in remote.jobs.follow(asked.id))
    )
    following.start()
    until = time.monotonic() + 60
    while not seen and time.monotonic() < until:
        time.sleep(0.01)
    assert [job.state for job in store.jobs.work()] == ["done"]
    following.join(60)
    assert (seen[0], seen[-1]) == ("waiting", "done")
    assert remote.jobs.get(asked.id).state == "done"
    assert [job.id for job in remote.jobs.list(state="done")] == [asked.id]
    waits = remote.jobs.ask("verify", space="alice", params={"deep": True}, trust="agent")
    assert (waits.space, waits.trust) == ("alice", "agent")
    assert [job.id for job in remote.jobs.list()] == [waits.id, asked.id]
    assert remote.jobs.cancel(waits.id).state == "cancelled"
    with pytest.raises(e.Conflict):
        remote.jobs.cancel(waits.id, space="alice")
    for missing in (999, waits.id):
        with pytest.raises(e.NotFound, match=f"job {missing} does not exist"):
            remote.jobs.get(missing, space="main")
    with pytest.raises(e.NotFound):
        next(remote.jobs.follow(999))
    with pytest.raises(e.Unsupported, match="does no jobs"):
        remote.jobs.work()


def test_a_schedule_is_set_and_removed(remote: Remote) -> None:
    made = remote.jobs.set_schedule("seal", every_s=60)
    assert remote.jobs.schedules() == [made] == [remote.jobs.get_schedule("seal")]
    with pytest.raises(e.Forbidden):
        remote.jobs.set_schedule("seal", every_s=60, trust="agent")
    remote.jobs.drop_schedule("seal")
    assert remote.jobs.schedules() == []


def test_tokens_are_created_rotated_and_revoked(store: Store, remote: Remote) -> None:
    made = remote.tokens.create("phone", space="main", user="ann", expires=timedelta(days=1))
    assert remote.tokens.get("phone") == remote.tokens.get(made.id) == store.tokens.get(made.id)
    assert remote.tokens.list() == store.tokens.list()
    new = remote.tokens.rotate("phone", overlap=timedelta(hours=2))
    with pytest.raises(e.Ambiguous):
        remote.tokens.get("phone")
    assert remote.tokens.revoke("phone") == 2
    assert not store.tokens.get(new.id).live
    for call in (remote.tokens.get, remote.tokens.revoke, remote.tokens.rotate):
        with pytest.raises(e.NotFound):
            call("nobody")
    held = remote.token()
    assert (held.label, held.verbs) == ("all", EVERY)


def test_a_token_is_not_asked_for_twice(store: Store) -> None:
    """An answer that is lost is not asked for again: two tokens would be valid."""
    token = store.tokens.create("all", space=None, verbs=EVERY, trust="person").token

    def losing(app: object) -> object:
        async def lose(scope: dict[str, object], receive: object, send: object) -> None:
            async def never(message: object) -> None:
                raise OSError("lost")

            is_made = scope.get("method") == "POST" and str(scope.get("path")) == "/v1/tokens"
            await app(scope, receive, never if is_made else send)  # type: ignore[operator]

        return lose

    with served(store, around=losing) as port:
        remote = Remote.open(f"http://127.0.0.1:{port}", token=token, timeout_s=20)
        with pytest.raises(e.Unavailable):
            remote.tokens.create("once", space="main")
        remote.close()
    assert [each.label for each in store.tokens.list()].count("once") == 1


def test_a_memory_is_dropped_as_it_was_shown(store: Store, remote: Remote) -> None:
    assert remote.heads(["main", "alice", "nowhere"]) == {
        name: store.space(name).events.position for name in ("main", "alice")
    }
    planned = remote.drop("alice", dry_run=True)
    assert (planned.space, planned.records, planned.dropped) == ("alice", 1, None)
    done = remote.drop("alice", reason="moved")
    assert done.dropped is not None
    assert done.dropped.reason == "moved"
    assert remote.spaces() == ["main"]
    with pytest.raises(e.NotFound):
        remote.drop("alice")
    with pytest.raises(e.Unsupported):
        remote.dropped()


def test_the_same_calls_can_be_awaited(store: Store) -> None:
    token = store.tokens.create("all", space=None, verbs=EVERY, trust="person").token

    async def asked(url: str) -> None:
        async with await AsyncStore.open(url, token=token) as remote:
            job = await remote.jobs.ask("verify")
            assert (await remote.jobs.get(job.id)).id == job.id
            made = await remote.tokens.create("phone", space="main")
            assert (await remote.tokens.get(made.id)).label == "phone"
            mine = await remote.token()
            assert mine is not None
            assert mine.label == "all"
            assert await remote.heads(["main"]) == {"main": store.space("main").events.position}
            assert (await remote.drop("alice", dry_run=True)).records == 1

    with served(store) as port:
        asyncio.run(asked(f"http://127.0.0.1:{port}"))


def test_what_another_release_asked_for_is_seen_and_removed_by_a_client(
    store: Store, remote: Remote
) -> None:
    port, former = port_of(store), cast(JobKind, "curate")
    asked = port.ask("alice", former, "{}", due_at=None, trust="person")
    port.set_schedule(
        Schedule(
            space="alice", kind=former, params={}, cron="0 3 * * *", every_s=None, set_by=None,
            next_at="2199-01-01T00:00:00.000000Z",
        )
    )  # fmt: skip
    store.jobs.work()
    assert [(job.kind, job.error) for job in remote.jobs.list()] == [("curate", "unknown_kind")]
    assert remote.jobs.get(asked.id).kind == "curate"
    assert [one.kind for one in remote.jobs.schedules()] == ["curate"]
    remote.jobs.drop_schedule("curate", space="alice")
    assert store.jobs.schedules() == []


def test_many_threads_open_memories_of_one_class() -> None:
    threads = [threading.Thread(target=lambda: made.append(service_memory())) for _ in range(8)]
    made: list[type] = []
    _service_memory.cache_clear()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 1
