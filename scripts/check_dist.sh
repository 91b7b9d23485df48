#!/bin/sh
# Build wheel and sdist into dist/, look into both, and install each with all extras in an empty environment.
# usage: check_dist.sh PYTHON ENV_PYTHON     (from the top of the checkout)
set -eu
python=$1
tools=$2
version=$("$tools" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
export UV_PYTHON_DOWNLOADS=never UV_NO_PROGRESS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

rm -rf dist
"$tools" -m build --no-isolation --outdir dist . >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
"$tools" scripts/check_archives.py dist

expected=$("$tools" -c 'from importlib.metadata import version; print(version("chronozarr-dask"))')
for archive in dist/*.whl dist/*.tar.gz; do
    venv=$work/venv
    rm -rf "$venv"
    "$python" -m venv --without-pip "$venv"
    # The versions are the lock's, so that the outcome does not change from one day to the next.
    "$tools" -m uv pip install --quiet --python "$venv/bin/python" --constraints "requirements/dev-$version.txt" \
        "./$archive[all]"
    # From elsewhere, so that it is the installed package that answers.
    said=$(cd "$work" && "$venv/bin/chronozarr-dask" --version)
    case "$said" in
    *"$expected"*) ;;
    *) echo "error: $archive: --version says '$said', expected $expected" >&2; exit 1 ;;
    esac
    (cd "$work" && "$venv/bin/python" -c "
import importlib, importlib.resources
for name in 'chronozarr_dask s3fs gcsfs adlfs aiohttp h5netcdf rasterio rioxarray'.split():
    importlib.import_module(name)
assert importlib.resources.files('chronozarr_dask').joinpath('py.typed').is_file(), 'py.typed is missing'
")
    echo "$archive installs with all extras: $said"
done
