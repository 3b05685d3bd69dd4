"""The benchmark of the service runs, and sends what it says."""

from __future__ import annotations

import json
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.service import __main__ as service
from benchmarks.service.load import Load, request
from benchmarks.service.sizes import Sizes

TINY = Sizes(records=20, rounds=1, echoes=16, writes=16, recalls=16, calls=4, starts=1)


FEW = 3  # of the figures; each starts several processes


@pytest.mark.parametrize("count", [FEW, pytest.param(len(service.AIMS), marks=pytest.mark.nightly)])
def test_every_figure_is_reported(count: int, tmp_path: Path) -> None:
    some = set(random.sample([aim.name for aim in service.AIMS], count))
    aims = [aim for aim in service.AIMS if aim.name in some]
    said: list[str] = []
    report = service.run(TINY, tmp_path, said.append, some)
    assert said == [aim.name for aim in aims] == list(report.figures)
    for aim in aims:
        assert report.figures[aim.name] > 0
        assert report.reached[aim.name] is aim.reached(report.figures[aim.name])
        assert aim.what in service.table(report)


def test_one_figure_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert service.main(["--quick", "--json", "--only", "client_import_ratio"]) == 0
    assert list(json.loads(capsys.readouterr().out)["figures"]) == ["client_import_ratio"]


@contextmanager
def answering(status: int) -> Iterator[int]:
    """A server of one connection that answers every request in two pieces."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            client, _ = listening.accept()
            with client:
                while client.recv(65_536):
                    client.sendall(b"HTTP/1.1 %d X\r\nContent-Length: 4\r\n\r\nab" % status)
                    client.sendall(b"cd")

        thread = threading.Thread(target=run)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


def test_answers_are_counted_and_timed() -> None:
    one = request("POST", "/x", {"Host": "h"}, b"{}")
    assert one == b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"
    with answering(503) as port, Load(port, 1) as load:
        found = load.run([one] * 5)
        paced = load.run([one] * 5, rate=50)
    assert (found.statuses, found.count) == ({503: 5}, 5)
    assert paced.took_s >= 4 / 50
    assert 0 < paced.percentile_ms(50) <= paced.percentile_ms(99)
