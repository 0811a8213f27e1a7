"""What looks for literals in the blocks of one log ahead of the scan, in another thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from denpex_rules.native import Found, compiled_module
from denpex_rules.program import Matcher

FEW_HITS: Final = 256  # in a block, so that looking through it in another thread is worth it
LEAVES: Final = 8  # blocks are not looked through ahead where one has more


def finder(matcher: Matcher) -> Callable[[bytes], Found | None] | None:
    """Return what looks through a block in another thread, ahead of `Native.skim`; None where that gains nothing.

    Args:
        matcher: the events to look for.
    """
    module = compiled_module()
    return None if module is None or matcher.expensive or not matcher.frees_threads else _Finder(module, matcher).look


class _Finder:
    """Looks through blocks in which hits are few: for each hit it takes the interpreter from the thread that takes lines."""

    def __init__(self, module: Any, matcher: Matcher) -> None:
        self._module = module
        self._matcher = matcher
        self._left = 0  # blocks that are left to the other thread

    def look(self, block: bytes) -> Found | None:
        """Return the hits; None where they may be many."""
        if self._left:
            self._left -= 1
            return None
        found = self._module.Found()
        self._matcher.backend.tell(block, found)
        if len(found) > FEW_HITS:
            self._left = LEAVES
        return found
