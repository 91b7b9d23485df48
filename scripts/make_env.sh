#!/bin/sh
# Make or renew a virtual environment with exactly the locked dependencies, every one checked against its hash.
# usage: make_env.sh VENV PYTHON     (from the top of the checkout)
set -eu
venv=$1
python=$2
if [ -z "$python" ]; then
    echo "error: no Python interpreter found for $venv; install it, or name one: make env PYTHON=/path/to/python3.11" >&2
    exit 2
fi
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
lock=requirements/dev-$version.txt
if [ ! -f "$lock" ]; then
    echo "error: no lock for Python $version: $lock is not there; take a Python of $(ls requirements | sed -n 's/^dev-\(.*\)\.txt$/\1/p' | tr '\n' ' ')" >&2
    exit 2
fi
# A venv of another Python version, or a broken one, is made anew.
found=$("$venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true)
[ "$found" = "$version" ] || "$python" -m venv --clear "$venv"

export UV_PYTHON_DOWNLOADS=never UV_NO_PROGRESS=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
# uv installs the whole set in seconds, pip in a minute; both compile it: the tests start hundreds of processes. Both refuse a file whose hash is not in the lock.
if "$venv/bin/python" -m pip install --quiet --no-deps --require-hashes -r requirements/uv.txt; then
    "$venv/bin/python" -m uv pip sync --quiet --compile-bytecode --require-hashes --python "$venv/bin/python" "$lock"
else
    echo "note: uv could not be installed; going on with pip" >&2
    "$venv/bin/python" -m pip install --quiet --no-deps --require-hashes -r "$lock"
fi
# The project itself, editable. Its build backend is in the lock, so nothing else is fetched.
"$venv/bin/python" -m pip install --quiet --no-deps --no-build-isolation --editable .
