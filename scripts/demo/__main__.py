"""``make demo``: the whole job on a small world whose truth is known, in a minute or two.

    world -> servers -> chronozarr-dask run -> validate --deep -> compare with the truth -> look at a pixel

Everything lies in one folder, build/demo, which is made anew each time.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import yaml

from scripts.demo.land import BANDS
from scripts.demo.processes import DemoError, run_program, stac_server, web_server
from scripts.demo.scenes import COLLECTION, write_catalogue, write_scenes
from scripts.demo.sky import CLEAR
from scripts.demo.world import World, write_truth

MARK = ".made-by-make-demo"
SMALL = World(tile=256, overlap=32, n_month=4, empty=1, chunk_size=64)


def main(arguments: list[str] | None = None) -> int:
    """Run the demo; the exit code."""
    parser = argparse.ArgumentParser(prog="make demo", description="The whole job on a small world.")
    parser.add_argument("--small", action="store_true", help="four months of small tiles, in a few seconds")
    parser.add_argument("--folder", type=Path, default=Path("build/demo"), help="where everything goes")
    chosen = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended too
    try:
        with own_folder(chosen.folder) as folder:
            demo(folder, SMALL if chosen.small else World())
    except DemoError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; nothing is left running", file=sys.stderr)
        return 130
    return 0


@contextlib.contextmanager
def own_folder(folder: Path) -> Iterator[Path]:
    """The folder, empty but for its mark, and nobody else's meanwhile."""
    mark = folder / MARK
    if folder.exists() and not mark.is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise DemoError(f"{folder} is there and was not made by make demo: move it away")
    folder.mkdir(parents=True, exist_ok=True)
    with mark.open("a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DemoError(f"another demo is at work in {folder}: wait for its end") from error
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != MARK:
                path.unlink()
        yield folder


def demo(folder: Path, world: World) -> None:
    """All steps."""
    began = time.monotonic()
    with step(f"A world of {len(world.months)} months, {len(world.scenes)} scenes, and its truth"):
        say(f"two tiles of {world.tile} x {world.tile} pixels, clouds and shadows, a reprocessed twin,")
        say(f"baselines with and without offset, no clear pixel in {world.months[world.empty]}")
        write_truth(world, folder / "truth.npz")
        say(f"truth   {folder / 'truth.npz'}, in plain numpy, before there is a scene")
        write_scenes(world, folder / "scenes")
    with contextlib.ExitStack() as stack:
        with step("Servers, as out there"):
            files = stack.enter_context(web_server(folder / "scenes"))
            write_catalogue(world, folder, files)
            api = stack.enter_context(stac_server(folder))
            say(f"STAC    {api}")
            say(f"files   {files}")
        recipe = write_recipe(world, folder, api)
        with step(f"chronozarr-dask run {recipe}"):
            run_program("run", str(recipe))
    store = folder / "store.czarr"
    with step(f"chronozarr-dask validate --deep {store}"):
        run_program("validate", "--deep", str(store))
    with step("The store against the truth"):
        compare_with_truth(store, folder / "truth.npz")
        say(f"store   {store}")
        say(f"journal {store}.run")
        say(f"report  {store}.run/report.html")
    print(f"\nAll of it took {time.monotonic() - began:.0f} s, and nothing is left running. Open the store in Python:")
    print(f"\n  import chronozarr_dask as czd\n  store = czd.open_store({str(store)!r})\n  store.to_xarray()\n")


def compare_with_truth(store: Path, file: Path) -> None:
    """Compare, and plot the series of a pixel."""
    import chronozarr_dask as czd
    from scripts.demo.compare import Truth, can_draw, compare, series_lines

    opened, truth = czd.open_store(store), Truth.read(file)
    for line in compare(opened, truth):
        say(line)
    print()
    for line in series_lines(opened, truth, ascii_only=not can_draw()):
        say(line)
    print()


def write_recipe(world: World, folder: Path, api: str) -> Path:
    """The recipe, as a user would write it."""
    recipe = {
        "version": 1,
        "source": {
            "api": api,
            "collections": [COLLECTION],
            "bands": list(BANDS),
            "classes": {"asset": "SCL", "keep": list(CLEAR)},
            "page_size": 20,
        },
        "area": list(world.area),
        "period": {"start": world.months[0], "end": world.months[-1], "step": "month"},
        "composite": {"method": "median"},
        "encode": {"encoding": "auto", "chunk_size": world.chunk_size},
        "target": str(folder / "store.czarr"),
        "cluster": {"kind": "local", "workers": 2, "threads": 1},
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe, sort_keys=False, default_flow_style=None))
    return path


@contextlib.contextmanager
def step(title: str) -> Iterator[None]:
    """A headline, and how long it took."""
    bold, plain = ("\x1b[1m", "\x1b[0m") if sys.stdout.isatty() and "NO_COLOR" not in os.environ else ("", "")
    print(f"\n{bold}== {title}{plain}", flush=True)
    began = time.monotonic()
    yield
    say(f"({time.monotonic() - began:.1f} s)")


def say(line: str) -> None:
    """A line below a headline."""
    print(f"   {line}".rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
