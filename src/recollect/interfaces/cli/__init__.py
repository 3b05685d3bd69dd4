"""The command line.

Responsible for one run of the command: its verb, its answer, its exit code. Leaves the verbs to
the modules beside this one. Invariant: every run ends with an exit code from this table.

    0    success
    1    nothing found, a check failed (verify, doctor), or the confirmation was declined
    2    invalid arguments or settings
    3    no such id, or no memory here
    4    not allowed, or a confirmation is required
    5    conflict with the state of the memory
    6    the disk failed, or this release does not support it
    7    the ledger or its index is damaged
    70   internal error
    130  interrupted
    141  the reader of the answer closed the pipe
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as type checkers know it, without the time that typing takes to load
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def main(
    argv: Sequence[str] | None = None, *, start: Mapping[str, Callable[..., object]] | None = None
) -> int:
    """Runs one command and returns the exit code. ``start`` maps names to interfaces to start."""
    given = list(sys.argv[1:] if argv is None else argv)
    if "--hook" in given:  # an assistant is waiting, so load as little as possible
        from recollect.interfaces.cli.assistants import hook

        verb = hook.verb_of(given)
        if verb is not None:
            ran = hook.run(verb, given)
            return hook.end(verb, ran) if argv is None else ran
    _open_streams()
    if given in (["--version"], ["-V"]):
        from recollect import __version__

        sys.stdout.write(f"recollect {__version__}\n")
        return 0
    from recollect.interfaces.cli.run import run

    return run(given, start, alone=argv is None)


def _open_streams() -> None:
    """Opens what a shell has closed (``>&-``): a file of the memory must not take its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            import os

            setattr(sys, name, open(os.devnull, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115 - open to the end
