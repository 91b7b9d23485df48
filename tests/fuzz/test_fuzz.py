"""Every target over bytes that hypothesis draws: only this package's own errors, and bounded memory."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import targets
from tests.fuzz.targets import chunk_seeds

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)


def decisions(n: int) -> st.SearchStrategy[bytes]:
    """Bytes for `n` decisions of a target."""
    return st.binary(min_size=n // 2, max_size=n)


@settings(max_examples=100, suppress_health_check=SLOW)
@given(decisions(40))
def test_documents(data: bytes) -> None:
    targets.documents(data)


@settings(max_examples=60, suppress_health_check=SLOW)
@given(decisions(40))
def test_objects(data: bytes) -> None:
    targets.objects(data)


@settings(max_examples=500)
@given(decisions(48))
def test_index(data: bytes) -> None:
    targets.index(data)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A good chunk with a few bytes changed, cut, or with bytes put in."""
    blob = bytearray(draw(st.sampled_from(chunk_seeds())))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(2, max(2, len(blob) - 1)))
        blob[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return bytes(blob[: draw(st.integers(2, len(blob)))] if draw(st.booleans()) else blob)


@settings(max_examples=500)
@given(damaged() | st.binary(max_size=80))
def test_chunk(data: bytes) -> None:
    targets.chunk(data)
