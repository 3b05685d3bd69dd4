"""Which states of a crashed disk are looked at.

Responsible for enumerating the remains of one append byte by byte and page by page, and for
drawing states of a whole disk so that every kind of tearing, every pending name and every age of
the index comes up. Leaves what a choice means to ``crash_disk``. Invariant: the same seed draws the
same states.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tests.suites.crash_disk import (
    FILLS,
    PAGE,
    Choice,
    Disk,
    File,
    Fill,
    Tear,
    Tree,
    fingerprint,
    junk,
    subset,
)

ALL_SUBSETS_MAX_PAGES = 10

# One append, exhaustively.


def pieces_of(data: bytes, offset: int) -> list[bytes]:
    """An append's bytes, split where pages of the file meet."""
    first = PAGE - offset % PAGE
    cuts = [0, *range(first, len(data), PAGE), len(data)]
    return [data[a:b] for a, b in pairwise(cuts) if a < b]


def count_tears(pieces: Sequence[bytes]) -> int:
    """How many states ``tears`` gives without a budget."""
    others = 1 << len(pieces) - 1
    return sum(len(piece) * ((1 << place) + 2 * others) for place, piece in enumerate(pieces)) + 1


def tears(base: bytes, pieces: Sequence[bytes], budget: int, rng: random.Random) -> Iterator[bytes]:
    """What a crash may leave of an append after ``base``: torn byte × fill × subset of pages.

    All of it if the budget allows; otherwise every torn byte with all other pages there, every
    subset of up to ten pages (or prefixes, single holes and random ones) untorn and torn once.
    """
    yield base + b"".join(pieces)
    exhaustive = count_tears(pieces) <= budget
    for place, piece in enumerate(pieces):
        for fill in FILLS:
            for mask in _masks(len(pieces), place, fill, exhaustive, rng):
                before, blank, after = _around(pieces, place, mask, fill)
                whole = mask | 1 << place == (1 << len(pieces)) - 1
                every = exhaustive or whole
                places = range(len(piece)) if every else (0, rng.randrange(len(piece)))
                start = base + before
                for at in places:
                    yield start + piece[:at] + blank[at:] + after


def _masks(count: int, place: int, fill: Fill, exhaustive: bool, rng: random.Random) -> list[int]:
    """Subsets of the other pages; after a cut there are none."""
    free = place if fill == "cut" else count
    own = 1 << place
    everything = (1 << free) - 1
    if exhaustive or free <= ALL_SUBSETS_MAX_PAGES:
        return [mask for mask in range(1 << free) if not mask & own] or [0]
    prefixes = [(1 << size) - 1 for size in range(free + 1)]
    holes = [everything & ~(1 << hole) for hole in range(free)]
    chance = [rng.getrandbits(free) for _ in range(200)]
    return sorted({mask & ~own for mask in (*prefixes, *holes, *chance)})


def _around(
    pieces: Sequence[bytes], place: int, mask: int, fill: Fill
) -> tuple[bytes, bytes, bytes]:
    """What stands before the torn page, instead of its missing part, and after it."""
    if fill == "cut":
        shown = [p if mask >> n & 1 else bytes(len(p)) for n, p in enumerate(pieces[:place])]
        return b"".join(shown), b"", b""
    blank = junk if fill == "junk" else bytes
    shown = [p if mask >> n & 1 else blank(len(p)) for n, p in enumerate(pieces)]
    size = len(pieces[place])
    return b"".join(shown[:place]), blank(size), b"".join(shown[place + 1 :])


# A whole disk, by sample.


def count_states(disk: Disk) -> int:
    """How many choices there are, before looking which of them are the same."""
    count = disk.images() + 1
    for folder in disk.folders.values():
        count *= 2 ** len(folder.pending)
    for file in disk.files.values():
        changed = file.changed()
        if changed:
            count *= 1 + 3 * PAGE * len(changed) * 2 ** (len(changed) - 1)
    return count


def draw(disk: Disk, rng: random.Random, count: int) -> Iterator[tuple[Choice, Tree]]:
    """Different states of a disk, at most ``count``."""
    seen: set[int] = set()
    for number in range(count * 2):
        choice = _choice(disk, rng, number)
        tree = disk.tree(choice)
        print_ = fingerprint(tree)
        if print_ not in seen:
            seen.add(print_)
            yield choice, tree
            if len(seen) == count:
                return


def _choice(disk: Disk, rng: random.Random, number: int) -> Choice:
    """The first few are the corners; the rest is chance."""
    masks = {
        ino: _name_mask(len(folder.pending), rng, number)
        for ino, folder in disk.folders.items()
        if folder.pending
    }
    torn = {
        ino: _tear(file, rng, number)
        for ino, file in disk.files.items()
        if file.durable != file.cache and number != 1
    }
    return Choice(masks=masks, tears=torn, index=_age(disk.images(), rng, number))


def _name_mask(pending: int, rng: random.Random, number: int) -> int:
    everything = (1 << pending) - 1
    if number < 2:
        return everything
    if pending <= 3:
        return number % (everything + 1)
    return rng.choice(
        [0, everything, rng.getrandbits(pending), everything & ~(1 << rng.randrange(pending))]
    )


def _tear(file: File, rng: random.Random, number: int) -> Tear:
    pages = file.changed()
    if number == 0:
        return Tear(pages=frozenset(pages), fill="cut")
    fill = FILLS[number % 3]
    mask = rng.getrandbits(len(pages))
    kind = number // 3 % 3
    if kind == 0:
        return Tear(pages=subset(pages, mask), fill=fill)
    page = rng.choice(pages)
    size = min(PAGE, max(len(file.cache) - page * PAGE, 1))
    at = page * PAGE + rng.randrange(size)
    others = pages if kind == 1 else subset(pages, mask)
    if fill == "cut":
        others = [other for other in others if other < page]
    return Tear(pages=frozenset(others) - {page}, at=at, fill=fill)


def _age(images: int, rng: random.Random, number: int) -> int:
    """Newest, missing, and every other age."""
    match number % 4:
        case 0:
            return -1
        case 1:
            return -1 if number < 4 else 0
        case 2:
            return 0
        case _:
            return -rng.randrange(1, max(images, 3) + 1)


def kinds_of(disk: Disk, choice: Choice) -> Iterator[str]:
    """Which kinds of tearing, naming and ageing a choice has."""
    for ino, tear in choice.tears.items():
        some = len(tear.pages) < len(disk.files[ino].changed()) - 1
        pages = "some pages" if some else "all other pages"
        yield f"{tear.fill}, {'whole' if tear.at is None else 'torn'}, {pages}"
    for ino, mask in choice.masks.items():
        names = disk.folders[ino].names(mask)
        yield "names changed" if names == disk.folders[ino].names() else "names as before"
    ages = {0: "index missing", -1: "index newest"}
    yield ages.get(choice.index, "index older")
