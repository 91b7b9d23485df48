"""What a report reads is bounded, whatever the size of the store, and all of a small one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.format.attributes import LevelMirror, mirror
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.format.pyramid import default_levels
from chronozarr_dask.run.reporting import choice
from chronozarr_dask.run.reporting.choice import Kind, Part, choose_maps, choose_player, thinned


def levels(
    n_time: int, n_band: int, height: int, width: int, cs: int = 512, n: int | None = None
) -> tuple[LevelMirror, ...]:
    layout = Layout(n_time, n_band, height, width, cs, n or default_levels(height, width, cs))
    return mirror(layout, Georeference("EPSG:32631", (10.0, 0.0, 0.0, 0.0, -10.0, 0.0)))


def kind(cs: int = 512, itemsize: int = 2, n_planes: int = 1, n_band: int = 4) -> Kind:
    return Kind(cs, itemsize, n_planes, (2, 1, 0) if n_band >= 3 else (0,))


def chunks(part: Part, of: Kind) -> int:
    """Counted one by one."""
    w, cs = part.window, of.chunk_size
    cells = {(y // cs, x // cs) for y in range(w.y0, w.y1) for x in (w.x0, w.x1 - 1, *range(w.x0, w.x1, cs))}
    return len(cells) * len(part.times) * (1 + of.n_planes)


def test_thinned_keeps_both_ends() -> None:
    assert thinned(5, 9) == (0, 1, 2, 3, 4)
    assert thinned(10, 4) == (0, 3, 6, 9)
    assert thinned(100, 1) == (0,)


def test_a_small_store_is_read_whole_at_level_0() -> None:
    of = levels(4, 4, 250, 474, 64)
    part = choose_maps(of, kind(64))
    assert (part.level, part.window.shape, part.times) == (0, (250, 474), (0, 1, 2, 3))
    player = choose_player(of, kind(64))
    assert [p.level for p in player] == [3, 2, 1], "level 0 has 4.3 MB"
    assert all(p.stride == 1 and p.bands == (0, 1, 2, 3) and len(p.times) == 4 for p in player)


def test_a_large_store_is_seen_by_its_first_level_of_512_pixels() -> None:
    part = choose_maps(levels(12, 3, 10_980, 10_980), kind())
    assert (part.level, part.window.shape) == (5, (344, 344))


def test_a_continent_takes_thousands_of_requests_at_most_and_4_mb_of_the_page() -> None:
    of, k = levels(120, 4, 200_000, 198_000), kind()
    part = choose_maps(of, k)
    assert part.window.shape == of[part.level].shape[2:], "all of it is seen"
    assert chunks(part, k) <= choice.MOST_CHUNKS
    (first, *rest) = choose_player(of, k)
    assert first.level == len(of) - 1
    assert first.bands == (0, 1, 2) or first.bands == (2, 1, 0)
    assert sum(p.nbytes(k) for p in (first, *rest)) <= choice.PLAYER_BYTES
    assert len(first.times) >= choice.LEAST_TIMES


def test_without_a_pyramid_the_middle_is_read() -> None:
    of, k = levels(240, 3, 10_980, 20_000, n=1), kind()
    part = choose_maps(of, k)
    assert part.level == 0
    assert max(part.window.shape) <= choice.MAP_EDGE
    assert part.window.y0 <= 10_980 // 2 < part.window.y1 + 512
    assert part.window.y0 % 512 == part.window.x0 % 512 == 0


@given(
    n_time=st.integers(1, 2000),
    n_band=st.integers(1, 12),
    height=st.integers(1, 5000),
    width=st.integers(1, 5000),
    cs=st.sampled_from([2, 16, 64, 256, 512, 1024]),
    n=st.sampled_from([None, 1, 2]),
    n_planes=st.integers(0, 2),
    itemsize=st.sampled_from([1, 2, 4]),
)
def test_every_choice_is_bounded_and_within_the_store(
    n_time: int, n_band: int, height: int, width: int, cs: int, n: int | None, n_planes: int, itemsize: int
) -> None:
    of, k = levels(n_time, n_band, height, width, cs, n), kind(cs, itemsize, n_planes, n_band)
    player = choose_player(of, k)
    for part in (choose_maps(of, k), *player):
        w, (h_k, w_k) = part.window, of[part.level].shape[2:]
        assert 0 <= w.y0 < w.y1 <= h_k
        assert 0 <= w.x0 < w.x1 <= w_k
        assert part.times[0] == 0
        assert part.times[-1] == n_time - 1 or len(part.times) == 1
        assert len(part.times) * choice._chunks(part, k) <= choice.MOST_CHUNKS
        assert len(part.times) * n_band * w.shape[0] * w.shape[1] <= 2 * choice.MOST_VALUES
    assert sum(p.nbytes(k) for p in player) <= choice.PLAYER_BYTES
    assert [p.level for p in player] == list(range(len(of) - 1, len(of) - 1 - len(player), -1))
