"""Every limit of the package, with its unit in its name.

Responsible for the numbers alone; ``model.validate`` enforces those on input, ``ledger`` those on
lines. Invariant: everything that is stored or read has a limit.
"""

from __future__ import annotations

from typing import Final

# Input.
TEXT_MAX_BYTES: Final = 1_048_576
NAME_MAX_CHARS: Final = 200  # key, about, kind, role, user, session, agent, tag, reason word
REASON_MAX_CHARS: Final = 2_000
ID_MAX_CHARS: Final = 120
SPACE_NAME_MAX_BYTES: Final = 64
TAGS_MAX_COUNT: Final = 64
EVIDENCE_MAX_COUNT: Final = 256
QUOTE_MAX_CHARS: Final = 4_000
DATA_MAX_BYTES: Final = 262_144
DATA_MAX_DEPTH: Final = 16
DATA_MAX_KEYS: Final = 2_000
INTEGER_MAX: Final = 2**53 - 1

# One command, and one append: the commands that share one write and one fsync.
COMMAND_MAX_EVENTS: Final = 10_000
COMMAND_MAX_BYTES: Final = 33_554_432
APPEND_MAX_EVENTS: Final = 2 * COMMAND_MAX_EVENTS
APPEND_MAX_BYTES: Final = 3 * COMMAND_MAX_BYTES
ERASE_AT_ONCE_MAX_COUNT: Final = 200  # subjects of one command; more become several commands
PROPOSALS_MAX_COUNT: Final = 20  # that wait about one record, for each tier of trust
BRANCH_MAX_CHANGES: Final = 500  # that wait on one branch: one command merges all of them
BRANCH_MAX_CHARS: Final = 4_194_304  # that these changes have: each read of a branch applies them
FORGET_AT_ONCE_MAX_COUNT: Final = 20  # more than this in one command needs a person
RETRACT_AT_ONCE_MAX_COUNT: Final = 1_000  # records that are taken back with what they derive from
LOWER_AT_ONCE_MAX_COUNT: Final = 1_000  # records that fall in trust with the one they derive from
BROUGHT_REINFORCEMENTS_MAX_COUNT: Final = 100  # of one record or link, that an import repeats

# The ledger's lines: the largest text and data, JSON-escaped at worst, and the header.
LINE_MAX_BYTES: Final = 16_777_216

# Reading.
RECALL_MAX_HITS: Final = 1_000
RECALL_MAX_QUERIES: Final = 1_000  # of one call
LIST_MAX_RECORDS: Final = 10_000
LIST_MAX_DOCUMENTS: Final = 1_000  # each may have as much data as a record
LIST_MAX_BRANCHES: Final = 1_000  # each is read with its changes
LIST_MAX_SESSIONS: Final = 10_000
LIST_MAX_WAITING: Final = 1_000
PASS_NOTE_MAX_EVENTS: Final = 10_000  # without a match, the note of a pass waits so long
LIST_MAX_PASSED: Final = 1_000  # episodes that the answer of a pass names
GRAPH_MAX_HOPS: Final = 16
GRAPH_LINKS_FOR_RECORD: Final = 10  # read of one record, for each record that is asked for
PATH_MAX_RECORDS: Final = 20_000  # that a search for a path visits
PATH_MAX_LINKS_OF_ONE: Final = 10_000  # that it follows from one record
EVENT_TEXT_MAX_CHARS: Final = 280  # of what an event in a list says
QUESTION_MAX_CHARS: Final = 16_000  # the rest, such as a pasted log, is ignored
QUERY_MAX_TERMS: Final = 64
UNVERIFIED_MAX_HITS: Final = 3
HELD_LOOK_MAX_COUNT: Final = 100  # held texts that a recall counts
UNVERIFIED_MAX_CHARS: Final = 400_000  # unverified text that a recall ranks, or its best hit
CONTEXT_MAX_TOKENS: Final = 1_000_000
CONTEXT_MIN_HITS: Final = 64  # that a context looks at, however small its budget
CONTEXT_MAX_HITS: Final = 200
GUARANTEED_MAX_COUNT: Final = 1_000  # records that a preset's guarantees may name
FILTER_MAX_CHARS: Final = 8_000
FILTER_MAX_DEPTH: Final = 16  # of `not` and parentheses inside each other
FILTER_MAX_TERMS: Final = 64
FILTER_MAX_VALUES: Final = 256  # of one list

# Presets, contexts and receipts.
TEMPLATE_MAX_CHARS: Final = 2_000  # of each part
GUARANTEES_MAX_COUNT: Final = 16
CACHE_MAX_S: Final = 86_400
CACHE_MAX_COUNT: Final = 64  # contexts that one handle keeps
RECEIPTS_WAITING_MAX_COUNT: Final = 256  # then they are written without waiting for an append

# Tokens.
TOKEN_OVERLAP_S: Final = 3_600  # for how long a rotated token still works
TOKEN_OVERLAP_MAX_S: Final = 2_592_000  # 30 days

# A proposer: what it is given, and what it may suggest.
PROPOSER_MAX_EPISODES: Final = 20  # at once
PROPOSER_MAX_RECORDS: Final = 20
PROPOSER_RECORD_MAX_CHARS: Final = 1_000
PROPOSER_EPISODE_MAX_CHARS: Final = 8_000  # the rest of a longer episode is not sent
SUGGESTIONS_MAX_COUNT: Final = 20  # of one answer
SUGGESTION_MAX_CHARS: Final = 4_000
PASS_MAX_PROPOSALS: Final = 200  # of one pass

# Active hours: a gap at least this long between two appends is not counted as activity.
ACTIVE_GAP_MAX_US: Final = 30 * 60 * 1_000_000
US_PER_HOUR: Final = 3_600_000_000

# The clock: a write this long after the last event must be confirmed; a last event this far ahead
# of the clock is reported.
CLOCK_JUMP_MAX_US: Final = 366 * 24 * US_PER_HOUR
CLOCK_ARRIVES_AHEAD_MAX_US: Final = 300_000_000  # of an event that another store sends
CLOCK_AHEAD_MAX_US: Final = 24 * US_PER_HOUR

# The async API: threads of one store that work at the same time.
WORKERS_MAX_COUNT: Final = 8
