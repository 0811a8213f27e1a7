"""Scans damaged logs for as long as is asked, and says which seeds fail.

    python bench/fuzz.py SECONDS [FIRST_SEED]

A seed fails when scanning raises, takes more than 20 s, gives a report outside the schema, or differs between whole and pieces.
"""

from __future__ import annotations

import json
import random
import sys
import time
import traceback
from pathlib import Path

import jsonschema

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from denpex_rules import Program, Session, compile_rules, load_pack, scan_bytes
from denpex_rules.schema import report_schema, to_json
from noise import noise

SLOW_S = 20


def attempt(seed: int, program: Program, validator: jsonschema.Draft202012Validator) -> str:
    """Scan the logs of one seed and return what is wrong, "" when nothing is."""
    chance = random.Random(seed)
    logs = noise(chance)
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


def main() -> int:
    """Run until the time is up; the exit code says whether every seed was well."""
    seconds, seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    program, validator = compile_rules(load_pack()), jsonschema.Draft202012Validator(report_schema())
    first, failed, end = seed, 0, time.monotonic() + seconds
    while time.monotonic() < end:
        wrong = attempt(seed, program, validator)
        if wrong:
            failed += 1
            print(f"seed {seed}: {wrong}", flush=True)
        seed += 1
    print(f"{seed - first} seeds, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
