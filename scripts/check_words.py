"""Fail when a tracked file names what belongs to one machine: a folder of it, or a package registry's host.

Run by ``make lint``, from the top of the checkout.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

# A backslash in each, so that this file does not find itself.
PATTERNS = {
    "a home folder": r"/root\b/|/home\b/(?!runner\b)\w+/|/Users\b/\w+/",
    "a registry's host": r"pypi\.org|pythonhosted\.org|registry\.npmjs|(deb|security)\.debian\.org|proxy\.golang\.org",
    "an issue's number": r"\bissues? #?[0-9]",
}
COMMON = {"/", "/tmp", "/home", "/root", "/opt", "/srv", "/usr", "/usr/src", "/var/tmp", "/mnt", "/media"}


def patterns(root: Path) -> dict[str, re.Pattern[str]]:
    """Compile the fixed patterns and those that this machine adds: the folder above the checkout, its registry."""
    every = dict(PATTERNS)
    above = root.parent.as_posix()
    if above not in COMMON:
        every["the folder above the checkout"] = rf"(?<![\w.]){re.escape(above)}(?![\w.-])"
    settings = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX")
    hosts = {urlsplit(os.environ.get(name, "")).hostname for name in settings}
    for host in sorted(h for h in hosts if h):
        every[f"the registry that this machine uses ({host})"] = re.escape(host)
    return {what: re.compile(pattern) for what, pattern in every.items()}


def main() -> int:
    """Look through the tracked files; print every place and give 1 when there is one."""
    root = Path.cwd().resolve()
    listed = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True).stdout.decode().split("\0")
    every = patterns(root)
    found = 0
    for name in filter(None, listed):
        path = Path(name)
        if not path.is_file():  # removed in the work tree, not yet in the index
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for what, pattern in every.items():
                if pattern.search(line):
                    print(f"{name}:{number}: names {what}: {line.strip()[:100]}")
                    found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
