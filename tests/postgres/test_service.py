"""The service over a PostgreSQL server: the same operations, and streams of other processes."""

from __future__ import annotations

import time
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from recollect import Store
from recollect.client import Memory
from tests.http.conftest import agent, key, owner, person, port  # noqa: F401 - fixtures
from tests.http.serving import Client, served
from tests.http.test_feed import Reader
from tests.http.test_if_match import (  # noqa: F401 - the same tests
    test_exactly_one_writer_wins_each_round,
    test_without_if_match_several_win,
)
from tests.http.test_ledger import (  # noqa: F401 - the same tests, and what they need
    test_a_ledger_is_taken_in_whole_or_not_at_all,
    test_a_ledger_is_verified,
    test_a_space_is_dropped_as_it_was_shown,
    test_a_token_takes_in_no_ledger_of_more_trust,
    test_an_export,
    test_checkpoints_and_proofs,
    test_one_event_and_one_proposal,
    test_the_ledger_is_handed_out_as_it_lies,
    test_what_differs_between_two_positions,
)
from tests.http.test_probes import (  # noqa: F401 - the same tests
    test_a_token_with_too_many_rights_is_caught,
    test_strangers_get_nothing_and_one_404,
)
from tests.http.test_probes_mcp import (  # noqa: F401 - the same tests
    test_a_port_that_forgets_the_user_is_caught,
    test_strangers_get_nothing_over_mcp,
)
from tests.http.test_protocol import (  # noqa: F401 - the same tests
    test_a_key_is_one_command_of_its_user,
    test_a_key_is_recognized_after_a_token_was_rotated,
    test_a_late_write_is_told_the_current_version,
    test_a_repeated_call_says_that_it_is_one,
    test_a_repeated_create_gets_its_first_answer,
    test_of_many_who_create_one_does,
    test_what_must_be_new_is_refused_if_it_is_there,
)
from tests.http.test_service import (  # noqa: F401 - the same tests, and what they need
    test_a_key_makes_a_retry_safe,
    test_a_record_is_written_read_revised_and_forgotten,
    test_a_token_that_ended_opens_nothing,
    test_a_write_is_refused_if_the_record_has_changed,
    test_episodes_links_and_a_batch,
    test_erasing_needs_what_was_read_and_the_right_to,
    test_headers_only_ever_narrow,
    test_not_there_and_not_yours_are_the_same,
    test_only_a_person_decides,
    test_pages_do_not_shift_under_new_writes,
    test_recall_context_and_receipts,
    test_spaces,
)
from tests.http.test_tokens import (  # noqa: F401 - the same tests
    test_a_narrowed_request_has_no_rights_over_the_store,
    test_a_token_is_shown_once,
    test_only_an_admin_looks_after_tokens,
)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url, embedder="none") as store:
        store.space("main").remember("The first one.")
        yield store


def test_a_stream_finds_what_another_process_wrote(url: str, store: Store) -> None:
    token = store.tokens.create("t", space="main", origin="person").token
    with served(store) as number, Memory.open(f"http://127.0.0.1:{number}", token=token) as memory:
        reader = Reader(memory, "elsewhere", after=2)
        with Store.open(url, embedder="none") as other:
            other.space("main").observe("elsewhere")
        assert reader.texts() == ["elsewhere"]


def test_ready_means_that_the_server_answers(url: str, store: Store) -> None:
    with served(store) as number:
        anybody = Client(number, None)
        assert anybody.get("/readyz").json == {"status": "ready"}
        with psycopg.connect(url, autocommit=True) as owner:
            (name,) = owner.execute("SELECT current_database()").fetchone() or ("",)
        with psycopg.connect(make_conninfo(url, dbname="postgres"), autocommit=True) as owner:
            owner.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
            owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
            )
            time.sleep(1.1)  # an answer counts for a second
            gone = [anybody.get("/readyz").status, anybody.get("/livez").status]
            owner.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        time.sleep(1.1)
        assert (gone, anybody.get("/readyz").status) == ([503, 200], 200)
