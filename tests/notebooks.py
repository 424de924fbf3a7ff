"""Notebooks that run: their cells, and what they print.

    python tests/notebooks.py            run docs/*.ipynb and compare what their cells print
    python tests/notebooks.py --write    run them, and keep what their cells show

What is compared is what readers see as plain text: what a cell prints, and what it ends with where that is no table,
formula or picture.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "docs").glob("*.ipynb"))
BAR = re.compile(r"\s*\[#*\.*\] +\d+ %|compiling ")  # as linkwise.progress draws it
LONGEST = 240  # seconds that a cell may take, on a machine that has other things to do


def executed(path: Path) -> Any:
    """The notebook with what its cells give now; an error in a cell is raised."""
    notebook = nbformat.read(path, as_version=4)
    os.environ.setdefault("IPYTHONDIR", tempfile.gettempdir())
    with tempfile.TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=LONGEST, kernel_name="python3", resources=where).execute()
    for cell in notebook.cells:
        cell.metadata = {}  # times of execution
        if cell.cell_type == "code":
            cell.outputs = [x for x in cell.outputs if not is_progress(x)]
    return notebook


def is_progress(output: Any) -> bool:
    """Whether it is a bar of what takes more than a second, as anything may where others are at work."""
    text = output.get("data", {}).get("text/plain")
    return output["output_type"] == "display_data" and text is not None and (not text.strip() or bool(BAR.match(text)))


def texts(notebook: Any) -> list[str]:
    """The plain text that each cell of code gives; addresses of things in memory do not count."""
    out = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            parts = [x["text"] if "text" in x else _plain(x["data"]) for x in cell.outputs]
            out.append(re.sub(r" at 0x[0-9a-f]+", "", "\n".join(parts)).strip())
    return out


def _plain(data: Any) -> str:
    """The text of what a cell ends with, where it is shown as that."""
    return "" if len(data) > 1 else str(data.get("text/plain", ""))


def main() -> int:
    wrong = []
    for path in NOTEBOOKS:
        found = executed(path)
        if "--write" in sys.argv[1:]:
            nbformat.write(found, path)
        before = texts(nbformat.read(path, as_version=4))
        for i, (shown, given) in enumerate(zip(before, texts(found)), start=1):
            if shown != given:
                wrong.append(f"{path.name}, cell {i}: it gives\n{given}\nbut the notebook shows\n{shown}")
    print("\n\n".join(wrong) or f"{len(NOTEBOOKS)} notebooks agree with their code")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
