"""16 writers on one record with If-Match: exactly one of them wins each round."""

from __future__ import annotations

import threading
from http.client import HTTPConnection

import msgspec
import pytest

from recollect import Store
from tests.http.serving import served
from tests.http.test_service import S

WRITERS = 16


class Racing:
    """Writers that all change one record in each round, at the same moment."""

    def __init__(self, port: int, token: str, place: str, *, with_match: bool) -> None:
        self._port, self._token, self._place = port, token, place
        self._with_match = with_match
        self._tag = self._read()
        self.won: list[int] = []  # how many writes succeeded in each round
        self.statuses: set[int] = set()
        self._round: list[int] = []
        self._barrier = threading.Barrier(WRITERS, action=self._next)

    def _ask(self, connection: HTTPConnection, method: str, body: object, **more: str) -> int:
        headers = {"Authorization": f"Bearer {self._token}", **more}
        connection.request(method, self._place, msgspec.json.encode(body), headers)
        answer = connection.getresponse()
        answer.read()
        self._seen = answer.headers.get("ETag", "")
        return answer.status

    def _read(self) -> str:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        connection.request("GET", self._place, headers={"Authorization": f"Bearer {self._token}"})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.headers["ETag"]

    def _next(self) -> None:
        """Between two rounds, while all wait."""
        if self._round:
            self.won.append(sum(status == 200 for status in self._round))
            self.statuses.update(self._round)
            self._round.clear()
        self._tag = self._read()

    def run(self, rounds: int) -> None:
        threads = [threading.Thread(target=self._write, args=(n, rounds)) for n in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _write(self, number: int, rounds: int) -> None:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            for turn in range(rounds):
                self._barrier.wait(120)
                match = {"If-Match": self._tag} if self._with_match else {}
                text = {"text": f"Round {turn}, writer {number}."}
                self._round.append(self._ask(connection, "PATCH", text, **match))
            self._barrier.wait(120)
        except BaseException:
            self._barrier.abort()
            raise
        finally:
            connection.close()


def raced(store: Store, rounds: int, *, with_match: bool) -> Racing:
    record = store.space("main").remember("Round none.")
    token = store.tokens.create("w", space="main", trust="person").token
    with served(store) as port:
        place = f"{S}/records/{record.id}"
        racing = Racing(port, token, place, with_match=with_match)
        racing.run(rounds)
    assert len(store.space("main").history(record.id)) == 1 + sum(racing.won)
    return racing


@pytest.mark.parametrize("rounds", [12, pytest.param(1_000, marks=pytest.mark.nightly)])
def test_exactly_one_writer_wins_each_round(store: Store, rounds: int) -> None:
    racing = raced(store, rounds, with_match=True)
    print(f"{rounds} rounds of {WRITERS} writers: {set(racing.won)} won, {racing.statuses}")  # noqa: T201
    assert racing.won == [1] * rounds
    assert racing.statuses == {200, 412}


def test_without_if_match_several_win(store: Store) -> None:  # the control
    racing = raced(store, 3, with_match=False)
    assert min(racing.won) > 1
