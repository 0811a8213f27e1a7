"""One log read ahead of the scan by another thread: what it looks through next, while the scan takes what it has.

Reading, unpacking and Hyperscan leave other threads alone, and so does the compiled code that takes lines.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from queue import Empty, Queue
from typing import Final

from attrs import frozen

DEPTH: Final = 2  # chunks that wait

Look = Callable[[bytes], object]
Chunk = tuple[bytes, object]


@frozen
class _End:
    """The last thing that a reader hands over: what ended it, None where the chunks did."""

    error: BaseException | None


def read_ahead(chunks: Generator[bytes], look: Look | None) -> Generator[Chunk]:
    """Yield chunks and what a look at each gives, both made in another thread. What that raises is raised here.

    Args:
        chunks: are read, and closed, by that thread.
        look: is called there with each; None: there is nothing to look for.
    """
    waiting: Queue[Chunk | _End] = Queue(DEPTH)
    left = threading.Event()
    reader = threading.Thread(target=_read, args=(chunks, look, waiting, left), name="denpex read-ahead", daemon=True)
    reader.start()
    try:
        while not isinstance(found := waiting.get(), _End):
            yield found
        if found.error is not None:
            raise found.error
    finally:
        left.set()
        while reader.is_alive():  # it may wait for room
            _drain(waiting)
            reader.join(0.01)


def _read(chunks: Generator[bytes], look: Look | None, waiting: Queue[Chunk | _End], left: threading.Event) -> None:
    error = None
    try:
        for chunk in chunks:
            waiting.put((chunk, look(chunk) if look is not None else None))
            if left.is_set():
                break
        chunks.close()
    except BaseException as raised:  # noqa: BLE001  # it is raised again, in the thread that asked
        error = raised
    waiting.put(_End(error))


def _drain(waiting: Queue[Chunk | _End]) -> None:
    try:
        while True:
            waiting.get_nowait()
    except Empty:
        return
