"""Break real jobs in known ways, and judge whether their logs tell who failed first.

    python bench/faults OUT                          run every fault under every launcher it fits, judge, print the table
    python bench/faults OUT --only kill --runs 5     one fault (or one launcher, or fault/launcher), five seeds
    python bench/faults OUT --judge                  judge the runs that are there already
    python bench/faults OUT --resume                 leave runs alone that are there already, run the others

Running needs a Python with torch (and transformers and lightning for two of the launchers); judging needs denpex_rules only.
Exit status 1 when an innocent is named.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from run import Run, execute
from score import judge_all

from faults import FAULTS, LAUNCHERS

NEEDS = {"trainer": "transformers", "lightning": "lightning", "lightning_alone": "lightning"}


def plan(options: argparse.Namespace) -> Iterator[Run]:
    """Every run that the options ask for, a whole round of one seed after the other."""
    for seed in range(options.seed, options.seed + options.runs):
        for launcher in LAUNCHERS:
            for fault, spec in FAULTS.items():
                name = f"{fault}/{launcher}"
                if launcher in spec.launchers and (not options.only or {fault, launcher, name} & set(options.only)):
                    yield Run(fault, launcher, seed, options.out / f"{fault}-{launcher}-{seed}")


def lacking(runs: list[Run]) -> list[str]:
    """What must be installed first."""
    needed = {"torch"} | {NEEDS[run.launcher] for run in runs if run.launcher in NEEDS}
    return sorted(name for name in needed if importlib.util.find_spec(name) is None)


def main() -> int:
    """Run and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder of the runs")
    parser.add_argument("--only", action="append", metavar="NAME", help="a fault, a launcher, or fault/launcher (may be repeated)")
    parser.add_argument("--runs", type=int, default=1, help="seeds of each fault and launcher")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--judge", action="store_true", help="run nothing")
    parser.add_argument("--resume", action="store_true", help="run only what is not there yet")
    parser.add_argument("--verbose", action="store_true", help="tell every answer that is not right")
    options = parser.parse_args()
    options.out = options.out.resolve()
    runs = list(plan(options))
    if not options.judge:
        if missing := lacking(runs):
            parser.error(f"not installed: {', '.join(missing)}")
        for run in runs:
            if options.resume and (run.folder / "truth.json").exists():
                continue
            began = time.monotonic()
            truth = execute(run)
            print(f"{run.folder.name} {time.monotonic() - began:.0f}s {json.dumps(truth['exit_codes'])}", flush=True)
    return judge_all([run.folder for run in runs if (run.folder / "truth.json").exists()], verbose=options.verbose)


if __name__ == "__main__":
    sys.exit(main())
