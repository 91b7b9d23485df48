"""Look into the wheel and the sdist: all of the package, and nothing else than what belongs there.

Run by ``make dist``: ``check_archives.py dist``.
"""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

PACKAGE = "chronozarr_dask/"
BESIDE = {"CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml", ".gitignore"}


def wrong(names: set[str], tracked: set[str], allowed: set[str]) -> list[str]:
    """Say what is missing from an archive, and what is too much."""
    extra = {name for name in names if not name.startswith(PACKAGE)} - allowed
    untracked = {name for name in names if name.startswith(PACKAGE)} - tracked
    return [f"missing {name}" for name in sorted(tracked - names)] + [
        f"does not belong: {name}" for name in sorted(extra | untracked)
    ]


def main(folder: Path) -> int:
    """Check the one wheel and the one sdist in a folder."""
    listed = subprocess.run(["git", "ls-files", PACKAGE], check=True, capture_output=True, text=True).stdout
    tracked = {name for name in listed.splitlines() if Path(name).is_file()}
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = {name for name in archive.namelist() if ".dist-info/" not in name}
    with tarfile.open(sdist) as archive:
        in_sdist = {member.name.split("/", 1)[1] for member in archive.getmembers() if member.isfile()}
    problems = [f"{wheel}: {what}" for what in wrong(in_wheel, tracked, set())]
    problems += [f"{sdist}: {what}" for what in wrong(in_sdist, tracked, BESIDE)]
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
