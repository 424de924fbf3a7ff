"""The fuzz: odd arguments and damaged files, and only linkwise's own errors may come of them, promptly.

    python tests/fuzz/run.py --cases 20000 [--seed 0] [--only calls | files | NAME]

Cases are numbered; each is the same whenever it is run with the same seed. They run in another process, whose memory
is limited and whose time is counted in processor seconds: one that crashes or hangs is reported by its number, and the
next one goes on. A case by itself, in this process and with its traceback: --case NUMBER.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).parent
MEMORY = 4 * 2**30  # bytes of address space for all the libraries together
SLOW, HANGS = 20.0, 120.0  # processor seconds; the first call of a kind compiles
# What Python itself says of too many, too few or unknown arguments.
COUNTED = re.compile(r"(positional|keyword) argument|unexpected keyword|missing \d+ required|takes no arguments")


def case(number: int, seed: int, only: str | None, folder: Path) -> tuple[str, Callable[[], Any]]:
    """What one case does, in words, and the doing."""
    import calls
    import files

    rng = Random(f"{seed}/{number}")
    known = calls.public_calls()
    if only not in (None, "calls", "files"):
        known = [c for c in known if only in c.name]
    as_file = only == "files" or only in files.READERS or (only is None and rng.random() < 0.3)
    if as_file:
        ending = only if only in files.READERS else rng.choice(sorted(files.READERS))
        path = files.damaged(ending, folder, rng)
        return f"read {path.name}", lambda: files.READERS[ending](path)
    call = known[number % len(known)]
    given = calls.arguments(call, rng, "cpu" if rng.random() < 0.12 else "numpy")
    shown = ", ".join(f"{k}={_short(x)}" for k, x in given.items())
    return f"{call.name}({shown})", lambda: call.function(**given)


def _short(x: Any) -> str:
    try:
        text = " ".join(repr(x).split())
    except Exception as e:  # whatever an odd thing does where it is shown
        text = f"<{type(x).__name__}: {type(e).__name__}>"
    return text if len(text) < 160 else f"{text[:160]}…"


def outcome(do: Callable[[], Any]) -> str | None:
    """What is wrong with how a case ended, or None."""
    from linkwise.errors import LinkwiseError

    begun = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            do()
    except LinkwiseError:
        pass
    except BaseException as e:
        through = traceback.extract_tb(e.__traceback__)
        if not (isinstance(e, TypeError) and COUNTED.search(str(e)) and len(through) <= 4):
            ours = [f for f in through if "linkwise" in f.filename] or through[-1:]
            place = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(ours[-3:]))
            return f"{type(e).__name__}: {' '.join(str(e).split())[:200]} (at {place})"
    spent = time.process_time() - begun
    return f"took {spent:.0f} s" if spent > SLOW else None


# --- in a process of its own ---------------------------------------------------------------------------------


def child(first: int, cases: int, seed: int, only: str | None, folder: Path) -> None:
    """Run cases; every number is said before, every trouble after."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except (ImportError, ValueError, OSError):  # Windows has none, macOS does not keep to it
        pass
    os.environ.setdefault("LINKWISE_TARGET", "numpy")
    for number in range(first, cases):
        print(number, flush=True)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, HANGS)  # without a handler it ends the process
        words, do = case(number, seed, only, folder)
        wrong = outcome(do)
        if wrong:
            print(json.dumps({"case": number, "what": words, "wrong": wrong}), flush=True)


def troubles(cases: int, seed: int = 0, only: str | None = None, first: int = 0) -> list[dict[str, Any]]:
    """What went wrong, case by case; crashes and hangs included."""
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        while first < cases:
            options = [f"--cases={cases}", f"--seed={seed}", f"--child={first}", f"--folder={folder}"]
            options += [] if only is None else [f"--only={only}"]
            command = [sys.executable, str(HERE / "run.py"), *options]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                at = -1
                for line in process.stdout or ():
                    if line.startswith("{"):
                        found.append(json.loads(line))
                    elif line.strip().isdigit():
                        at = int(line)
                complaint = (process.stderr.read() if process.stderr else "")[-2000:]
            if process.returncode == 0:
                break
            ended = f"signal {-process.returncode}" if process.returncode < 0 else f"exit {process.returncode}"
            found.append({"case": at, "what": "", "wrong": f"the process ended: {ended}; {complaint}"})
            if at < 0:  # before its first case: none can be run
                break
            first = at + 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="calls, files, an ending such as nc, or part of a call's name")
    parser.add_argument("--case", type=int)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    sys.path[:0] = [str(HERE)]
    if asked.child is not None:
        child(asked.child, asked.cases, asked.seed, asked.only, asked.folder)
        return 0
    if asked.case is not None:
        with tempfile.TemporaryDirectory() as folder:
            words, do = case(asked.case, asked.seed, asked.only, Path(folder))
            print(words)
            print(do())
        return 0
    found = troubles(asked.cases, asked.seed, asked.only)
    for x in found:
        print(f"case {x['case']}: {x['what']}\n    {x['wrong']}")
    print(f"{asked.cases} cases, {len(found)} in trouble")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
