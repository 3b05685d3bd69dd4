"""The places of a graph: the same every time, each node with room of its own."""

from __future__ import annotations

from math import dist, hypot

from hypothesis import given
from hypothesis import strategies as st

from recollect.interfaces.web.draw.packed import lines, slices
from recollect.interfaces.web.draw.rings import NODES_MAX_COUNT, rings
from recollect.recall.pack import count_tokens


def test_a_record_alone_stands_in_the_middle() -> None:
    (spot,) = rings(["a"], []).spots
    assert (spot.x, spot.y, spot.ring) == (0, 0, 0)
    assert rings([], []).spots == ()


def test_nodes_stand_on_the_ring_of_their_distance() -> None:
    drawn = rings(["a", "b", "c", "d"], [("a", "b"), ("c", "a"), ("d", "c")])
    assert [spot.ring for spot in drawn.spots] == [0, 1, 1, 2]
    for spot in drawn.spots[1:]:
        assert abs(hypot(spot.x, spot.y) - drawn.radii[spot.ring - 1]) < 0.2
    assert len(drawn.lines) == 3


def test_what_no_link_reaches_hangs_at_the_middle() -> None:
    assert [spot.ring for spot in rings(["a", "b"], []).spots] == [0, 1]


def test_a_link_to_what_is_not_drawn_is_left_out() -> None:
    assert rings(["a", "b"], [("a", "b"), ("a", "z")]).lines[0].place == 0
    assert len(rings(["a", "b"], [("a", "z"), ("b", "b")]).lines) == 1  # to itself: a point


sizes = st.integers(1, NODES_MAX_COUNT)


@given(sizes, st.data())
def test_the_drawing_is_the_same_every_time_and_no_two_nodes_meet(
    size: int, data: st.DataObject
) -> None:
    ids = [f"r{place}" for place in range(size)]
    parents = [data.draw(st.integers(0, min(place, 6))) for place in range(size - 1)]
    links = [(ids[parent], ids[place + 1]) for place, parent in enumerate(parents)]
    drawn = rings(ids, links)
    assert drawn == rings(ids, links)
    at = [(spot.x, spot.y) for spot in drawn.spots]
    assert all(dist(one, other) > 8 for place, one in enumerate(at) for other in at[place + 1 :])
    assert all(abs(x) <= drawn.width and abs(y) <= drawn.height for x, y in at)


texts = st.text(alphabet="ab1é .,-[]\u200b", max_size=40).map(lambda each: each.replace("\n", " "))


@given(st.lists(texts, max_size=6))
def test_the_tokens_of_the_lines_are_those_of_the_text(items: list[str]) -> None:
    text = "\n".join(["<recollect>", "Notes.\nTwo lines.", *items, "</recollect>"])
    found = lines(text, len(items))
    assert sum(line.tokens for line in found) == count_tokens(text)
    assert [line.text for line in found if line.item] == items
    drawn = slices(found, 100)
    assert sum(each.tokens for each in drawn) == count_tokens(text)
    assert [each.item for each in drawn] == [None, *range(1, len(items) + 1)]


def test_no_text_has_no_lines() -> None:
    assert lines("", 0) == ()
    assert slices((), 100) == ()
