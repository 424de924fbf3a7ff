"""A robot of many joints in the viewer, in a real browser: what each picture costs the server and the page.

    python benchmarks/viewer.py [--joints 50] [--seconds 6] [--json FILE]

The server's share is the time of one ``viewer.seek`` and the messages it sends. The page's share is taken by
``performance.now()`` around every callback of requestAnimationFrame; calls of WebGL are timed apart, so that what is
left is the update: taking messages in, moving nodes, and three.js deciding what to draw. Pictures a second are those
that the page has really drawn. Needs playwright and a Chromium, as ``tests/view/test_browser.py`` does; without a
graphics card drawing is done in software.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

import linkwise as lw
from linkwise.bench.machine import machine
from linkwise.view import Motion

FLAGS = [
    *("--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--use-gl=angle", "--use-angle=swiftshader"),
    *("--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"),
]
# Times every callback of requestAnimationFrame, and within it every call of WebGL.
WATCH = """
(() => {
  const seen = window.__seen = { frames: [], drawing: 0, draws: 0 };
  for (const name of Object.getOwnPropertyNames(WebGL2RenderingContext.prototype)) {
    const d = Object.getOwnPropertyDescriptor(WebGL2RenderingContext.prototype, name);
    if (typeof d.value !== "function") continue;
    WebGL2RenderingContext.prototype[name] = function (...a) {
      const begun = performance.now();
      const out = d.value.apply(this, a);
      seen.drawing += performance.now() - begun;
      if (name.startsWith("draw")) seen.draws += 1;
      return out;
    };
  }
  const ask = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (f) => ask((t) => {
    const drawing = seen.drawing, draws = seen.draws, begun = performance.now();
    f(t);
    const whole = performance.now() - begun;
    seen.frames.push([begun, whole, seen.drawing - drawing, seen.draws - draws]);
  });
})();
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--joints", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=6.0, help="of watching each page (6)")
    parser.add_argument("--size", type=int, nargs=2, default=(640, 400), help="of the window, in pixels (640 400)")
    parser.add_argument("--browser", default=os.environ.get("LINKWISE_BROWSER") or shutil.which("chromium"))
    parser.add_argument("--json", type=Path, help="write everything here too")
    asked = parser.parse_args()
    motion = swing(lw.chain(asked.joints))
    found: dict[str, Any] = {"joints": asked.joints, "window": list(asked.size)}
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=asked.browser, args=FLAGS, headless=True)
        found["live viewer"] = live(browser, motion, asked)
        found["saved page"] = saved(browser, motion, asked)
        browser.close()
    found["machine"] = machine(["viser", "playwright", "numpy"])
    tell(found)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def swing(robot: lw.Robot, duration: float = 4.0) -> Motion:
    t = np.linspace(0.0, duration, round(100 * duration) + 1)
    rate = np.linspace(1.0, 2.0, robot.nv)
    return Motion(robot, t, 0.4 * np.sin(t[:, None] * rate))


def live(browser: Any, motion: Motion, asked: argparse.Namespace) -> dict[str, Any]:
    with lw.view.open(motion, browser=False, port=0, show=("visuals", "axes", "center_of_mass")) as viewer:
        messages, times = counted(viewer.server), []
        for t in np.linspace(0, motion.duration, 90):
            begun = time.perf_counter()
            viewer.seek(float(t))
            times.append(time.perf_counter() - begun)
        server = {
            "seek_ms": 1e3 * statistics.median(times),
            "seek_ms_slowest_tenth": 1e3 * float(np.quantile(times, 0.9)),
        }
        page = opened(browser, viewer.url, asked)
        viewer.play()
        page.wait_for_timeout(2000)
        shown, sent = viewer.frames_shown, messages()
        begun = time.perf_counter()
        seen = watched(page, asked.seconds)
        pace = (viewer.frames_shown - shown) / (time.perf_counter() - begun)
        server["pictures_a_second_sent"] = pace
        server["messages_a_picture"] = (messages() - sent) / max(1, viewer.frames_shown - shown)
        page.context.close()
    return {"server": server, "page": seen}


def counted(server: Any) -> Any:
    """How many messages a viser server has queued since this was called, as a function to ask."""
    interface, count = server.scene._websock_interface, [0]
    queue = interface.queue_message

    def counting(message: Any) -> None:
        count[0] += 1
        queue(message)

    interface.queue_message = counting
    return lambda: count[0]


def saved(browser: Any, motion: Motion, asked: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.html"
        begun = time.perf_counter()
        lw.view.save(path, motion, rate=30.0)
        written = time.perf_counter() - begun
        page = opened(browser, path.as_uri(), asked)
        page.wait_for_timeout(2000)
        seen = watched(page, asked.seconds)
        page.context.close()
        return {"bytes": path.stat().st_size, "seconds_to_write": written, "page": seen}


def opened(browser: Any, address: str, asked: argparse.Namespace) -> Any:
    width, height = asked.size
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    page.add_init_script(WATCH)
    page.goto(address)
    page.locator("canvas").first.wait_for(timeout=60_000)
    page.wait_for_timeout(4000)  # the scene fades in
    return page


def watched(page: Any, seconds: float) -> dict[str, Any]:
    """Medians over the callbacks that draw, in milliseconds."""
    page.evaluate("() => { window.__seen.frames = [] }")
    page.wait_for_timeout(1000 * seconds)
    seen = page.evaluate("() => window.__seen")
    drawn = [f for f in seen["frames"] if f[3] > 0]
    if not drawn:
        raise SystemExit("the page has drawn nothing")
    whole, gl, calls = (np.array([f[i] for f in drawn]) for i in (1, 2, 3))
    return {
        "pictures_a_second": len(drawn) / seconds,
        "script_ms": float(np.median(whole)),
        "update_ms": float(np.median(whole - gl)),
        "update_ms_slowest_tenth": float(np.quantile(whole - gl, 0.9)),
        "webgl_ms": float(np.median(gl)),
        "draw_calls": float(np.median(calls)),
    }


def tell(found: dict[str, Any]) -> None:
    width, height = found["window"]
    print(f"{found['joints']} joints, {width} x {height} pixels")
    server = found["live viewer"]["server"]
    print(
        f"server      {server['seek_ms']:.1f} ms a picture (slowest tenth {server['seek_ms_slowest_tenth']:.1f}),"
        f" {server['pictures_a_second_sent']:.0f} sent a second, {server['messages_a_picture']:.1f} messages each"
    )
    for name in ("live viewer", "saved page"):
        x = found[name]["page"]
        print(
            f"{name:<11} update {x['update_ms']:.1f} ms (slowest tenth {x['update_ms_slowest_tenth']:.1f}), WebGL"
            f" {x['webgl_ms']:.1f} ms in {x['draw_calls']:.0f} draw calls, {x['pictures_a_second']:.1f} drawn a second"
        )


if __name__ == "__main__":
    main()
