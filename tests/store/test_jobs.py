"""Jobs of files and of memory, each through the one suite."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.config import load
from recollect.errors import ConfigError, RecollectError, Unavailable
from recollect.memory import Store
from recollect.store.disk.layout import JOBS
from recollect.store.files.backend import FileBackend
from recollect.store.indexed.backend import MemoryBackend
from recollect.store.jobs.jobs import Jobs
from recollect.store.port import Backend
from recollect.testing.jobs_suite import JobsSuite, ask, leased


class TestFiles(JobsSuite):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Iterator[Backend]:
        backend = FileBackend(tmp_path / "workspace")
        yield backend
        backend.close()

    @pytest.fixture
    def store(self, backend: Backend, tmp_path: Path) -> Store:
        return Store(backend, load(tmp_path / "workspace", embedder="none"))

    def test_looking_writes_no_file(self, jobs: Jobs, tmp_path: Path) -> None:
        assert jobs.lease((), 1) is None
        assert not (tmp_path / "workspace" / JOBS).exists()

    def test_a_job_outlives_its_process_and_is_its_owners_alone(
        self, jobs: Jobs, tmp_path: Path
    ) -> None:
        asked = ask(jobs)
        assert (tmp_path / "workspace" / JOBS).stat().st_mode & 0o077 == 0
        again = FileBackend(tmp_path / "workspace")
        assert leased(again.jobs()).id == asked.id
        again.close()

    def test_a_file_that_others_could_change_is_refused(self, jobs: Jobs, tmp_path: Path) -> None:
        path = tmp_path / "workspace" / JOBS
        path.touch(0o666)
        path.chmod(0o666)
        with pytest.raises(ConfigError, match="this account alone"):
            ask(jobs)
        path.unlink()
        path.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(RecollectError):
            ask(jobs)
        assert not (tmp_path / "elsewhere").exists()

    def test_a_forked_child_is_refused(self, jobs: Jobs) -> None:
        ask(jobs)
        pid = os.fork()
        if pid == 0:
            try:
                ask(jobs)
            except Unavailable:
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


class TestMemory(JobsSuite):
    @pytest.fixture
    def backend(self) -> Iterator[Backend]:
        backend = MemoryBackend()
        yield backend
        backend.close()

    @pytest.fixture
    def store(self, backend: Backend) -> Store:
        return Store(backend, load(":memory:", embedder="none"))
