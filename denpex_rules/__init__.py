"""Find the rank, host and device that failed first in the logs of a distributed ML job, with proof.

The public names are resolved on first use, so that `import denpex_rules` loads nothing heavy and a program that was
compiled elsewhere runs without the parser.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

__version__ = "0.1.0"

__all__ = [
    "DenpexError",
    "Incident",
    "Options",
    "Program",
    "ProgramError",
    "Report",
    "RuleError",
    "Session",
    "UsageError",
    "__version__",
    "compile_rules",
    "correlate",
    "explain",
    "load_pack",
    "load_paths",
    "load_program",
    "load_text",
    "reason",
    "save_program",
    "scan",
    "scan_bytes",
    "scan_lines",
    "sight",
]

if TYPE_CHECKING:
    from denpex_rules.compiler import compile_rules
    from denpex_rules.engine import Options, Session, correlate, explain, reason, scan, scan_bytes, scan_lines, sight
    from denpex_rules.errors import DenpexError, ProgramError, RuleError, UsageError
    from denpex_rules.finding import Incident, Report
    from denpex_rules.library import load_pack, load_paths, load_text
    from denpex_rules.program import Program, load_program, save_program
else:
    _HOME: Final = {
        name: module
        for module, names in {
            "compiler": ("compile_rules",),
            "engine": ("Options", "Session", "correlate", "explain", "reason", "scan", "scan_bytes", "scan_lines", "sight"),
            "errors": ("DenpexError", "ProgramError", "RuleError", "UsageError"),
            "finding": ("Incident", "Report"),
            "library": ("load_pack", "load_paths", "load_text"),
            "program": ("Program", "load_program", "save_program"),
        }.items()
        for name in names
    }

    def __getattr__(name: str) -> Any:
        """Return a public name from the module that defines it, and keep it."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        """Return the public names."""
        return sorted({*globals(), *__all__})
