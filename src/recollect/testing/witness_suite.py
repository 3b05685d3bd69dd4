"""The conformance suite of witnesses.

Subclass ``WitnessSuite`` and define a fixture ``witness`` that has cosigned nothing yet and pins
the keys of both ``LOGS``.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from recollect.proof.checkpoints import Checkpoint, parse_text, sign
from recollect.proof.keys import LOG, PrivateKey, signers
from recollect.proof.notes import parse
from recollect.proof.witness import Behind, Cosigned, Refusal, Request
from recollect.store.witnesses.port import Witness
from recollect.testing.witnesses import FakeLog

LOG_A, LOG_B = FakeLog("recollect/a"), FakeLog("recollect/b")
LOGS = (LOG_A, LOG_B)


def kept(witness: Witness, log: FakeLog) -> int:
    """How many events of a log a witness has seen."""
    raw = witness.latest(log.key.name)
    return 0 if raw is None else parse_text(parse(raw).text).size


def cosigned(witness: Witness, log: FakeLog, old: int, size: int) -> None:
    """The witness cosigns this, with its own key."""
    request = log.request(old, size)
    answer = witness.add(request)
    assert isinstance(answer, Cosigned), answer
    (signature,) = answer.signatures
    assert witness.key.signed(request.note.text, signature)


class WitnessSuite:
    """Every witness passes this."""

    def test_a_checkpoint_that_continues_the_last_one_is_cosigned(self, witness: Witness) -> None:
        for old, size in ((0, 1), (1, 2), (2, 7), (7, 8), (8, 20)):
            cosigned(witness, LOG_A, old, size)

    def test_the_empty_log_is_cosigned(self, witness: Witness) -> None:
        cosigned(witness, LOG_A, 0, 0)
        cosigned(witness, LOG_A, 0, 5)

    def test_a_checkpoint_is_kept_before_it_is_cosigned(self, witness: Witness) -> None:
        assert witness.latest(LOG_A.key.name) is None
        for old, size in ((0, 3), (3, 9)):
            cosigned(witness, LOG_A, old, size)
            raw = witness.latest(LOG_A.key.name)
            assert raw is not None
            note = parse(raw)
            assert note.text == LOG_A.note(size).text
            both = [LOG_A.key.public, witness.key]
            assert set(signers(note, both)) == set(both)

    def test_a_request_from_another_size_is_told_the_size_that_is_kept(
        self, witness: Witness
    ) -> None:
        assert witness.add(LOG_A.request(3, 5)) == Behind(0)
        cosigned(witness, LOG_A, 0, 5)
        for old in (0, 3, 6):
            assert witness.add(LOG_A.request(old, 7)) == Behind(5)
        assert kept(witness, LOG_A) == 5

    def test_a_smaller_tree_is_never_cosigned(self, witness: Witness) -> None:
        cosigned(witness, LOG_A, 0, 8)
        assert witness.add(LOG_A.request(0, 3)) == Behind(8)
        assert witness.add(LOG_A.request(3, 3)) == Behind(8)
        refused = witness.add(LOG_A.request(8, 3))
        assert isinstance(refused, Refusal)
        assert refused.why == "malformed"
        assert kept(witness, LOG_A) == 8

    def test_another_tree_of_the_same_size_is_never_cosigned(self, witness: Witness) -> None:
        cosigned(witness, LOG_A, 0, 6)
        other = FakeLog(LOG_A.key.name, fork="other", after=4)
        refused = witness.add(other.request(6, 6))
        assert isinstance(refused, Refusal)
        assert refused.why == "inconsistent"
        assert kept(witness, LOG_A) == 6

    @pytest.mark.parametrize("after", [0, 3, 5])
    def test_a_tree_that_does_not_begin_with_the_kept_one_is_never_cosigned(
        self, witness: Witness, after: int
    ) -> None:
        cosigned(witness, LOG_A, 0, 6)
        other = FakeLog(LOG_A.key.name, fork="other", after=after)
        right, wrong = LOG_A.request(6, 11), other.request(6, 11)
        for request in (
            wrong,
            Request.of(6, right.proof, wrong.note),
            Request.of(6, wrong.proof, right.note),
            Request.of(6, (), right.note),
            Request.of(6, (*right.proof, right.proof[0]), right.note),
        ):
            refused = witness.add(request)
            assert isinstance(refused, Refusal), request
            assert refused.why == "inconsistent"
        assert kept(witness, LOG_A) == 6
        cosigned(witness, LOG_A, 6, 11)

    def test_the_first_checkpoint_needs_an_empty_proof(self, witness: Witness) -> None:
        proof = LOG_A.request(3, 5).proof
        refused = witness.add(Request.of(0, proof, LOG_A.note(5)))
        assert isinstance(refused, Refusal)
        assert refused.why == "inconsistent"
        point = Checkpoint(LOG_A.key.name, 0, bytes(32))  # no events, and not the empty tree
        assert isinstance(witness.add(Request.of(0, (), sign(point, [LOG_A.key]))), Refusal)
        assert witness.latest(LOG_A.key.name) is None

    def test_the_same_checkpoint_is_cosigned_again(self, witness: Witness) -> None:
        cosigned(witness, LOG_A, 0, 4)
        cosigned(witness, LOG_A, 4, 4)
        assert kept(witness, LOG_A) == 4

    def test_a_log_that_is_not_pinned_is_unknown(self, witness: Witness) -> None:
        for name in ("recollect/c", "../../escape", "recollect/a/b"):
            refused = witness.add(FakeLog(name).request(0, 3))
            assert isinstance(refused, Refusal)
            assert refused.why == "unknown"
            assert witness.latest(name) is None

    def test_a_checkpoint_without_a_signature_of_its_log_is_refused(self, witness: Witness) -> None:
        stranger = PrivateKey(LOG_A.key.name, LOG, bytes(32))
        forged = LOG_A.note(3)
        forged = msgspec.structs.replace(forged, text=forged.text.replace("\n3\n", "\n4\n"))
        for request in (LOG_A.request(0, 3, stranger), Request.of(0, (), forged)):
            refused = witness.add(request)
            assert isinstance(refused, Refusal)
            assert refused.why == "unsigned"
        assert witness.latest(LOG_A.key.name) is None

    def test_what_was_refused_changes_nothing(self, witness: Witness) -> None:
        cosigned(witness, LOG_A, 0, 6)
        before = witness.latest(LOG_A.key.name)
        other = FakeLog(LOG_A.key.name, fork="other", after=4)
        for request in (other.request(6, 9), LOG_A.request(6, 2), LOG_A.request(3, 9)):
            assert not isinstance(witness.add(request), Cosigned)
            assert witness.latest(LOG_A.key.name) == before

    def test_each_log_is_kept_by_itself(self, witness: Witness) -> None:
        cosigned(witness, LOG_A, 0, 6)
        assert witness.latest(LOG_B.key.name) is None
        cosigned(witness, LOG_B, 0, 2)
        assert (kept(witness, LOG_A), kept(witness, LOG_B)) == (6, 2)
        stranger = LOG_B.request(2, 5, PrivateKey(LOG_B.key.name, LOG, LOG_A.key.seed))
        assert isinstance(witness.add(stranger), Refusal)

    def test_of_many_requests_from_one_size_one_is_cosigned(self, witness: Witness) -> None:
        cosigned(witness, LOG_A, 0, 2)
        forks = [FakeLog(LOG_A.key.name, fork=str(each), after=2) for each in range(8)]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(witness.add, [fork.request(2, 5) for fork in forks]))
        assert sum(isinstance(each, Cosigned) for each in answers) == 1
        assert [each for each in answers if isinstance(each, Behind)] == [Behind(5)] * 7
