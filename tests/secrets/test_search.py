"""The search finds a planted secret in each of its places; only then is it worth something that it finds none."""

from __future__ import annotations

import base64
import bz2
import gzip
import html
import io
import json
import logging
import pickle
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numcodecs
import numpy as np
import pytest
import xarray as xr
from dask.delayed import delayed
from distributed.protocol import dumps, serialize_bytes

import chronozarr_dask as czd
from tests.secrets.search import Search

CANARY = "canary/7+Qx=Zp%20&k3yW9"
NOISE = np.random.default_rng(1).integers(0, 256, 500, "u1").tobytes()


def finds(data: bytes) -> bool:
    search = Search((CANARY,))
    search.bytes(NOISE + data + NOISE, "here")
    return bool(search.found)


def zipped(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/b.txt", data)
    return out.getvalue()


def blosc(name: str) -> Callable[[bytes], bytes]:
    return lambda data: bytes(numcodecs.Blosc(cname=name, shuffle=1).encode(data * 40))


class Holder:
    """Something that is pickled by its fields."""

    def __init__(self, text: str) -> None:
        self.options = {"client_kwargs": {"headers": [text]}}


WRAPPED: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda b: b,
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "bzip2": lambda b: base64.b64encode(bz2.compress(b)),
    "zstd": lambda b: bytes(numcodecs.Zstd(level=9).encode(b * 40)),
    "zstd, small": lambda b: bytes(numcodecs.Zstd(checksum=True).encode(b)),
    "blosc lz4": blosc("lz4"),
    "blosc zstd": blosc("zstd"),
    "zip": zipped,
    "base64": base64.b64encode,
    "base64 behind letters": lambda b: b"xyz" + base64.b64encode(b),
    "base64 of URLs": base64.urlsafe_b64encode,
    "base64 in lines": base64.encodebytes,
    "hex": lambda b: b.hex().encode(),
    "percent": lambda b: quote(b, safe="").encode(),
    "percent, twice": lambda b: quote(quote(b, safe=""), safe="").encode(),
    "HTML": lambda b: html.escape(b.decode()).encode(),
    "UTF-16": lambda b: b.decode().encode("utf-16"),
    "UTF-16, big end first": lambda b: b.decode().encode("utf-16-be"),
    "UTF-32": lambda b: b.decode().encode("utf-32"),
    "pickle": lambda b: pickle.dumps(Holder(b.decode())),
    "pickle of bytes": lambda b: pickle.dumps([b, 1], protocol=2),
    "pickle in pickle in zstd": lambda b: bytes(numcodecs.Zstd().encode(pickle.dumps({"task": pickle.dumps((b,))}))),
    "JSON": lambda b: json.dumps({"a": [b.decode()]}).encode(),
    "JSON in JSON": lambda b: json.dumps(json.dumps({"a": [b.decode()]})).encode(),
    "JSON in base64 of gzip": lambda b: base64.b64encode(gzip.compress(json.dumps([b.decode()]).encode())),
    "repr of bytes": lambda b: repr(b"\xff" + b).encode(),
}


@pytest.mark.parametrize("how", WRAPPED)
def test_it_finds_a_secret_in_other_clothes(how: str) -> None:
    assert finds(WRAPPED[how](CANARY.encode()))
    assert not finds(WRAPPED[how](CANARY.replace("Zp", "zP").encode()))


@pytest.mark.parametrize("outer", WRAPPED)
@pytest.mark.parametrize("inner", ["gzip", "zstd", "base64", "percent", "pickle", "JSON"])
def test_it_finds_a_secret_behind_two(inner: str, outer: str) -> None:
    if outer in ("UTF-16", "UTF-16, big end first", "UTF-32", "HTML", "pickle", "JSON", "JSON in JSON") or (
        outer == "JSON in base64 of gzip"
    ):
        data = base64.b64encode(WRAPPED[inner](CANARY.encode()))  # these hold text
    else:
        data = WRAPPED[inner](CANARY.encode())
    assert finds(WRAPPED[outer](data))


def test_it_finds_a_secret_in_a_graph_on_its_way_to_a_worker() -> None:
    graph = delayed(Holder)(CANARY).__dask_graph__()
    assert finds(serialize_bytes(graph))
    assert finds(b"".join(map(bytes, dumps({"op": "update-graph", "tasks": {"x": graph}, "text": "more"}))))


def test_it_finds_a_secret_in_a_store(tmp_path: Path) -> None:
    """In a chunk, in a shard, in a document and in a name."""
    text = np.frombuffer(CANARY.encode().ljust(32 * 32, b" "), np.uint8).reshape(32, 32)
    cube = xr.DataArray(np.stack([text] * 3), dims=("time", "y", "x"), name="data").assign_coords(
        time=np.arange(3).astype("datetime64[D]").astype("datetime64[ns]"), y=-np.arange(32.0), x=np.arange(32.0)
    )
    for codec, shard_time in (("zstd", None), ("gzip", 3), ("blosc", None)):
        target = tmp_path / codec
        made = {"codec": codec, "shard_time": shard_time, "encoding": "none", "chunk_size": 32, "crs": "EPSG:32631"}
        czd.encode(cube, target, **made)
        search = Search((CANARY,))
        search.folder(target)
        assert {f.where.split(" ")[0] for f in search.found} >= {f"{codec}/0/data/c/0/0/0/0"}
    (tmp_path / "gzip" / "zarr.json").write_text(json.dumps({"attributes": {"a": CANARY}}))
    (tmp_path / "gzip" / "secret-in-a-name").mkdir()
    search = Search((CANARY, "secret-in-a-name"))
    search.folder(tmp_path / "gzip")
    assert {f.where.split(" >")[0] for f in search.found} >= {"gzip/zarr.json", "the name gzip/secret-in-a-name"}


def test_it_finds_a_secret_in_a_log(tmp_path: Path) -> None:
    handler = logging.FileHandler(tmp_path / "log")
    logger = logging.getLogger("tests.secrets")
    logger.addHandler(handler)
    try:
        logger.warning("GET %s", f"https://h/a?sig={quote(CANARY, safe='')}")
    finally:
        logger.removeHandler(handler)
        handler.close()
    search = Search((CANARY,))
    search.folder(tmp_path)
    assert search.found


def test_it_finds_a_secret_in_a_notebook_and_in_a_page(tmp_path: Path) -> None:
    lines = ["https://h/a?sig=" + CANARY[:9], CANARY[9:] + "\n"]
    cell = {"cell_type": "code", "source": [], "outputs": [{"output_type": "stream", "text": lines}]}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}}))
    packed = base64.b64encode(gzip.compress(json.dumps({"frames": [CANARY]}).encode())).decode()
    (tmp_path / "a.html").write_text(f"<html><script type='application/json'>\"{packed}\"</script></html>")
    search = Search((CANARY,))
    search.folder(tmp_path)
    assert {f.where.split(" ")[0].rsplit("/")[-1] for f in search.found} == {"a.ipynb", "a.html"}
