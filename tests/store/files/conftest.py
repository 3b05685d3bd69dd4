"""What several of these tests count."""

from __future__ import annotations

import pytest

from recollect.store.files.ledger import stamp


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the walks over a whole ledger."""
    count: list[int] = []
    real = vars(stamp)["verify"]

    def counted(*args: object, **kwargs: object) -> object:
        count.append(1)
        return real(*args, **kwargs)

    monkeypatch.setattr(stamp, "verify", counted)
    return count
