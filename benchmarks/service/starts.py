"""Whole processes: the first answer of a service, and loading the client.

Responsible for starting them in turns with what they are compared with. Leaves servers under load
to ``traffic``. Invariant: both sides run with the same interpreter and their bytecode at hand.
"""

from __future__ import annotations

import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from time import perf_counter, sleep
from typing import Final

from benchmarks.cold import Side
from benchmarks.service import bare
from benchmarks.service.servers import environment, free_port, serve_words
from benchmarks.service.sizes import Sizes
from benchmarks.service.traffic import fill
from benchmarks.timing import Paired, in_turns
from recollect.memory.store import Store

_START_MAX_S: Final = 60.0
_TRY_S: Final = 0.002
_SPACES: Final = "/v1/spaces"


def first_answer(folder: Path, sizes: Sizes) -> Paired:
    """From the start of a process to its first answer, against uvicorn with a bare echo.

    The service answers with what a token may see, so its store is open by then.
    """
    store = folder / "started"
    fill(store, 10)
    with Store.open(store, embedder="none") as opened:
        token = opened.tokens.create("starts", space="main").token
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(sizes.starts + 1):
        for side, times in enumerate(taken):
            port = free_port()
            bare_words = [sys.executable, bare.__file__, str(port)]
            words = serve_words(str(store), port) if side else bare_words
            spent = _until_answered(words, port, token, folder)
            if number:  # the first ones write bytecode
                times.append(spent)
    return Paired(bare_s=tuple(taken[0]), ours_s=tuple(taken[1]), operations=1)


def imported(folder: Path, sizes: Sizes) -> Paired:
    """A process that loads the client, against one that does nothing."""
    own = environment(folder)
    nothing = Side([sys.executable, "-c", "pass"], b"", own)
    loading = Side([sys.executable, "-c", "import recollect.client"], b"", own)
    return in_turns(
        bare=lambda number: nothing.run(),
        ours=lambda number: loading.run(),
        rounds=sizes.starts,
        operations=1,
    )


def _until_answered(words: list[str], port: int, token: str, home: Path) -> float:
    began = perf_counter()
    process = subprocess.Popen(words, env=environment(home), stderr=subprocess.DEVNULL)
    try:
        while not _is_answered(port, token):
            if process.poll() is not None or perf_counter() - began > _START_MAX_S:
                raise RuntimeError(f"this did not start: {words}")
            sleep(_TRY_S)
        return perf_counter() - began
    finally:
        process.terminate()
        process.wait(timeout=_START_MAX_S)


def _is_answered(port: int, token: str) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=_START_MAX_S)
    try:
        connection.request("GET", _SPACES, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        answer.read()
    except OSError:
        return False
    finally:
        connection.close()
    if answer.status != 200:
        raise AssertionError(f"the service answered {answer.status}")
    return True
