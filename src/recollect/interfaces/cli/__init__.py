"""The command line.

Responsible for one run of the command: its verb, its answer, its exit code. Leaves the verbs to
the modules beside this one. Invariant: every run ends with an exit code of this table.

    0    it is done, or here is the answer
    1    nothing found, the answer is no (verify, doctor), or it was not confirmed
    2    the call or the settings are wrong
    3    nothing here has that id, or there is no memory here
    4    not allowed, or it needs a confirmation
    5    the memory is in another state
    6    the disk failed, or this release cannot do that
    7    the ledger or its index is damaged
    70   an error of Recollect's own
    130  interrupted
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as type checkers know it, without the time that typing takes to load
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def main(
    argv: Sequence[str] | None = None, *, start: Mapping[str, Callable[..., None]] | None = None
) -> int:
    """Runs one verb; returns the exit code. ``start`` has other interfaces that a verb starts."""
    given = list(sys.argv[1:] if argv is None else argv)
    if "--hook" in given:  # an assistant waits for it: it does not load what people need
        from recollect.interfaces.cli import hook

        verb = hook.verb_of(given)
        if verb is not None:
            ran = hook.run(verb, given)
            return hook.end(verb, ran) if argv is None else ran
    from recollect.interfaces.cli import answer, app
    from recollect.interfaces.cli.call import Call

    try:
        code = app.command()(
            given, prog_name="recollect", standalone_mode=False, obj=Call(start=start)
        )
    except Exception as error:  # noqa: BLE001 - the last place that can say it kindly
        return answer.refuse(error, given)
    return code if isinstance(code, int) else answer.OK
