"""The options of `encode`: one for each field of the model, with its default and its description."""

import inspect
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer

from chronozarr_dask.cli.encode import encode_command
from chronozarr_dask.cli.parameters import FORMS, PANELS, flag_of, help_of, in_flags, read_options
from chronozarr_dask.options import EncodeOptions, make_options
from tests.cli.sources import invoke

FIELDS = EncodeOptions.model_fields


def written(**given: Any) -> dict[str, Any]:
    """What the command would hand on for these options of the command line."""
    every = {name: p.default for name, p in inspect.signature(encode_command).parameters.items() if name in FIELDS}
    return read_options(every | given)


def refused(**given: Any) -> str:
    with pytest.raises(typer.BadParameter) as caught:
        written(**given)
    return caught.value.message


def test_every_field_is_an_option_and_no_form_is_of_another() -> None:
    assert set(FIELDS) <= set(inspect.signature(encode_command).parameters)
    assert set(FORMS) <= set(FIELDS)
    assert sorted(name for names in PANELS.values() for name in names) == sorted(FIELDS)


def test_nothing_given_is_the_defaults_of_the_model() -> None:
    assert make_options(**written()) == make_options()


def test_help_shows_every_option_with_its_description(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("TERMINAL_WIDTH", "400")
    shown = invoke("encode", "--help").stdout
    for name, field in FIELDS.items():
        assert f" {flag_of(name)} " in shown
        assert field.description is not None
        assert help_of(name) in shown
    for panel in PANELS:
        assert f"─ {panel} ─" in shown
    assert "[default: 512]" in shown


@pytest.mark.parametrize("columns", ["80", "120"])
@pytest.mark.parametrize("command", ["encode", "read", "validate", "info"])
def test_help_is_whole_at_the_width_of_a_terminal(monkeypatch: pytest.MonkeyPatch, command: str, columns: str) -> None:
    """No word is cut, no line is broken in the middle of a paragraph, and nothing speaks of Python."""
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("TERMINAL_WIDTH", columns)
    shown = invoke(command, "--help").stdout
    assert "…" not in shown
    for word in ("Dataset", "Band objects", "DataArray", "(rows, cols)"):
        assert word not in shown
    above = shown[: shown.index("╭")].splitlines()
    for line, after in pairwise(line.strip() for line in above):
        if line and after:
            assert len(f" {line} {after.split()[0]} ") > int(columns), f"broken early: {line}"


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("-9999", -9999), ("1.5", 1.5), ("null", None), ("default", "default")]
)
def test_nodata(text: str, value: Any) -> None:
    found = written(nodata=text)["nodata"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "band"),
    [
        ("B04", "B04"),
        ("B04:red", {"name": "B04", "common_name": "red"}),
        (":red", {"common_name": "red"}),
        ("B04::0.0001:-0.1", {"name": "B04", "scale": 0.0001, "offset": -0.1}),
        ("t:::-273.15:K:s", {"name": "t", "offset": -273.15, "units": "K:s"}),
    ],
)
def test_band(text: str, band: Any) -> None:
    assert written(bands=[text, "other"])["bands"] == [band, "other"]


@pytest.mark.parametrize(("text", "value"), [("12", 12), ("all", "all")])
def test_shard_time(text: str, value: Any) -> None:
    assert written(shard_time=text)["shard_time"] == value


@pytest.mark.parametrize(("text", "value"), [("4", 4), ("2,6", (2, 6))])
def test_region_cells(text: str, value: Any) -> None:
    assert written(region_cells=text)["region_cells"] == value


def test_codec_options() -> None:
    given = written(codec="blosc", codec_options=["cname=lz4", "shuffle=noshuffle"])
    assert given["codec_options"] == {"cname": "lz4", "shuffle": "noshuffle"}


def test_provenance_is_json_or_a_file(tmp_path: Path) -> None:
    text = '{"sources": ["a"], "composite": "median", "gap_fill": "none"}'
    file = tmp_path / "provenance.json"
    file.write_text(text)
    assert written(provenance=text) == written(provenance=f"@{file}")
    assert written(provenance=text)["provenance"]["sources"] == ["a"]


def test_memory_is_a_size() -> None:
    assert make_options(**written(memory="1.5GB")).memory == 1_500_000_000


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"nodata": "nothing"}, "--nodata is 'nothing': it takes NUMBER|null|default"),
        ({"bands": ["B04:red:much"]}, "--band is 'B04:red:much'"),
        ({"bands": ["B04:red:0"]}, "scale of band 'B04' is 0"),
        ({"shard_time": "some"}, "--shard-time is 'some': it takes N|all"),
        ({"shard_time": "0"}, "--shard-time is 0"),
        ({"region_cells": "3"}, "--region-cells is 3"),
        ({"region_cells": "2,2,2"}, "--region-cells is"),
        ({"codec_options": ["lz4"]}, "--codec-option is 'lz4': it takes KEY=VALUE"),
        ({"codec_options": ["cname=lz4"]}, "--codec-option ['cname'] are for blosc"),
        ({"codec_level": 23}, "--codec-level is 23: zstd takes 1 to 22"),
        ({"chunk_size": 63}, "--chunk-size is 63"),
        ({"memory": "much"}, "memory is 'much'"),
        ({"provenance": "{"}, "--provenance is '{'"),
        ({"provenance": "@nowhere.json"}, "nowhere.json cannot be read: No such file"),
        ({"mask": "m", "nan_to_mask": True}, "--nan-to-mask makes a mask"),
    ],
)
def test_bad_values_are_named(given: dict[str, Any], words: str) -> None:
    assert words in refused(**given)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pass crs=, for example crs='EPSG:4326'", "pass --crs, for example --crs 'EPSG:4326'"),
        ("set region_cells to 4 or time_slab to 24", "set --region-cells to 4 or --time-slab to 24"),
        ("name one with variable=, or another", "name one with --variable, or another"),
        ("the variable 'mask' in /data/chunk_size/x", "the variable 'mask' in /data/chunk_size/x"),
    ],
)
def test_messages_name_options(text: str, shown: str) -> None:
    assert in_flags(text) == shown
