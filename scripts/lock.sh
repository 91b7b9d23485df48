#!/bin/sh
# Resolve pyproject.toml anew for every supported Python and write the locks with hashes.
# usage: lock.sh PYTHON [uv's options, as --upgrade or --upgrade-package NAME]     (from the top of the checkout)
set -eu
python=$1
shift
for version in 3.11 3.12 3.13; do
    "$python" -m uv pip compile --quiet --python-version "$version" --generate-hashes --no-annotate \
        --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
        --all-extras --group dev "$@" pyproject.toml --output-file "requirements/dev-$version.txt"
done
# The installer on its own, taken from the lock, for the first step of scripts/make_env.sh.
{
    echo "# The installer, taken out of dev-3.11.txt by: make lock"
    awk '/^[^ #]/ { keep = /^uv==/ } keep' requirements/dev-3.11.txt
} >requirements/uv.txt
