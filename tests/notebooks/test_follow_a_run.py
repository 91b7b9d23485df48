"""Notebook 3 in a kernel: the run on its cluster makes the medians of its scenes, and leaves nothing running."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

from tests.notebooks.kernel import complaints, execute, outputs, pictures, printed
from tests.secrets.search import Search

NAME = "3-follow-a-run-on-a-cluster.ipynb"

ASSERTIONS = """
import psutil, rasterio
from contextlib import suppress

assert problems == []
assert (len(used), len(report.scenes["dropped"]), report.regions_resumed) == (18, 0, 0)
assert [str(t)[:7] for t in store.times] == [f"2023-{m:02d}" for m in range(3, 9)]
assert [b.common_name for b in store.bands] == ["green", "red", "nir"]

def pixels(item, key):
    with rasterio.open(item["assets"][key]["href"]) as file:
        return file.read(1)

for t in range(6):
    month = items[3 * t : 3 * t + 3]
    clear = np.stack([pixels(i, "SCL").repeat(2, 0).repeat(2, 1) == 4 for i in month])
    assert np.array_equal(store.read_coverage(t), clear.sum(0))
    for b, key in enumerate(("B03", "B04", "B08")):
        values = np.where(clear, np.stack([pixels(i, key) for i in month]).astype(float), np.nan)
        got = store.read(t)[b]
        for n in (1, 3):  # of two, the median is between them
            where = clear.sum(0) == n
            expected = np.nansum(values, 0) if n == 1 else np.sort(values, axis=0)[1]
            assert np.array_equal(got[where], expected[where])
        assert (got[clear.sum(0) == 0] == 0).all()
counts = {i["id"]: int((pixels(i, "SCL") == 4).sum()) * 4 for i in items}
assert {s["id"]: s["valid_pixels"] for s in used} == counts
assert np.allclose([bar.get_height() for bar in ax.patches], [100 * n / SIZE**2 for n in counts.values()])
for t, axis in enumerate(axes[1]):
    assert np.array_equal(axis.images[0].get_array(), store.read_coverage(t))
left = []
for p in psutil.Process().children(recursive=True):
    with suppress(psutil.NoSuchProcess):  # it has just ended
        left.append(" ".join(p.cmdline()))
assert [words for words in left if "nanny" in words] == []
print("FOLDER", folder)
"""


def secrets_in(notebook: Any, secrets: Iterable[str]) -> list[str]:
    """Where an executed notebook, its pictures and pages included, holds what stands in the environment."""
    search = Search(tuple(secrets))
    search.bytes(nbformat.writes(notebook).encode(), "the notebook")
    return [f.where for f in search.found]


def test_a_secret_in_an_output_is_found() -> None:
    output = nbformat.v4.new_output("stream", text="the key is canary-of-the-notebook")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("key", outputs=[output])])
    assert secrets_in(notebook, ["canary-of-the-notebook"])


@pytest.mark.cluster
@pytest.mark.slow
def test_the_store_is_the_medians_of_the_scenes(tmp_path):
    secrets = {name: f"canary-of-the-{name}" for name in ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")}
    notebook = execute(NAME, tmp_path, ASSERTIONS, timeout=300, TMPDIR=str(tmp_path), **secrets)
    assert secrets_in(notebook, secrets.values()) == []
    assert complaints(notebook) == []
    assert pictures(notebook) == 2
    text = printed(notebook)
    assert "dashboard: http://127.0.0.1:" in text
    assert "regions" in text.split("EPSG:32632, 384 x 384 pixels")[1]
    assert "18 used, 0 dropped" in text
    page = next(o.data["text/html"] for o in outputs(notebook) if "<iframe" in o.get("data", {}).get("text/html", ""))
    assert "&lt;html" in page
    folder = Path(text.split("FOLDER ")[1].strip())
    assert folder.parent == tmp_path
    assert not [p for p in psutil.process_iter(["cmdline"]) if str(folder) in " ".join(p.info["cmdline"] or [])]
