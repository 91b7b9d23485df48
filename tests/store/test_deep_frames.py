"""Frames of a place: what is read, how often, and how much is kept."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from chronozarr_dask.store.deep.frames import KEPT, Frames
from chronozarr_dask.store.deep.scope import Scope
from chronozarr_dask.store.opening import open_documents
from tests.store.stores import Memory
from tests.store.validate_cases import STORES, encode


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """uint8, 7 timesteps, star-delta of interval 3, unsharded."""
    return encode("star", tmp_path_factory.mktemp("frames") / "s.cz")


@pytest.fixture
def scope(folder: Path) -> Scope:
    """The store in memory, to damage."""
    objects = Memory({p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()})
    return Scope.of(objects, open_documents(objects))


def test_the_scope_of_a_store(scope: Scope) -> None:
    assert (scope.layout.n_time, scope.layout.grid(0), scope.names) == (7, (3, 3), ("data",))
    assert scope.references == (0, 0, 3, 3, 3, 6, 6)


def test_true_values_of_one_cell_and_every_chunk_is_read_once(scope: Scope) -> None:
    data = STORES["star"]()[0]
    scope.objects.requests()  # type: ignore[attr-defined]
    frames = Frames(scope, 0, "data")
    for t in range(7):
        frame = frames.frame(t, 1, 1)
        assert frame.values is not None
        assert np.array_equal(frame.values, data[t, :, 16:32, 16:32])
        assert frame.is_absent is False
    read = Counter(key for _, key in scope.objects.requests())  # type: ignore[attr-defined]
    assert read == Counter({f"0/data/c/{t}/0/1/1": 1 for t in range(7)})
    assert frames.nbytes == 7 * 2 * 16 * 16


def test_a_chunk_that_is_not_stored_reads_as_fill_and_is_known(scope: Scope) -> None:
    del scope.objects.objects["0/data/c/6/0/0/0"]  # type: ignore[attr-defined]
    frame = Frames(scope, 0, "data").frame(6, 0, 0)
    assert frame.is_absent
    assert frame.values is not None
    assert not frame.values.any()


def test_an_anchor_that_cannot_be_decoded_takes_its_star_along(scope: Scope) -> None:
    scope.objects.put("0/data/c/3/0/2/2", b"no")
    frames = Frames(scope, 0, "data")
    assert "do not decode as zstd" in frames.frame(3, 2, 2).error
    residual = frames.frame(2, 2, 2)
    assert (residual.values, residual.error) == (None, "")
    assert residual.stored is not None


def test_what_is_kept_does_not_grow(scope: Scope) -> None:
    frames = Frames(scope, 0, "data", frozenset(range(7)))
    for row in range(3):
        for t in range(7):
            frames.frame(t, row, 1)
    assert len(frames._kept) == KEPT
