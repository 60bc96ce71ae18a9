"""Shows that a long call goes on: a line that is rewritten in place, in notebooks only. On a terminal the library
shows its own. Called by the compiled part."""

from __future__ import annotations

import sys
from typing import Any

# A notebook that shows what is over in a moment only flickers.
_PATIENCE_S = 1.0

_shown: list[Any] = []


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


def show(label: str, seconds: float) -> None:
    """Shows `label` and how long it has taken."""
    if seconds < _PATIENCE_S or not _in_notebook():
        return
    from IPython.display import display

    line = {"text/plain": f"lumos: {label}, {seconds:.0f} s"}
    if _shown:
        _shown[0].update(line, raw=True)
    else:
        _shown.append(display(line, raw=True, display_id=True))


def end() -> None:
    """Takes the line away."""
    if _shown:
        _shown.pop().update({"text/plain": ""}, raw=True)
