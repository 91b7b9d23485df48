"""Notebook 2 in a kernel: what it makes of its files is those files, by Python and by the command that it names."""

from __future__ import annotations

import shlex
from pathlib import Path

from tests.notebooks.kernel import complaints, execute, pictures, printed, read

NAME = "2-make-a-store-from-your-own-files.ipynb"

ASSERTIONS = """
import os, sys
import rasterio
from chronozarr_dask.cli import main

assert (problems, deep_problems) == ([], [])
assert equal is True and difference.max() == 0
assert store.temporal.encoding == report.encoding and report.failures == ()
assert [b.common_name for b in store.bands] == ["green", "red", "nir"]
assert (store.crs, store.nodata, len(store.times), len(store.levels)) == ("EPSG:32632", 0, 12, 3)
for t, path in enumerate(files):
    with rasterio.open(path) as file:
        assert np.array_equal(store.read(t), file.read())
        assert store.levels[0].transform == tuple(file.transform)[:6]
    assert str(store.times[t])[:7] == MONTHS[t]
gaps = [(store.read(t) == 0).mean() for t in range(12)]
assert 0 < min(gaps) and max(gaps) < 0.25, gaps
assert np.array_equal(level1.data.isel(time=3).values, store.read(3, level=1))

os.chdir(folder)
sys.argv = COMMAND
try:
    main()
except SystemExit as end:
    assert not end.code
again = czd.open_store(folder / "plain.czarr.cli")
assert all(np.array_equal(again.read(t), store.read(t)) for t in range(12))
assert [(b.name, b.common_name, b.scale) for b in again.bands] == [(b.name, b.common_name, b.scale) for b in bands]
print("FOLDER", folder)
"""


def encode_command() -> list[str]:
    """The words of the encode command at the notebook's end, onto a target of its own."""
    block = read(NAME).cells[-1].source.split("```sh\n")[1].split("```")[0].replace("\\\n", "")
    words = shlex.split(block.splitlines()[0])
    assert words[:2] == ["chronozarr-dask", "encode"]
    return [*(w.replace("plain.czarr", "plain.czarr.cli") for w in words), "--quiet"]


def test_the_store_is_the_files(tmp_path):
    notebook = execute(NAME, tmp_path, f"COMMAND = {encode_command()!r}\n{ASSERTIONS}")
    assert complaints(notebook) == []
    assert pictures(notebook) == 3
    text = printed(notebook)
    assert "[] []" in text
    assert "TargetError: " in text
    assert "plain.czarr is not empty" in text
    folder = Path(text.split("FOLDER ")[1].strip())
    assert not folder.exists(), "the temporary folder goes away with the kernel"
