"""A notebook with its outputs as a page of the site."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def page(notebook: Path, pictures: Path) -> str:
    """Its cells as Markdown; pictures of outputs go into a folder."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return (
        "\n\n".join(part for i, cell in enumerate(cells) for part in _cell(cell, f"{notebook.stem}_{i}", pictures))
        + "\n"
    )


def _cell(cell: dict[str, Any], name: str, pictures: Path) -> Iterator[str]:
    source = "".join(cell["source"]).rstrip()
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for k, output in enumerate(cell["outputs"]):
        yield _output(output, f"{name}_{k}.png", pictures)


def _output(output: dict[str, Any], name: str, pictures: Path) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = output["data"]
    if "text/html" in data:
        # Formulas of notebooks stand between dollars, those of the site in places of their own.
        text = "".join(data["text/html"])
        parts = text.split("$$")
        for i in range(1, len(parts), 2):
            parts[i] = f'<div class="formula display">{parts[i]}</div>'
        text = "".join(parts)
        parts = text.split("$")
        if len(parts) % 2:
            for i in range(1, len(parts), 2):
                parts[i] = f'<span class="formula">{parts[i]}</span>'
            text = "".join(parts)
        return f'```{{raw}} html\n<div class="output">{text}</div>\n```'
    if "image/png" in data:
        (pictures / name).write_bytes(base64.b64decode("".join(data["image/png"])))
        size = output.get("metadata", {}).get("image/png", {}).get("width")
        width = f"\n:width: {size}px" if size else ""
        return f"```{{image}} pictures/{name}\n:alt: what the cell shows{width}\n```"
    return f"```text\n{''.join(data['text/plain']).rstrip()}\n```"
