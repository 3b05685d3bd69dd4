"""The rest of the tests of a service over a PostgreSQL server, which others show for its store."""

from __future__ import annotations

import pytest

from tests.http.conftest import agent, key, owner, person, port  # noqa: F401 - fixtures
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
from tests.http.test_protocol import (  # noqa: F401 - the same tests
    test_a_key_is_recognized_after_a_token_was_rotated,
    test_a_late_write_is_told_the_current_version,
    test_a_repeated_call_says_that_it_is_one,
    test_a_repeated_create_gets_its_first_answer,
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
from tests.postgres.test_service import store  # noqa: F401 - a fixture

pytestmark = pytest.mark.nightly
