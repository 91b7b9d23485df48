#!/bin/sh
# Print a Python interpreter of the version asked for, or nothing (exit code 1).
# usage: find_python.sh 3.12
want=$1
is_it() { [ "$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$want" ]; }
for candidate in "python$want" python3 python "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$want".*/bin/python; do
    if command -v "$candidate" >/dev/null 2>&1 && is_it "$candidate"; then
        command -v "$candidate"
        exit 0
    fi
done
exit 1
