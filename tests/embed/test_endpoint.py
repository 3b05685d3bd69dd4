"""An endpoint is asked politely and believed in nothing."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from recollect.embed import endpoint
from recollect.embed.endpoint import EndpointEmbedder
from recollect.errors import ConfigError, Unavailable
from tests.embed.servers import Answer, Server, vectors


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_WAIT_S", 0.001)


def says(status: int, body: object) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda texts: (status, data)


def test_it_is_asked_with_model_and_key_in_batches() -> None:
    with Server() as server:
        embedder = EndpointEmbedder(server.url, "small", "secret")
        rows = embedder.embed([f"text {n}" for n in range(70)])
        assert rows.shape == (70, 3)
        assert embedder.dimensions == 3
        assert embedder.name.endswith("/v1/embeddings small chunks-90 3")
    assert [len(str(asked["input"])) > 0 for asked in server.asked] == [True, True]
    assert {(asked["path"], asked["model"]) for asked in server.asked} == {
        ("/v1/embeddings", "small")
    }
    assert server.keys == ["Bearer secret"] * 2


def test_the_index_says_which_text_a_vector_is_of() -> None:
    with Server() as server:
        embedder = EndpointEmbedder(server.url, "small")
        together = embedder.embed(["a", "bb", "ccc"])
        assert np.array_equal(together[2], embedder.embed_query("ccc"))
        assert server.keys == [None, None]


def test_a_busy_server_is_asked_again_and_a_broken_one_not_for_ever() -> None:
    with Server(says(503, {}), says(429, {}), vectors) as server:
        assert EndpointEmbedder(server.url, "small").embed_query("a").shape == (3,)
        assert len(server.asked) == 3
    with Server(says(500, {})) as server:
        with pytest.raises(Unavailable, match="status 500"):
            EndpointEmbedder(server.url, "small").embed_query("a")
        assert len(server.asked) == 3


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 401, 404])
def test_a_refusal_or_a_redirect_ends_it_at_once(status: int) -> None:
    with Server() as elsewhere:
        with Server(says(status, {}), headers={"Location": elsewhere.url}) as server:
            with pytest.raises(Unavailable, match=f"status {status}"):
                EndpointEmbedder(server.url, "small", "secret").embed_query("a")
            assert len(server.asked) == 1
        assert elsewhere.asked == []


@pytest.mark.parametrize(
    "body",
    [
        b"no json",
        {"data": []},
        {"data": [{"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": ["1"]}]},
        b'{"data": [{"index": 0, "embedding": [1e999]}]}',
        b'{"data": [{"index": 0, "embedding": [1e300]}]}',
        b'{"data": [{"index": 0, "embedding": [3e38, 3e38]}]}',
        b'{"data": [{"index": 0, "embedding": [NaN]}]}',
        b'{"data": [{"index": 0, "embedding": [%s]}]}' % (b"9" * 4_000),
        b'{"x": ' + b"[" * 200_000,
        b'{"data": ' + b"[" * 200_000,
        b'{"da\xffta": []}',
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]},
        {"error": {"message": "nope"}},
    ],
)
def test_a_malformed_response_is_refused(body: object) -> None:
    with Server(says(200, body)) as server, pytest.raises(Unavailable, match="the response of"):
        EndpointEmbedder(server.url, "small").embed_query("a")


def test_other_dimensions_than_before_are_refused() -> None:
    other = {"data": [{"index": 0, "embedding": [1.0, 2.0]}]}
    with Server(vectors, says(200, other)) as server:
        embedder = EndpointEmbedder(server.url, "small")
        assert embedder.dimensions == 3
        with pytest.raises(Unavailable, match="2 dimensions"):
            embedder.embed_query("a")


def test_vectors_of_different_lengths_are_refused() -> None:
    ragged = [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]
    with Server(says(200, {"data": ragged})) as server, pytest.raises(Unavailable):
        EndpointEmbedder(server.url, "small").embed(["a", "b"])


def test_an_answer_that_is_too_long_is_not_read_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(endpoint, "_ANSWER_MAX_BYTES", 1_000)
    with Server(says(200, b"x" * 200_000)) as server, pytest.raises(Unavailable, match="too long"):
        EndpointEmbedder(server.url, "small").embed_query("a")


def test_an_answer_is_as_long_as_its_vectors_may_be() -> None:
    """Ten bytes that become a number in a list take three times their length, so few are read."""
    numbers = b"0," * 1_500_000 + b"0"
    long = b'{"data": [{"index": 0, "embedding": [%s]}]}' % numbers
    with Server(says(200, long)) as server, pytest.raises(Unavailable, match="too long"):
        EndpointEmbedder(server.url, "small").embed_query("a")
    most = b'{"data": [{"index": 0, "embedding": [%s1]}]}' % (b"0.12345678901234567, " * 16_383)
    with Server(says(200, most)) as server:  # the control
        assert EndpointEmbedder(server.url, "small").embed_query("a").shape == (16_384,)
    with Server(vectors, says(200, most)) as server:  # three are known by then
        embedder = EndpointEmbedder(server.url, "small")
        assert embedder.dimensions == 3
        with pytest.raises(Unavailable, match="too long"):
            embedder.embed_query("a")


def test_an_unreachable_server_is_reported() -> None:
    with Server() as server:
        url = server.url
    with pytest.raises(Unavailable, match="did not answer"):
        EndpointEmbedder(url, "small").embed_query("a")


@pytest.mark.parametrize(
    ("url", "model"),
    [
        ("http://example.test/v1", "m"),
        ("ftp://localhost/v1", "m"),
        ("https://user:secret@example.test/v1", "m"),
        ("https://example.test/v1?key=secret", "m"),
        ("https:///v1", "m"),
        ("https://example.test/v1", ""),
    ],
)
def test_an_address_that_would_leak_or_means_nothing_is_refused(url: str, model: str) -> None:
    with pytest.raises(ConfigError) as refused:
        EndpointEmbedder(url, model)
    assert "secret" not in str(refused.value)
    assert EndpointEmbedder("https://example.test/v1", "m").recall_max_pieces > 0


def test_rows_of_zeros_stay_zeros() -> None:
    zeros = {"data": [{"index": 0, "embedding": [0.0, 0.0]}]}
    with Server(says(200, zeros)) as server:
        row = EndpointEmbedder(server.url, "small").embed_query("a")
    assert row.tolist() == [0.0, 0.0]
    assert math.isfinite(float(row.sum()))
