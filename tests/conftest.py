"""Hypothesis profiles: the same examples in every ordinary run, fresh ones when DENPEX_FUZZ is set."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("fuzz", derandomize=False, deadline=None, max_examples=2000)
settings.load_profile("fuzz" if os.environ.get("DENPEX_FUZZ") else "fixed")
