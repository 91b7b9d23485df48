"""Run the fuzz targets of tests/fuzz for some minutes: with atheris where it is importable, else by plain mutation.

    python scripts/fuzz.py run MINUTES            every target in a process of its own, one after the other
    python scripts/fuzz.py replay TARGET FILE     one finding again
    python scripts/fuzz.py one TARGET SECONDS     what `run` starts

What was learned stays in build/fuzz/corpus/TARGET; what a target raised on is saved in build/fuzz/findings/TARGET, and
the run then ends with status 1.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
BUILD = REPO / "build" / "fuzz"
SHARES = {"documents": 4, "objects": 3, "index": 2, "chunk": 1}
"""Of the time: documents have the most places to go wrong, and take the longest each."""
MEMORY = 2 * 2**30  # of a process, the interpreter and its libraries included
SECONDS_EACH = 30  # of one input


def folder(kind: str, target: str) -> Path:
    """A folder of a target, made where it is not there: its corpus or its findings."""
    path = BUILD / kind / target
    path.mkdir(parents=True, exist_ok=True)
    return path


def run(minutes: float) -> int:
    """Start every target; return how many findings there are that were not there before."""
    engine = "atheris" if importlib.util.find_spec("atheris") else "plain mutation (atheris is not installed)"
    print(f"fuzz: {minutes:g} minutes, by {engine}", flush=True)
    new = 0
    for target, share in SHARES.items():
        seconds = max(1, round(minutes * 60 * share / sum(SHARES.values())))
        before = set(folder("findings", target).iterdir())
        log = BUILD / f"{target}.log"
        with log.open("w") as out:
            command = [sys.executable, __file__, "one", target, str(seconds)]
            # numba cannot compile a kernel that atheris has put its counters into
            environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
            done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False, env=environment)
        found = sorted(set(folder("findings", target).iterdir()) - before)
        corpus = len(list(folder("corpus", target).iterdir()))
        print(f"{target}: {executions(log)} executions in {seconds} s, {corpus} inputs kept, {len(found)} findings")
        for path in found:
            print(f"  {path.relative_to(REPO)}: replay with `python scripts/fuzz.py replay {target} {path}`")
        if done.returncode and not found:
            print(f"  the process ended with status {done.returncode}: see {log.relative_to(REPO)}")
        new += len(found) or bool(done.returncode)
        sys.stdout.flush()
    return new


def executions(log: Path) -> str:
    """What the process counted, or libFuzzer."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if "number_of_executed_units" in line]
    return lines[-1].split()[-1] if lines else "no"


def one(target: str, seconds: int) -> int:
    """Fuzz one target in this process."""
    random.seed()
    if importlib.util.find_spec("atheris"):
        return by_atheris(target, seconds)
    resource.setrlimit(resource.RLIMIT_AS, (2 * MEMORY, 2 * MEMORY))
    return by_mutation(target, seconds)


def by_atheris(target: str, seconds: int) -> int:
    """libFuzzer, guided by the coverage of this package's Python code. It ends the process itself."""
    import atheris

    with atheris.instrument_imports(include=["chronozarr_dask"]):
        from tests.fuzz.targets import TARGETS
    fuzzed = TARGETS[target]
    corpus = folder("corpus", target)
    for seed in fuzzed.seeds():
        (corpus / hashlib.sha1(seed, usedforsecurity=False).hexdigest()).write_bytes(seed)
    limits = [f"-max_total_time={seconds}", f"-rss_limit_mb={MEMORY // 2**20}", f"-timeout={SECONDS_EACH}"]
    files = [f"-artifact_prefix={folder('findings', target)}/", str(corpus)]
    atheris.Setup([sys.argv[0], *limits, "-max_len=512", "-print_final_stats=1", *files], fuzzed.run)
    atheris.Fuzz()
    return 0


def by_mutation(target: str, seconds: int) -> int:
    """Seeds and random bytes, changed a little each time. Findings are told apart by the line that raised."""
    from tests.fuzz.targets import TARGETS

    fuzzed, rng = TARGETS[target], random.Random()
    corpus = [*fuzzed.seeds(), *(p.read_bytes() for p in folder("corpus", target).iterdir())]
    seen: set[tuple[str, int]] = set()
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        data = mutated(rng, rng.choice(corpus))
        count += 1
        try:
            fuzzed.run(data)
        except Exception as error:
            place = raised_at(error)
            if place not in seen:
                seen.add(place)
                path = folder("findings", target) / f"crash-{hashlib.sha1(data, usedforsecurity=False).hexdigest()}"
                path.write_bytes(data)
                print(f"{path}: {type(error).__name__} at {place[0]}:{place[1]}: {error}")
    print(f"stat::number_of_executed_units: {count}")
    return 1 if seen else 0


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Bytes changed, put in, taken out, repeated or cut."""
    out = bytearray(data)
    for _ in range(rng.randrange(6)):
        at = rng.randrange(len(out) + 1)
        out[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
    if rng.random() < 0.1:
        out += rng.randbytes(rng.randrange(64))
    return bytes(out[: rng.randrange(len(out) + 1)] if rng.random() < 0.1 else out)


def raised_at(error: BaseException) -> tuple[str, int]:
    """File and line of the innermost frame."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return ("", 0) if trace is None else (trace.tb_frame.f_code.co_filename, trace.tb_lineno)


def main() -> int:
    """The command line."""
    sys.path.insert(0, str(REPO))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    match sys.argv[1:]:
        case ["run", minutes]:
            return 1 if run(float(minutes)) else 0
        case ["one", target, seconds]:
            return one(target, int(seconds))
        case ["replay", target, path]:
            from tests.fuzz.targets import TARGETS

            TARGETS[target].run(Path(path).read_bytes())
            print("nothing was raised")
            return 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
