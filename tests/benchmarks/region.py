"""The composite of one region from local GeoTIFFs, against odc-stac with a median of xarray on Dask."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

from tests.benchmarks.measure import MIB, Spread, run, started
from tests.benchmarks.tables import Claim, Table

N_SCENES, BANDS = 12, ("B02", "B03", "B04", "B08")
EDGE, QUICK_EDGE = 2048, 512
ROUNDS, QUICK_ROUNDS = 5, 2
THREADS = 2
KEEP = (4, 5, 6, 7, 11)
WALL_SHARE = 1 / 3
CHUNKS = 512
"""Edge of the peer's chunks, the block of the files: the fastest of 512, 1024 and 2048 here, and the smallest."""

COLUMNS = ("seconds, ours / odc-stac", "ours, s", "odc-stac, s", "peak, ours / odc-stac", "ours, MiB", "odc-stac, MiB")


def table(folder: Path, *, quick: bool) -> Table:
    """The table; needs 1 GB in `folder`."""
    edge, rounds = (QUICK_EDGE, QUICK_ROUNDS) if quick else (EDGE, ROUNDS)
    scenes = folder / "scenes"
    run("region:make", folder=str(scenes), edge=edge)
    about = (
        f"{N_SCENES} scenes of one month, 4 bands of {edge} x {edge} uint16 and a class plane of half of it, tiled "
        f"GeoTIFFs under deflate in the page cache; the median of the pixels whose class counts, {THREADS} threads in "
        f"one process. odc-stac loads chunks of {CHUNKS} x {CHUNKS} as Dask arrays, xarray masks them and takes the "
        f"median. Both give the same values. Seconds from the items to the values, imports and compiled kernels apart; "
        f"peak is resident memory of the process, imports included. Medians (least..most) of {rounds} rounds in which "
        f"the two alternate; a ratio is taken within a round."
    )
    out = Table("Composites of a region", about, COLUMNS)
    done = []
    for i in range(rounds):
        peers = ("ours", "theirs") if i % 2 == 0 else ("theirs", "ours")
        done.append({peer: run(f"region:{peer}", folder=str(scenes), edge=edge) for peer in peers})
        if len({d.result["sum"] for d in done[-1].values()}) != 1:
            raise ValueError(f"the composites differ: {done[-1]}")
    seconds = [Spread.of(d[p].result["seconds"] for d in done) for p in ("ours", "theirs")]
    peaks = [Spread.of(d[p].peak / MIB for d in done) for p in ("ours", "theirs")]
    wall = Spread.of(d["ours"].result["seconds"] / d["theirs"].result["seconds"] for d in done)
    peak = Spread.of(d["ours"].peak / d["theirs"].peak for d in done)
    out.rows.append((wall.text(2), *(s.text(2) for s in seconds), peak.text(2), *(p.text(0) for p in peaks)))
    out.claims.append(Claim("one region: seconds, ours / odc-stac", wall.median, WALL_SHARE))
    out.claims.append(Claim("one region: peak memory, ours / odc-stac", peak.median, 1.0))
    shutil.rmtree(scenes)
    return out


# ---- jobs -------------------------------------------------------------------------------------------------------


def make(folder: str, edge: int) -> None:
    """Scenes with the texture of an image, a fifth of them under clouds, and their items."""
    import numpy as np
    import rasterio

    from tests.benchmarks.cubes import surface, textured

    rng = np.random.default_rng(0)
    ground = [surface(rng, edge, edge) for _ in BANDS]
    corners = [[3, 44.9], [3.3, 44.9], [3.3, 45.2], [3, 45.2]]
    items = []
    for i in range(N_SCENES):
        place = Path(folder) / f"S{i:02d}"
        place.mkdir(parents=True)
        cloud = surface(rng, edge // 2, edge // 2) > 3300
        planes = {band: (textured(g, rng), 10.0) for band, g in zip(BANDS, ground, strict=True)}
        planes["SCL"] = (np.where(cloud, 9, 4).astype(np.uint8), 20.0)
        assets = {}
        for name, (pixels, step) in planes.items():
            transform = rasterio.Affine(step, 0, 500000, 0, -step, 5000000)
            with rasterio.open(
                place / f"{name}.tif", "w", driver="GTiff", width=pixels.shape[1], height=pixels.shape[0], count=1,
                dtype=pixels.dtype.name, crs="EPSG:32631", transform=transform, tiled=True, blockxsize=512,
                blockysize=512, compress="deflate", nodata=0,
            ) as file:  # fmt: skip
                file.write(pixels, 1)
            assets[name] = {
                "href": str(place / f"{name}.tif"), "type": "image/tiff; application=geotiff", "roles": ["data"],
                "proj:shape": list(pixels.shape), "proj:transform": list(transform)[:6],
                "raster:bands": [{"data_type": pixels.dtype.name, "nodata": 0}],
            }  # fmt: skip
        items.append(
            {
                "type": "Feature", "stac_version": "1.0.0", "id": f"S{i:02d}", "links": [], "assets": assets,
                "stac_extensions": [
                    "https://stac-extensions.github.io/projection/v2.0.0/schema.json",
                    "https://stac-extensions.github.io/raster/v1.1.0/schema.json",
                ],
                "geometry": {"type": "Polygon", "coordinates": [[*corners, corners[0]]]},
                "bbox": [3, 44.9, 3.3, 45.2],
                "properties": {"datetime": f"2024-01-{2 * i + 1:02d}T10:00:00Z", "proj:code": "EPSG:32631"},
            }
        )  # fmt: skip
    (Path(folder) / "items.json").write_text(json.dumps({"type": "FeatureCollection", "features": items}))


def ours(folder: str, edge: int) -> dict[str, Any]:
    """The composite as a region's task makes it."""
    from chronozarr_dask.format.layout import Window
    from chronozarr_dask.graph.compose import compose
    from chronozarr_dask.run.composites import make_composites
    from chronozarr_dask.run.found import find
    from chronozarr_dask.run.recipes import Document

    text = f"""
version: 1
source:
  items: {json.dumps(str(Path(folder) / "items.json"))}
  bands: [{", ".join(BANDS)}]
  classes: {{asset: SCL, keep: {list(KEEP)}}}
run: {{reads: {THREADS}}}
target: nowhere
"""
    recipe = Document.parse(text, "recipe").recipe()
    small = make_composites(recipe, find(recipe)).frames
    compose(small.composition, small.timesteps, Window(0, 8, 0, 8))  # compiles, or loads what was kept
    started()
    begun = time.perf_counter()
    frames = make_composites(recipe, find(recipe)).frames
    made = compose(frames.composition, frames.timesteps, Window(0, edge, 0, edge))
    seconds = time.perf_counter() - begun
    return {"seconds": seconds, "sum": int(made.values.astype("uint64").sum())}


def theirs(folder: str, edge: int) -> dict[str, Any]:
    """The same by odc-stac, xarray and Dask."""
    import dask
    import numpy as np
    import odc.stac
    import pystac

    def load(bands: tuple[str, ...]) -> Any:
        items = pystac.ItemCollection.from_file(str(Path(folder) / "items.json"))
        return odc.stac.load(
            items, bands=bands, crs="EPSG:32631", resolution=10, anchor="edge",
            x=(500000, 500000 + 10 * edge), y=(5000000 - 10 * edge, 5000000),
            chunks={"time": -1, "x": CHUNKS, "y": CHUNKS}, resampling={"SCL": "nearest"},
        )  # fmt: skip

    with dask.config.set(scheduler="threads", num_workers=THREADS):
        load(("SCL",)).SCL[0, :8, :8].compute()  # what is imported late
        started()
        begun = time.perf_counter()
        cube = load((*BANDS, "SCL"))
        good = cube.SCL.isin(KEEP)
        bands = cube[list(BANDS)]
        composite = bands.where(good & (bands != 0)).median("time").fillna(0)
        values = composite.compute()
        seconds = time.perf_counter() - begun
    total = sum(int(np.floor(values[b].values).astype("uint64").sum()) for b in BANDS)
    return {"seconds": seconds, "sum": total, "shape": list(values[BANDS[0]].shape)}
