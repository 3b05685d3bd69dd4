"""A second process on a workspace, for the suite on erasure.

`python -m tests.suites.neighbour WHERE idle|read|erase ID`: opens, looks at the record, says
`ready`, and goes on when a line comes in. With `erase-subject USER` it erases a person.
"""

from __future__ import annotations

import sys

from recollect import Memory
from recollect.errors import NotFound


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def look(memory: Memory, id: str) -> str:
    """What this process still knows of a record; it also writes, as a process does."""
    memory.remember("the neighbour writes")
    try:
        return memory.get(id).id
    except NotFound:
        return "nothing"


def erase_subject(memory: Memory, user: str) -> None:
    """Erases a person when it is told to."""
    memory.scoped(user=user).list()
    say("ready")
    sys.stdin.readline()
    memory.erase(subject=user)
    say("done")
    sys.stdin.readline()


def main(where: str, what: str, id: str) -> None:
    with Memory.open(where) as memory:
        if what == "erase-subject":
            erase_subject(memory, id)
            return
        memory.get(id)
        memory.recall("river stone")
        if what == "read":
            with memory._handle.space.reading() as reads:
                reads.version(id)
                say("ready")
                sys.stdin.readline()
        else:
            say("ready")
            sys.stdin.readline()
        if what == "erase":
            memory.erase(id)
        say(look(memory, id))
        sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
