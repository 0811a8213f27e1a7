"""Follows a job that writes and rotates its logs, kills the follower with SIGKILL at random points, and checks what it delivered.

    python bench/follow.py [KILLS] [SEED]

The last report must have the incidents of one whole scan, and each revision of each incident must have been delivered at least
once, always with the same content.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from denpex_rules import compile_rules, load_pack, save_program
from following import killed_job


def main() -> int:
    """Run once; the exit code says whether nothing was lost."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    program, begun = compile_rules(load_pack()), time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        save_program(program, Path(scratch) / "rules.json")
        found = killed_job(Path(scratch) / "rules.json", program, Path(scratch), kills, seed)
    incidents = [(row["id"], row["revision"]) for row in found.rows if row["type"] == "incident"]
    print(
        f"{found.kills} kills, {found.rotations} rotations, {len(incidents)} deliveries of {len(set(incidents))} revisions "
        f"of {len({name for name, _ in incidents})} incidents in {time.monotonic() - begun:.0f} s"
    )
    for text in found.wrong:
        print(f"wrong: {text}")
    return int(bool(found.wrong))


if __name__ == "__main__":
    sys.exit(main())
