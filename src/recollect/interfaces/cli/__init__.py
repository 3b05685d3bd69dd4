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
    """Runs one verb and returns the exit code. ``start`` maps names to interfaces verbs start."""
    given = list(sys.argv[1:] if argv is None else argv)
    if "--hook" in given:  # an assistant is waiting, so load as little as possible
        from recollect.interfaces.cli import hook

        verb = hook.verb_of(given)
        if verb is not None:
            ran = hook.run(verb, given)
            return hook.end(verb, ran) if argv is None else ran
    _open_streams()
    if given in (["--version"], ["-V"]):
        from recollect import __version__

        sys.stdout.write(f"recollect {__version__}\n")
        return 0
    if given[:1] == ["help"]:
        given = [*given[1:], "--help"]
    from recollect.interfaces.cli import quick

    code = quick.run(given, alone=argv is None)
    return _with_typer(given, start) if code is None else code


def _open_streams() -> None:
    """Opens what a shell has closed (``>&-``): a file of the memory must not take its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            import os

            setattr(sys, name, open(os.devnull, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115 - open to the end


def _with_typer(given: list[str], start: Mapping[str, Callable[..., object]] | None) -> int:
    """Runs any verb; mistakes are explained."""
    from recollect.interfaces.cli import answer
    from recollect.interfaces.cli.declare import Exit

    try:
        from recollect.interfaces.cli import app  # fails on a system that is not supported
        from recollect.interfaces.cli.call import Call

        code = app.command()(
            given, prog_name="recollect", standalone_mode=False, obj=Call(start=start)
        )
    except Exit as ended:
        return ended.code
    except SystemExit:  # Typer's answer to a closed pipe
        return answer.CLOSED
    except Exception as error:  # noqa: BLE001 - the last place that can report it readably
        return answer.refuse(error, given)
    return code if isinstance(code, int) else answer.OK
