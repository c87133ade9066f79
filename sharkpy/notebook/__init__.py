"""HiveQL in IPython and Jupyter: `%load_ext sharkpy`, then `%sharkql` for a line and `%%sharkql` for a cell.

`%sharkpy console` shows how the last query ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    from sharkpy.notebook.magic import SharkMagics

    shell.register_magics(SharkMagics(shell))


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Unload the magic, and end the session that it opened, if any."""
    magics = shell.magics_manager.registry.pop("SharkMagics", None)
    for kind in ("line", "cell"):
        for name in ("sharkql", "sharkpy"):
            shell.magics_manager.magics[kind].pop(name, None)
    if magics is not None:
        magics.disconnect()
