"""The template of a rule pack for others: a package whose entry point `rulecheck` finds, one rule with its cases, and CI."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from denpex_rules import __version__
from denpex_rules.errors import UsageError
from denpex_rules.library import SHIPPED

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")


def write(folder: Path, name: str) -> tuple[Path, ...]:
    """Write the template of a rule pack, and return its files.

    Args:
        folder: where to; made where it does not exist.
        name: the pack's name; what makes no name is left out of it, and `rules` at its end.

    Raises:
        UsageError: the folder holds something already, or the name is none.
    """
    pack = pack_name(name)
    if folder.exists() and (not folder.is_dir() or any(p.name != ".git" for p in folder.iterdir())):
        raise UsageError(f"{folder} exists and is not empty: a template is written to a folder of its own")
    written = []
    for place, text in files(pack).items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        written.append(path)
    return tuple(written)


def pack_name(text: str) -> str:
    """Return the pack's name that a text gives: `Acme Rules` is `acme`. Raises UsageError where it gives none."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    name = re.sub(r"(?:_?rules?|_pack)$", "", name) or name
    if not _NAME.fullmatch(name) or name == SHIPPED:
        raise UsageError(f"--name: {text!r} gives no name for a pack; write a word of lower-case letters, such as acme")
    return name


def files(pack: str) -> Mapping[str, str]:
    """Return the files of the template by place. In their texts `@` is the pack's name, `@_rules` its package."""
    version = ".".join(__version__.split(".")[:2])
    return {
        place.replace("@", pack): _filled(text, {"@VERSION": version, "@-": f"{pack.replace('_', '-')}-", "@": pack, "(at)": "@"})
        for place, text in _FILES.items()
    }


def _filled(text: str, values: Mapping[str, str]) -> str:
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text


# The text of every file. `(at)` stands for the sign itself.
_PYPROJECT: Final = """\
[build-system]
requires = ["hatchling>=1.26"]
build-backend = "hatchling.build"

[project]
name = "@-rules"
version = "0.1.0"
description = "Rules of @ for denpex_rules."
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["denpex-rules>=@VERSION"]

[project.optional-dependencies]
dev = ["pytest>=8"]

# Once this package is installed, its rules are `@:` to rulecheck.
[project.entry-points."denpex_rules.packs"]
@ = "@_rules"

[tool.hatch.build.targets.wheel]
packages = ["@_rules"]

# What `rulecheck` alone checks and tests; under pytest each case is a test.
[tool.rulecheck]
rules = ["@_rules"]
cases = ["cases"]

[tool.pytest.ini_options]
testpaths = ["cases"]
"""

_README: Final = """\
# @-rules

Rules of @ for [denpex_rules](https://pypi.org/project/denpex-rules/): which rank, host and device of a failed job failed first.

```bash
python3 -m venv .venv && . .venv/bin/activate
pip install -e '.[dev]'
rulecheck          # checks the rules and runs the cases
pytest             # runs the cases, one test each
```

Installed, the rules are used with `rulecheck scan LOGS --rules @:`, and `rulecheck list @` shows them.

| folder | holds |
|---|---|
| `@_rules/` | the rules; a rule's path is its name: `@_rules/storage/broken_shard.rule` is `storage.broken_shard` |
| `@_rules/taxonomy.toml` | root-cause classes of your own, beside the shipped ones |
| `cases/` | logs, and beside them in `case.toml` what must be said about them |

A new rule starts from the lines of a failure:

```bash
rulecheck new --from LOG:LINE --not HEALTHY_LOG:LINE
```

Each rule has at least one case that it must recognise and one near miss that it must stay quiet on. Invent the content of logs
that you publish: keep the shape of the lines and change names, addresses and paths.
"""

_TAXONOMY: Final = """\
# Classes that the shipped ones lack. A class says what must be true, not which line was seen.
version = 1

[[class]]
id = "@.broken_shard"
title = "A shard of the data set is broken"
definition = "A file of the data set can be read, and what it holds is not what was written."
layer = "storage"
role = "cause"
scope = "rank"
accuse = "printer"
signals = []
"""

_RULE: Final = """\
language 1

use lib.c10d.timeout, lib.progress.step as progress

rule storage.broken_shard {
  title   "A rank gave up on a broken shard and its peers waited for it"
  class   @.broken_shard
  status  preview since "0.1"
  tags    data, checksum
  causes  collective.timeout, launcher.worker_failed

  event broken error in rank
    "shard {file:path}: checksum mismatch, giving up"
    like   "shard /data/shard-0042.bin: checksum mismatch, giving up"
    unlike "shard /data/shard-0042.bin: checksum mismatch, reading it again"

  per job within 1h
  require broken
  confirm timeout   where rank != broken.rank  stalled between broken - 1m and broken + 1m
  refute  progress  where rank == broken.rank  after broken + 5s

  blame   rank broken.rank
  onset   broken
  reporter timeout.rank

  why     "Rank {broken.rank} stopped reading {broken.file} and never joined the next collective."
  do      "Restore {broken.file} from its source and compare its checksum."
  verify  "sha256sum SHARD_FILE" on broken.host
}
"""

_HIT: Final = """\
says       = "rank 5 gives up on a broken shard; rank 0 only reports the timeout"
rule       = "storage.broken_shard"
outcome    = "confirmed"
initiators = [{ rank = 5, certainty = "certain" }]
first      = "rank5.log:3"
innocent   = [{ rank = 0 }]
"""

_HIT_RANK0: Final = """\
2026-11-30 10:04:00,112 INFO [train.py:60] step 811 loss 2.1034
2026-11-30 10:04:10,120 INFO [train.py:60] step 812 loss 2.1029
2026-11-30 10:14:12,310 ERROR [train.py:88] [rank0] Watchdog caught collective operation timeout: \
WorkNCCL(SeqNum=8412, OpType=ALLREDUCE) ran for 600000 milliseconds before timing out
"""

_HIT_RANK5: Final = """\
2026-11-30 10:04:00,098 INFO [train.py:60] step 811 loss 2.1034
2026-11-30 10:04:10,101 INFO [train.py:60] step 812 loss 2.1029
2026-11-30 10:04:12,455 ERROR [loader.py:31] shard /data/shard-0042.bin: checksum mismatch, giving up
"""

_NEAR: Final = """\
says    = "the shard was read again and the rank went on"
rule    = "storage.broken_shard"
outcome = "quiet"
"""

_NEAR_RANK5: Final = """\
2026-11-30 10:04:10,101 INFO [train.py:60] step 812 loss 2.1029
2026-11-30 10:04:12,455 ERROR [loader.py:31] shard /data/shard-0042.bin: checksum mismatch, reading it again
2026-11-30 10:04:20,133 INFO [train.py:60] step 813 loss 2.1021
"""

_WORKFLOW: Final = """\
name: rules
on: [push, pull_request]
jobs:
  rules:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout(at)v4
      - uses: actions/setup-python(at)v5
        with:
          python-version: "3.12"
      - run: pip install -e '.[dev]'
      - run: rulecheck fmt --check @_rules
      - run: rulecheck check --strict
      - run: pytest
"""

_HOOKS: Final = """\
# pre-commit install
repos:
  - repo: local
    hooks:
      - id: rulecheck-fmt
        name: canonical layout of rules
        entry: rulecheck fmt
        language: python
        additional_dependencies: ["denpex-rules>=@VERSION"]
        files: \\.rule$
      - id: rulecheck
        name: check the rules and run the cases
        entry: rulecheck
        language: python
        additional_dependencies: ["denpex-rules>=@VERSION"]
        files: \\.rule$|^cases/
        pass_filenames: false
"""

_IGNORED: Final = """\
.venv/
dist/
__pycache__/
.pytest_cache/
"""

_FILES: Final[Mapping[str, str]] = {
    "pyproject.toml": _PYPROJECT,
    "README.md": _README,
    "@_rules/__init__.py": '"""Rules of @ for denpex_rules."""\n',
    "@_rules/taxonomy.toml": _TAXONOMY,
    "@_rules/storage/broken_shard.rule": _RULE,
    "cases/storage/broken_shard/hit/case.toml": _HIT,
    "cases/storage/broken_shard/hit/rank0.log": _HIT_RANK0,
    "cases/storage/broken_shard/hit/rank5.log": _HIT_RANK5,
    "cases/storage/broken_shard/near_miss/case.toml": _NEAR,
    "cases/storage/broken_shard/near_miss/rank5.log": _NEAR_RANK5,
    ".github/workflows/rules.yml": _WORKFLOW,
    ".pre-commit-config.yaml": _HOOKS,
    ".gitignore": _IGNORED,
}
