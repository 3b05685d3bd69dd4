"""The verbs about rules: setting one and running one.

Responsible for showing rules and passes. Leaves checking and running them to the memory.
Invariant: nothing runs but in the foreground, and Ctrl-C ends it between two commands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from recollect.errors import (
    ConfigError,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    Unavailable,
)
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Exit, Option
from recollect.memory import Memory
from recollect.memory.jobs.worker import proposer_of
from recollect.model.counts import counted
from recollect.model.values import Derived, Pass, Rule

_SHOWN_MAX_COUNT: Final = 20
_OF_A_RULE: Final = (Conflict, Forbidden, InvalidInput, NotFound, ConfigError, Unavailable)

Name = Annotated[str, Argument(metavar="NAME", help="The name of a rule.")]
RuleName = Annotated[str, Argument(metavar="RULE", help="The name of a rule.")]
Which = Annotated[
    str | None, Option(metavar="EXPR", help="Which episodes.  [default: all of them]")
]
Every = Annotated[int | None, Option(metavar="N", help="Due when so many episodes are new.")]
Cron = Annotated[
    str | None, Option(metavar="FIELDS", help="Due at these times, such as '0 3 * * mon-fri'.")
]
Channel = Annotated[
    list[str] | None, Option(metavar="TAG", help="A tag of what it makes; may be repeated.")
]
Propose = Annotated[
    bool, Option("--propose", help="Ask the model in RECOLLECT_PROPOSER what they change.")
]
FromStart = Annotated[bool, Option("--from-start", help="Look at every episode again.")]
EraseIt = Annotated[bool, Option("--erase", help="Delete every byte of it permanently.")]
DryRun = Annotated[bool, Option("--dry-run", help="Show what it would do, and write nothing.")]
AtMost = Annotated[int | None, Option("--limit", metavar="N", help="At most so many episodes.")]


@verb
def set_rule(
    call: Call,
    name: Name,
    filter: Which = None,
    every: Every = None,
    cron: Cron = None,
    channel: Channel = None,
    propose: Propose = False,
    from_start: FromStart = False,
) -> None:
    """Set a rule, replacing its earlier settings: which episodes become records, and how often."""
    with call.memory(create=True) as memory:
        made = memory.settings.rules.set(
            name,
            filter=filter,
            every=every,
            cron=cron,
            channels=channel or (),
            propose=propose,
            from_start=from_start,
        )
    call.answer(made, lambda rule: plain.say(f"Set {_line(rule)}"))
    if not call.json and made.every is None and made.cron is None:
        plain.next_step(f"recollect settings rule run {plain.one_line(made.name)}")


@verb
def list_all(call: Call, limit: o.Limit = 100, at: o.At = None) -> None:
    """List the rules of this memory."""
    with call.memory() as memory:
        found = o.past(memory, at).settings.rules.list(limit=limit)
    call.answer({"rules": found}, lambda _: _listed(found))
    if not found:
        raise Exit(answer.NO)


@verb
def show(call: Call, name: Name, at: o.At = None) -> None:
    """Show one rule, and how far it has looked."""
    with call.memory() as memory:
        found = o.past(memory, at).settings.rules.get(name)
    call.answer(found, _shown)


@verb
def drop(call: Call, name: Name, erase: EraseIt = False, yes: o.Yes = False) -> None:
    """Remove a rule; what it made stays."""
    with call.memory() as memory:
        if erase:
            call.confirm(f"Erase the rule {name} permanently?", yes=yes, what="erasing")
        memory.settings.rules.drop(name, erase=erase)
    call.answer({"dropped": name}, lambda _: plain.say(f"Dropped {plain.one_line(name)}"))


@verb
def run(call: Call, rule: RuleName, dry_run: DryRun = False, limit: AtMost = None) -> None:
    """Run a rule, which turns episodes into records."""
    with call.memory() as memory, call.progress("Looking at episodes") as tick:
        proposer = proposer_of(memory.settings.rules.get(rule))
        done = memory.settings.rules.run(
            rule, dry_run=dry_run, limit=limit, proposer=proposer, progress=tick
        )
    call.answer(done, _passed)
    if not call.json and done.waiting and not dry_run:
        plain.next_step("recollect review")


def run_due(call: Call, memory: Memory) -> int:
    """Runs each rule that is due; one that is refused does not stop the others."""
    due = memory.settings.rules.due()
    for rule in due:
        try:
            done = memory.settings.rules.run(rule.name, proposer=proposer_of(rule))
            call.answer(done, lambda done: plain.say(_summary(done)))
        except _OF_A_RULE as error:
            call.note(f"{rule.name}: {error}")
    return len(due)


def _listed(found: Sequence[Rule]) -> None:
    if not found:
        plain.say("No rules are set here.")
        plain.next_step("recollect settings rule set NAME --filter EXPR --every N")
    plain.say(*map(_line, found))


def _line(rule: Rule) -> str:
    """The name, when it runs and what it looks at."""
    about = plain.one_line(rule.filter or "all episodes")
    return f"{plain.bold(plain.one_line(rule.name))}  {_cadence(rule)}  {plain.dim(about)}"


def _cadence(rule: Rule) -> str:
    if rule.every is not None:
        return f"every {counted(rule.every, 'episode')}"
    return "when called" if rule.cron is None else f"at {rule.cron}"


def _shown(rule: Rule) -> None:
    last = "never" if rule.passed_at is None else plain.moment(rule.passed_at)
    rows = {
        "episodes": plain.one_line(rule.filter or "all"),
        "runs": _cadence(rule),
        "reads": "what a proposer suggests" if rule.propose else "the metadata of episodes",
        "tags": plain.one_line(" ".join(f"#{tag}" for tag in rule.channels)) or "none",
        "set by": f"{rule.trust}, {plain.moment(rule.at)}",
        "has looked": f"{last}, up to event {rule.through:,}" if rule.passed_at else last,
    }
    plain.say(plain.bold(plain.one_line(rule.name)))
    plain.say(*(f"  {name:<11} {value}" for name, value in rows.items()))


def _passed(done: Pass) -> None:
    shown = [one for one in done.proposals if one.outcome != "unchanged"]
    plain.say(*map(_derived, shown[:_SHOWN_MAX_COUNT]))
    more = done.applied + done.waiting - len(shown[:_SHOWN_MAX_COUNT])
    if more > 0:
        plain.say(plain.dim(f"  and {more:,} more"))
    for one in done.skipped[:_SHOWN_MAX_COUNT]:
        plain.say(f"skipped {plain.one_line(one.episode)}: {plain.one_line(one.reason)}")
    plain.say(_summary(done))
    if done.stopped is not None:
        plain.say(f"stopped early: {plain.one_line(done.stopped)}")


def _derived(one: Derived) -> str:
    mark = {"add": "+", "update": "~", "delete": "-", "noop": " "}[one.intent]
    waits = "  (waits for a review)" if one.outcome == "waiting" else ""
    return f"{mark} {plain.one_line(one.text)}{plain.dim(waits)}"


def _summary(done: Pass) -> str:
    """One line; a dry run says so."""
    verb = "would apply" if done.dry_run else "applied"
    parts = [f"{verb} {done.applied:,}"]
    parts += [f"{done.waiting:,} to review"] if done.waiting else []
    parts += [f"{len(done.skipped):,} skipped"] if done.skipped else []
    name = plain.bold(plain.one_line(done.rule))
    return f"{name}: looked at {counted(done.seen, 'episode')}, {', '.join(parts)}"
