"""The operations on one memory; ``make async`` writes this module.

Responsible for method, path and parameters of each. Leaves sending to ``client.asking``.
Invariant: it is written from the table of the service.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Operation(NamedTuple):
    """One operation."""

    method: str
    path: str
    query: tuple[str, ...]
    lists: frozenset[str]  # the parameters that may be given several times
    is_write: bool
    has_body: bool
    has_past: bool


# Name, method, path, parameters, and whether it writes, takes a body and can show the past.
_TABLE: Final = """

remember | POST | /records |  | write body
list_records | GET | /records | include* filter limit cursor after after_seq | past
get | GET | /records/{id} | include* | past
keyed | GET | /keys/{key} | include* | past
revise | PATCH | /records/{id} |  | write body
forget | DELETE | /records/{id} | sources reason | write
restore | POST | /records/{id}/restore |  | write
tag | POST | /records/{id}/tags |  | write body
erase | POST | /records/{id}/erase |  | write body
history | GET | /records/{id}/history |  | past
why | GET | /records/{id}/why |  | past
neighbours | GET | /records/{id}/graph | hops kinds* direction include* limit | past
observe | POST | /episodes |  | write body
list_episodes | GET | /episodes | include* filter limit cursor after after_seq | past
link | PUT | /links/{source}/{kind}/{target} |  | write body
unlink | DELETE | /links/{source}/{kind}/{target} |  | write
batch | POST | /batch |  | write body
recall | POST | /recall |  | body past
recall_many | POST | /recall/many |  | body past
why_not | POST | /why-not |  | body past
context | POST | /context |  | body past
list_receipts | GET | /receipts | limit cursor after after_seq | past
get_receipt | GET | /receipts/{receipt} |  | past
used | POST | /receipts/{receipt}/used |  | write body
useful | POST | /used |  | write body
replay | POST | /receipts/{receipt}/replay |  | body
list_frames | GET | /frames |  | past
get_frame | GET | /frames/{name} |  | past
set_frame | PUT | /frames/{name} |  | write body
drop_frame | DELETE | /frames/{name} | erase | write
events | GET | /events | after before limit kinds* id | past
event | GET | /events/{seq} |  | past
diff | GET | /diff | from_ to |
list_review | GET | /review | after limit | past
get_review | GET | /review/{id} |  | past
approve | POST | /review/{id}/approve |  | write body
reject | POST | /review/{id}/reject |  | write body
status | GET | /status |  | past
digest | GET | /digest |  | past
verify | GET | /verify | deep anchor |
get_checkpoint | GET | /checkpoint |  |
checkpoint | POST | /checkpoint |  | write
prove | GET | /records/{id}/proof |  |
prove_event | GET | /proofs/{seq} |  |
get_ledger | GET | /ledger | after |
push_ledger | PUT | /ledger |  | write body
export | GET | /export | format | past
get_space | GET | / |  | past
drop_space | DELETE | / | dry_run digest reason | write
supersede | POST | /records/{id}/supersede |  | write body
settle | POST | /records/{id}/settle |  | write body
retract | POST | /records/{id}/retract |  | write body
revert | POST | /records/{id}/revert |  | write body
curate | POST | /curate |  | write body
undo | POST | /undo |  | write body
erase_many | POST | /erase |  | write body
retention | GET | /retention |  | past
set_retention | PUT | /retention |  | write body
retain | POST | /retain |  | write body
subjects | GET | /subjects |  | past
set_subjects | PUT | /subjects |  | write body
recent | GET | /recent | unit user session agent since before limit | past
overview | GET | /overview | since before limit | past
graph | GET | /graph | kinds* include* limit after | past
path | GET | /path | a b kinds* direction include* | past
audit | GET | /audit | since until id after limit | past
erasures | GET | /erasures |  | past
check | GET | /check |  | past
list_pages | GET | /pages |  | past
read_page | GET | /pages/{name} |  | past
frame_since | GET | /frames/{name}/since |  | past
flush | POST | /flush |  |
erase_receipt | DELETE | /receipts/{receipt} | reason | write
list_documents | GET | /documents | type limit after | past
get_document | GET | /documents/{type}/{name} |  | past
set_document | PUT | /documents/{type}/{name} |  | write body
drop_document | DELETE | /documents/{type}/{name} | erase | write
list_rules | GET | /rules | limit after due | past
get_rule | GET | /rules/{name} |  | past
set_rule | PUT | /rules/{name} |  | write body
drop_rule | DELETE | /rules/{name} | erase | write
open_session | POST | /sessions |  | write body
list_sessions | GET | /sessions | limit before active | past
close_session | DELETE | /sessions/{id} | erase | write
propose | POST | /review |  | write body
withdraw | POST | /review/{id}/withdraw |  | write body
erase_proposal | POST | /review/{id}/erase |  | write body
open_branch | POST | /branches |  | write body
list_branches | GET | /branches | closed limit before | past
get_branch | GET | /branches/{name} |  | past
branch_diff | GET | /branches/{name}/diff |  | past
merge | POST | /branches/{name}/merge |  | write body
abandon | POST | /branches/{name}/abandon |  | write body
condense | POST | /branches/{name}/condense |  | write body
erase_branch | POST | /branches/{name}/erase |  | write body
ask_job | POST | /jobs |  | write body
list_jobs | GET | /jobs | state limit |
get_job | GET | /jobs/{job} |  |
cancel_job | DELETE | /jobs/{job} |  | write
list_schedules | GET | /schedules |  |
get_schedule | GET | /schedules/{kind} |  |
set_schedule | PUT | /schedules/{kind} |  | write body
drop_schedule | DELETE | /schedules/{kind} |  | write
"""


def _parsed(line: str) -> tuple[str, Operation]:
    name, method, path, query, marks = (part.strip() for part in (line + " | | ").split("|")[:5])
    names = query.split()
    lists = frozenset(each[:-1] for each in names if each.endswith("*"))
    is_, path = marks.split(), "" if path == "/" else path
    plain = tuple(each.rstrip("*") for each in names)
    return name, Operation(method, path, plain, lists, "write" in is_, "body" in is_, "past" in is_)


OPERATIONS: Final = dict(_parsed(line) for line in _TABLE.splitlines() if line.strip())
