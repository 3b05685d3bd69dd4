"""Fetching a model by its name, over a network that may lie.

Responsible for downloading the files of a listed model, for going on where an earlier try ended,
and for checking every byte. Leaves the list to ``places.models`` and the connection to
``endpoint``. Invariants: a model has its name only when every file has its size and its SHA-256;
never are more bytes read than a file has; a redirect leads only to the hosts of the list, over TLS;
nothing about a memory is sent.
"""

from __future__ import annotations

import http.client
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

from recollect.embedder_names import is_model_name
from recollect.endpoint import Server
from recollect.errors import ConfigError, Unavailable
from recollect.places.models import File, Model, models_folder
from recollect.store import posix
from recollect.store.disk.disk import alone, make_folder, read_pieces, sync_folder, write_all
from recollect.store.port import Progress
from recollect.store.seam import REAL, Seam

_HALF: Final = ".half-"  # before the name of a folder that is not whole; no model has such a name
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_REDIRECTS_MAX_COUNT: Final = 4
_RANGE: Final = re.compile(r"bytes (\d{1,15})-\d{1,15}/(\d{1,15})", re.ASCII)
_PIECE_BYTES: Final = 1 << 16
_LEAST_S: Final = 60.0  # for any file
_IDLE_S: Final = 30.0  # without a byte
_SLOWEST: Final = 16_384  # bytes in a second; who is slower is left, and asked again later
_EARLY: Final = (http.client.IncompleteRead, http.client.RemoteDisconnected)
_HINT: Final = "run the command again: it goes on where it ended"


def fetch(model: Model, progress: Progress | None = None, seam: Seam = REAL) -> Path:
    """The folder of a model, which is downloaded unless it is there; whole or not at all."""
    _check(model)
    folder = models_folder()
    half, whole = folder / f"{_HALF}{model.name}", folder / model.name
    try:
        make_folder(seam, folder)
        with alone(seam, folder):  # of two that fetch, the second one finds it done
            if not whole.is_dir():
                make_folder(seam, half)
                _Fetching(model, half, seam, progress).run()
                seam.replace(half, whole)
                sync_folder(seam, folder)
    except (OSError, http.client.HTTPException, ValueError) as error:
        what = getattr(error, "strerror", None) or type(error).__name__
        what = "the connection ended early" if isinstance(error, _EARLY) else what
        what = "a redirect leads nowhere" if isinstance(error, ValueError) else what
        raise Unavailable(f"{model.name} could not be fetched: {what}", hint=_HINT) from error
    return whole


def _check(model: Model) -> None:
    """Refuses names that could lead out of the folder."""
    for name in (model.name, *(file.name for file in model.files)):
        if not is_model_name(name):
            raise ConfigError(f"{name[:100]!r} cannot be the name of a model or of its file")


class _Fetching:
    """One model on its way into a folder."""

    def __init__(self, model: Model, folder: Path, seam: Seam, progress: Progress | None) -> None:
        self._model = model
        self._folder = folder
        self._seam = seam
        self._progress = progress
        self._done = 0  # bytes of the files before

    def run(self) -> None:
        """Every file, each checked."""
        for file in self._model.files:
            self._fetch(file, self._folder / file.name)
            self._done += file.size
        sync_folder(self._seam, self._folder)

    def _fetch(self, file: File, path: Path) -> None:
        """One file, from where it ended last time. What is not the listed file is deleted."""
        fd = self._seam.open(path, os.O_RDWR | os.O_CREAT | posix.NO_LINK | os.O_NONBLOCK)
        try:
            have = os.fstat(fd).st_size
            if have > file.size:
                self._seam.ftruncate(fd, 0)
                have = 0
            if have < file.size:
                self._ask(file, fd, have)
            if _hash(fd, file.size) != file.sha256:
                raise _Wrong
            self._seam.fsync(fd)
        except _Wrong as error:
            self._seam.unlink(path)
            raise Unavailable(
                f"{urlsplit(file.url).hostname} gave another file for {file.name} than the one "
                "that is listed; it was deleted",
                hint="try again later; if it stays so, the file was changed on the server",
            ) from error
        finally:
            self._seam.close(fd)

    def _ask(self, file: File, fd: int, have: int) -> None:
        """Appends what is missing of a file; raises if the server ends early."""
        # Packed bytes would have another length, and unpacking them no limit.
        headers = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "recollect"}
        if have:
            headers["Range"] = f"bytes={have}-"
        with self._answer(file, headers) as (server, response):
            have = _start(server, response, file, have)
            self._seam.ftruncate(fd, have)
            while piece := response.read1(_PIECE_BYTES):
                if have + len(piece) > file.size:
                    raise _Wrong
                write_all(self._seam, fd, piece, have)
                have += len(piece)
                if self._progress is not None:
                    self._progress(self._done + have, self._model.size)
        if have < file.size:
            raise http.client.IncompleteRead(b"", file.size - have)

    @contextmanager
    def _answer(
        self, file: File, headers: dict[str, str]
    ) -> Iterator[tuple[Server, http.client.HTTPResponse]]:
        """The answer with the bytes, behind the redirects that the list allows."""
        url = file.url
        for _ in range(_REDIRECTS_MAX_COUNT):
            server = self._server(url, file)
            parts = urlsplit(url)
            path = f"{parts.path}?{parts.query}" if parts.query else parts.path
            with server.answering("GET", path.removeprefix("/"), None, headers) as response:
                if response.status not in _REDIRECTS:
                    yield server, response
                    return
                url = urljoin(url, response.getheader("Location") or "")
            self._check_host(server, url, file)
        raise self._server(url, file).strange("is one redirect after another")

    def _server(self, url: str, file: File) -> Server:
        parts = urlsplit(url)
        return Server(
            f"{parts.scheme}://{parts.netloc}",
            what="server of models",
            hint=_HINT,
            answer_max_bytes=file.size,
            timeout_s=_LEAST_S + file.size / _SLOWEST,
            idle_s=_IDLE_S,
        )

    def _check_host(self, server: Server, url: str, file: File) -> None:
        """Refuses a redirect to a host that the list does not name."""
        host = urlsplit(url).hostname or ""
        own = urlsplit(file.url).hostname
        names = self._model.hosts
        if host != own and host not in names and not host.endswith(_below(names)):
            raise server.strange(f"leads to {host[:100]!r}, which the list does not name")


class _Wrong(Exception):
    """These bytes are not the listed file."""


def _below(hosts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(host for host in hosts if host.startswith("."))


def _start(server: Server, response: http.client.HTTPResponse, file: File, have: int) -> int:
    """Where the bytes of an answer belong; a server may start from the first byte."""
    if response.status == http.client.OK:
        return 0
    told = _RANGE.fullmatch(response.getheader("Content-Range") or "")
    if response.status != http.client.PARTIAL_CONTENT or told is None:
        if response.status == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise _Wrong  # its file is shorter now
        raise server.strange(f"has the status {response.status}")
    if (int(told[1]), int(told[2])) != (have, file.size):
        raise _Wrong  # it has another file now
    return have


def _hash(fd: int, size: int) -> str:
    digest = sha256()
    for piece in read_pieces(fd, 0, size):
        digest.update(piece)
    return digest.hexdigest()
