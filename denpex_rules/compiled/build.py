"""Builds `plain` when the package is built. Where that fails, for want of a compiler say, the package does without.

A hook of the build backend, which runs it in an environment with Cython and setuptools; see `[tool.hatch.build.hooks.custom]`.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from Cython.Build import cythonize
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from setuptools import Distribution, Extension

FLAGS = ["-O3", "-g0", "-std=c++17", "-D_GLIBCXX_ASSERTIONS"]


class CompiledHook(BuildHookInterface[Any]):
    """Adds the compiled module to a wheel, or puts it beside the sources of an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the module, and say so to the backend; only warn where it can't be built."""
        package = Path(self.root) / "denpex_rules"
        self._folder = tempfile.mkdtemp()
        module = compiled(package / "compiled", Path(self._folder))
        if module is None:
            self.app.display_warning("there is no working C++ compiler: built without compiled code, so scans will be slower")
        elif version == "editable":
            beside = package / f".{module.name}"  # then moved: a process that runs keeps the old one
            shutil.copy(module, beside)
            beside.replace(package / module.name)
        else:
            build_data["force_include"][str(module)] = f"denpex_rules/{module.name}"
            build_data["pure_python"] = False
            build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built on the way."""
        del version, build_data, artifact_path
        shutil.rmtree(self._folder, ignore_errors=True)


def compiled(sources: Path, into: Path) -> Path | None:
    """Build the module and return its path; None where that fails, which the compiler's own messages explain.

    Args:
        sources: the folder of its sources.
        into: where all files go that are made.
    """
    extension = Extension("denpex_rules.plain", [str(sources / "plain.pyx")], [str(sources)], language="c++")
    extension.extra_compile_args = FLAGS
    modules: Any = cythonize([extension], build_dir=str(into / "c"), quiet=True)  # type: ignore[no-untyped-call]  # Cython's own
    for module in modules:
        module.optional = True  # a failure is a warning; cythonize drops what the extension says itself
    command = Distribution({"ext_modules": modules}).get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(into / "lib"), str(into / "temp")
    command.ensure_finalized()
    command.run()
    return next((into / "lib").rglob("plain.*"), None)
