"""While one caller does its worst with eight connections, another one hardly waits longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.suites import fairness
from tests.suites.conftest import Tell
from tests.suites.fairness import Filled, attacked, everyday, filled
from tests.suites.service_runs import serving

LONGER_MAX = 10.0  # times the quiet 99th percentile
SECONDS = 60.0


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Filled]:
    folder = tmp_path_factory.mktemp("fairness")
    return folder, filled(str(folder / "m"))


def run(store: tuple[Path, Filled], kind: str, seconds: float, tell: Tell) -> float:
    folder, tokens = store
    with serving(str(folder / "m"), folder) as service:
        everyday(service.port, tokens.victim, 2)
        quiet = everyday(service.port, tokens.victim, max(5.0, seconds / 4))
        with attacked(kind, service.port, tokens.attacker, seconds) as statuses:
            during = everyday(service.port, tokens.victim, seconds)
    longer = during.percentile_ms(99) / quiet.percentile_ms(99)
    tell(
        f"fairness: {kind}: p99 {quiet.percentile_ms(99):.0f} -> {during.percentile_ms(99):.0f} ms "
        f"({longer:.1f} times), longest {max(during.waits_s) * 1e3:.0f} ms; the attacker got "
        f"{statuses}"
    )
    assert set(during.statuses) <= {200, 201}
    return longer


@pytest.mark.nightly
@pytest.mark.timing
@pytest.mark.parametrize("kind", sorted(fairness.WORST))
def test_another_caller_hardly_waits_longer(
    store: tuple[Path, Filled], kind: str, tell: Tell
) -> None:
    assert run(store, kind, SECONDS, tell) <= LONGER_MAX
