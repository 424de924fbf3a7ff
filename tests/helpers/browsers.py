"""A Chromium for tests: any on the path, or the one that the environment variable LINKWISE_BROWSER names."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from patience import PATIENCE

BROWSER = os.environ.get("LINKWISE_BROWSER") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    *("--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--use-gl=angle", "--use-angle=swiftshader"),
    *("--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"),
]


@contextlib.contextmanager
def started() -> Iterator[Any]:
    """The browser, driven by playwright; the test is skipped where one of them is not there."""
    if BROWSER is None:
        pytest.skip("no browser here: install chromium, or name one in LINKWISE_BROWSER")
    driver = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    with driver.sync_playwright() as p:
        made = p.chromium.launch(executable_path=BROWSER, args=FLAGS, headless=True, timeout=1000 * PATIENCE)
        yield made
        made.close()
