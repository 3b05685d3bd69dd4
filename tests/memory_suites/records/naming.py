"""The part of ``MemorySuite`` about naming: a key or the beginning of an id in place of an id."""

from __future__ import annotations

import pytest

from recollect.errors import Ambiguous, Changed, Conflict, InvalidInput, NotFound
from recollect.memory import Memory
from recollect.model.values import Record
from tests.undone import brought_back


class NamingSuite:
    """A key or the beginning of an id names what holds it, and never two things."""

    def test_a_key_or_a_beginning_names_a_record(self, memory: Memory) -> None:
        record = memory.remember("The port is 5432.", key="staging port", id="port-20261115")
        (said,) = memory.observe("It is 5432.", id="e-20261115-abc")
        assert memory.get("staging port") == memory.get("port-2026") == record
        assert memory.get("e-2026").id == said.id
        assert [version.seq for version in memory.history("staging port")] == [record.seq]
        assert memory.why("port-").record == record
        assert memory.admin.why_not("staging port", "moon").id == record.id
        assert [change.id for change in memory.events.list(id="port-2026")] == [record.id]
        revised = memory.revise("staging port", "The port is 5433.")
        assert (revised.id, revised.text) == (record.id, "The port is 5433.")
        other = memory.remember("Other")
        assert memory.revise("staging port", tags=["net"]).tags == ("net",)
        assert memory.graph.link("staging port", other.id).source == record.id
        memory.graph.unlink("port-2026", other.id)
        assert memory.forget("staging port").id == record.id
        assert brought_back(memory.undo("staging port")).id == record.id
        with memory.batch() as batch:
            batch.revise("staging port", "The port is 5434.")
        assert batch.results[0].id == record.id
        assert memory.erase("staging port").id == record.id
        for name in ("staging port", "port-2026", "nobody"):
            with pytest.raises(NotFound):
                memory.get(name)

    def test_a_name_of_several_is_refused(self, memory: Memory) -> None:
        ids = [memory.remember(f"number {n}", id=f"numbered-{n}").id for n in range(3)]
        with pytest.raises(Ambiguous, match=", ".join(ids)):
            memory.get("numbered")
        with pytest.raises(Ambiguous):
            memory.forget("numbered-")
        assert len(memory.list()) == 3
        memory.remember("another", id="numbered")
        assert memory.get("numbered").text == "another"  # an id means itself

    def test_a_handle_for_one_user_names_only_its_own(self, memory: Memory) -> None:
        ann, bob = memory.scoped(user="ann"), memory.scoped(user="bob")
        anns = ann.remember("Lives in Oslo.", key="town", id="annas-town")
        bobs = bob.remember("Lives in Rome.", key="town", id="bobs-town")
        assert (ann.get("town"), bob.get("town")) == (anns, bobs)
        with pytest.raises(NotFound):
            bob.get("annas")
        with pytest.raises(NotFound):
            bob.forget("annas-town")
        with pytest.raises(Ambiguous, match=r"annas-town .*bobs-town"):
            memory.get("town")

    def test_an_unverified_id_does_not_take_a_name(self, memory: Memory) -> None:
        junk = memory.scoped(trust="unverified").remember("junk", id="db.port", key="x.port")
        real = memory.remember("The port is 5432.", key="db.port")
        for call in (memory.get, memory.forget, memory.erase, memory.undo, memory.history):
            with pytest.raises(Ambiguous, match=rf"db\.port .*{real.id}"):
                call("db.port")
        with pytest.raises(Ambiguous):
            memory.revise("db.port", "The port is 6000.")
        with pytest.raises(Ambiguous):
            memory.erase("x.port")  # its id is not taken for the other's key
        assert memory.get(real.id) == real
        assert memory.erase(filter="text = 'junk'").records == (junk.id,)
        assert memory.revise("db.port", "The port is 6000.").id == real.id

    def test_an_id_is_not_a_key_that_there_is(self, memory: Memory) -> None:
        real = memory.remember("The port is 5432.", key="db.port")
        agent, web = (memory.scoped(trust=origin) for origin in ("agent", "unverified"))
        for handle in (memory, agent, web):
            with pytest.raises(Conflict, match=f"the key of {real.id}"):
                handle.remember("junk", id="db.port")
        for handle in (memory, agent, web):
            with pytest.raises(Conflict, match=f"the key of {real.id}"):
                handle.observe("junk", role="tool", id="db.port")
        assert memory.get("db.port") == real
        now = memory.remember("The port is 5433.", id="db.port", key="db.port")  # one thing only
        assert memory.get("db.port") == now
        assert web.remember("junk", id="db.ports").id == "db.ports"  # the control

    def test_an_unverified_key_does_not_take_a_name(self, memory: Memory) -> None:
        real = memory.remember("The salary is 90.", id="salary-2026")
        bait = memory.scoped(trust="unverified")
        bait.remember("bait", key="salary-20")
        bait.remember("more bait", key="salary-2026")
        with pytest.raises(Ambiguous, match="salary-2026"):
            memory.erase("salary-20")
        assert memory.erase("salary-2026").records == (real.id,)

    def test_an_id_of_another_user_hides_nothing(self, memory: Memory) -> None:
        ann, bob = memory.scoped(user="ann"), memory.scoped(user="bob")
        anns = ann.remember("The port is 1.", key="db.port")
        bobs = bob.remember("junk", id="db.port")
        bob.remember("more junk", id=anns.content_id)
        assert ann.get("db.port") == ann.get(anns.content_id) == anns
        assert bob.get("db.port") == bobs
        assert ann.revise("db.port", "The port is 2.").id == anns.id
        assert ann.forget("db.port").id == anns.id
        assert ann.erase("db.port").records == (anns.id,)
        assert bob.get("db.port") == bobs

    def test_a_name_means_in_the_past_what_it_meant_then(self, memory: Memory) -> None:
        old = memory.remember("The port is 5432.", key="port", id="value-1")
        new = memory.remember("The port is 5433.", key="port", id="value-2")
        assert memory.get("port") == new
        then = memory.at(old.seq)
        assert then.get("port").id == then.get("value").id == old.id

    def test_a_repeated_call_by_key_returns_the_first_outcome(self, memory: Memory) -> None:
        old = memory.remember("The port is 5432.", key="port")
        first = memory.revise("port", "The port is 5433.", idempotency_key="once")
        memory.remember("The port is 5434.", key="port")
        assert memory.revise("port", "The port is 5433.", idempotency_key="once") == first
        assert first.id == old.id

    def test_an_expectation_names_an_id(self, memory: Memory) -> None:
        record = memory.remember("The port is 5432.", key="port")
        with pytest.raises(NotFound):
            memory.revise("port", "x", expect=("port", record.seq))
        with pytest.raises(Changed):
            memory.revise("port", "x", expect=(record.id, record.seq + 1))
        revised = memory.revise("port", "x", expect=(record.id, record.seq))
        assert isinstance(revised, Record)

    @pytest.mark.parametrize("name", ["a\0b", "\0", "a\ud800"])
    def test_a_name_that_no_engine_stores_is_refused(self, memory: Memory, name: str) -> None:
        memory.remember("One.")
        for call in (memory.get, memory.history, memory.why, memory.graph.neighbours):
            with pytest.raises(InvalidInput):
                call(name)
