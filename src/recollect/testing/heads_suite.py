"""Hearing of appends, and looking where many spaces stand: the part of the store suite about it.

Responsible for ``Space.on_append`` and ``Backend.heads`` on every engine. Leaves the rest of the
port to ``store_suite``.
"""

from __future__ import annotations

import threading

import pytest

from recollect.store.port import Backend, Space
from recollect.testing.acts import command, hand, outcome, remember


class HeadsSuite:
    """Who follows a space learns of every append."""

    @pytest.fixture
    def backend(self) -> Backend:
        """An empty place; defined by subclasses."""
        raise NotImplementedError

    @pytest.fixture
    def space(self, backend: Backend) -> Space:
        """A new space in it."""
        return backend.space("main", create=True)

    def test_a_listener_hears_of_an_append_when_it_is_durable(self, space: Space) -> None:
        space.head()
        heard: list[int] = []
        stop = space.on_append(lambda: heard.append(space.head().seq))
        last = space.submit(command("a", remember("one")), outcome).last
        assert heard == [last]
        space.submit_all([command(id, remember(id)) for id in ("b", "c")], outcome)
        assert heard[-1] == last + 2
        assert space.later(command("d", hand("c1")))
        assert heard[-1] == last + 2  # it is not written yet
        space.flush()
        assert heard[-1] == last + 3
        space.seal()
        assert heard[-1] == space.head().seq == last + 4
        count = len(heard)
        stop()
        stop()
        space.submit(command("e", remember("five")), outcome)
        assert len(heard) == count

    def test_what_a_listener_raises_concerns_no_writer(self, space: Space) -> None:
        heard: list[str] = []

        def fail() -> None:
            heard.append("failed")
            raise RuntimeError("a listener failed")

        for call in (fail, lambda: heard.append("heard")):
            space.on_append(call)
        last = space.submit(command("a", remember("one")), outcome).last
        assert space.head().seq == last
        assert heard == ["failed", "heard"]

    def test_a_follower_that_wakes_at_each_append_misses_nothing(self, space: Space) -> None:
        space.head()
        news, is_over, seen = threading.Event(), threading.Event(), list[int]()
        space.on_append(news.set)

        def follow() -> None:
            after = 1
            while True:
                assert news.wait(60)
                news.clear()
                is_last = is_over.is_set()  # looked at after it was woken: nobody wakes it again
                with space.reading() as reads:
                    page = reads.events(
                        kinds=(), id=None, user=None, after=after, before=None, limit=1_000
                    )
                seen.extend(row.seq for row in page)
                after = seen[-1] if seen else after
                if is_last:
                    return

        def write(number: int) -> None:
            for turn in range(5):
                id = f"{number}-{turn}"
                space.submit(command(id, remember(f"says {id}", id)), outcome)

        follower = threading.Thread(target=follow)
        writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
        for thread in (follower, *writers):
            thread.start()
        for thread in writers:
            thread.join()
        is_over.set()
        news.set()
        follower.join()
        assert seen == list(range(2, 42))

    def test_heads_are_of_the_spaces_that_exist_and_may_be_read(self, backend: Backend) -> None:
        spaces = [backend.space(name, create=True) for name in ("main", "Üser/../x", "bob")]
        heads = {space.name: space.head().seq for space in spaces}
        assert backend.heads([*heads, "nowhere", "main"]) == heads
        assert backend.heads([]) == backend.heads(["nowhere"]) == {}
        backend.space("bob", create=False).submit(command("a", remember("one")), outcome)
        heads["bob"] += 1
        assert backend.heads(heads) == heads
        backend.drop("bob", None)
        del heads["bob"]
        assert backend.heads([*heads, "bob"]) == heads
        assert backend.spaces() == [*heads]  # asking has made none
