"""Prices and speeds out of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.options.prices import Speeds, read_prices

EXAMPLE = Path(__file__).resolve().parents[2] / "deploy" / "prices.yaml"


def test_the_example_is_one() -> None:
    prices = read_prices(str(EXAMPLE))
    assert prices.currency
    assert min(prices.core_hour, prices.gb_month, prices.put_1000, prices.get_1000) > 0
    assert prices.speeds == Speeds()


def test_what_is_not_named_costs_nothing_and_speeds_are_replaced_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("currency: EUR\ncore_hour: 0.04\nspeeds: {task_ms: 1}\n")
    prices = read_prices(str(tmp_path / "p.yaml"))
    assert (prices.core_hour, prices.gb_month) == (0.04, 0)
    assert prices.speeds == Speeds(task_ms=1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("currency: EUR\ncore_hours: 1\n", r"core_hours: .*has currency, core_hour"),
        ("core_hour: 1\n", "currency"),
        ("currency: EUR\ncore_hour: -1\n", "core_hour"),
        ("currency: EUR\nspeeds: {warp: 1}\n", r"speeds\.warp"),
        ("- 1\n", "holds no prices"),
        ("currency: [\n", "cannot be read"),
    ],
)
def test_a_file_that_is_wrong(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(InputError, match=told):
        read_prices(str(tmp_path / "p.yaml"))


def test_no_file() -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_prices("/nowhere/prices.yaml")


@pytest.mark.parametrize(
    ("codec", "ns"),
    [
        (Codec(), 1000 / 107),
        (Codec("zstd", 2), 1000 / 203),  # not measured: as slow as the next that was
        (Codec("zstd", 22), 1000 / 3.2),  # above all that were
        (Codec("blosc", 1, "lz4"), 1000 / 1300),
        (Codec("blosc", 0, "zstd"), 1000 / 385),
    ],
)
def test_the_speed_of_a_codec(codec: Codec, ns: float) -> None:
    assert Speeds().codec_ns(codec) == ns
    assert Speeds(codec_mb_s=50).codec_ns(codec) == 20


def test_nothing_grows_by_compression() -> None:
    assert Speeds(kept={"none": 0.95}).kept_by(Codec("zstd", 1), "none") == 1.0
