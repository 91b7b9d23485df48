#!/bin/sh
# Run the tests of the format, the store and the encoder on another Python, in an environment of its own.
# What is marked slow (the same bytes under every setting, the memory of large cubes) runs on the main Python alone.
# usage: test_on.sh 3.12 [pytest's arguments]     (from the top of the checkout)
set -eu
version=$1
shift
if ! python=$(./scripts/find_python.sh "$version"); then
    echo "skipped: Python $version is not installed on this machine"
    exit 0
fi
make --no-print-directory env VENV=".venv-$version" PYTHON="$python"
for name in format store encode; do
    [ ! -d "tests/$name" ] || set -- "$@" "tests/$name"
done
".venv-$version/bin/python" -m pytest -m "not bench and not slow" "$@"
