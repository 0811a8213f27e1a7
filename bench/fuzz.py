"""Scans damaged logs for as long as is asked, and says which seeds fail.

    python bench/fuzz.py SECONDS [FIRST_SEED]

A seed fails when scanning raises, takes more than 20 s, gives a report outside the schema, or differs between whole and pieces.
At the end seeds are named that took more than 10 times as long as the median of their size, and the peak memory is checked.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
import traceback
from pathlib import Path
from statistics import median

import jsonschema

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from denpex_rules import Program, Session, compile_rules, load_pack, scan_bytes
from denpex_rules.schema import report_schema, to_json
from noise import noise

SLOW_S = 20
LIMIT_MB = 300
TIMES = 10  # as slow as this many medians of its size no input may be
SHORT_S = 0.2  # what ends sooner is not measured: a pause of the machine would decide


def attempt(seed: int, program: Program, validator: jsonschema.Draft202012Validator) -> str:
    """Scan the logs of one seed and return what is wrong, "" when nothing is."""
    chance = random.Random(seed)
    logs = noise(chance)
    return scanned(chance, logs, program, validator)


def size_of(seed: int) -> int:
    """Return in which power of two the size of a seed's logs lies."""
    return sum(map(len, noise(random.Random(seed)).values())).bit_length()


def slowest(taken: dict[int, float]) -> list[str]:
    """Say which seeds were much slower than others of their size."""
    by_size: dict[int, list[int]] = {}
    for seed in taken:
        by_size.setdefault(size_of(seed), []).append(seed)
    found = []
    for size, seeds in by_size.items():
        usual = median(taken[seed] for seed in seeds)
        found += [
            f"seed {seed}: {taken[seed]:.2f} s, {usual:.2f} s is usual for 2^{size} bytes"
            for seed in seeds
            if taken[seed] > max(TIMES * usual, SHORT_S)
        ]
    return found


def scanned(chance: random.Random, logs: dict[str, bytes], program: Program, validator: jsonschema.Draft202012Validator) -> str:
    """Scan logs whole and in pieces and return what is wrong, "" when nothing is."""
    begun = time.process_time()
    try:
        whole = scan_bytes(logs, program)
        session = Session(program)
        for name, data in logs.items():
            start = 0
            session.feed(name, b"")
            while start < len(data):
                size = chance.choice((1, 13, 400, 70_000))
                session.feed(name, data[start : start + size])
                start += size
        pieced = session.close()
        validator.validate(json.loads(to_json(whole)))
    except Exception:  # noqa: BLE001 - finding any of them is what this is for
        return traceback.format_exc(limit=-4)
    if pieced != whole:
        return "whole and in pieces it says different things"
    seconds = time.process_time() - begun
    return f"took {seconds:.0f} s" if seconds > SLOW_S else ""


def arguments() -> argparse.Namespace:
    """Read the command line."""
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=float)
    parser.add_argument("first_seed", type=int, nargs="?", default=0)
    return parser.parse_args()


def main() -> int:
    """Run until the time is up; the exit code says whether every seed was well."""
    asked = arguments()
    seconds, seed = asked.seconds, asked.first_seed
    program, validator = compile_rules(load_pack()), jsonschema.Draft202012Validator(report_schema())
    first, failed, end = seed, 0, time.monotonic() + seconds
    taken: dict[int, float] = {}
    while time.monotonic() < end:
        begun = time.process_time()
        wrong = attempt(seed, program, validator)
        taken[seed] = time.process_time() - begun
        if wrong:
            failed += 1
            print(f"seed {seed}: {wrong}", flush=True)
        seed += 1
    slow = slowest(taken)
    print("".join(f"slow: {text}\n" for text in slow), end="")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{seed - first} seeds, {failed} failed, {len(slow)} slow, {peak:.0f} MB at most")
    return int(failed > 0 or bool(slow) or peak > LIMIT_MB)


if __name__ == "__main__":
    sys.exit(main())
