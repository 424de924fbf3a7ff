"""Files of motions: a still (.png), an animation (.gif, .webp, .mp4), a page that plays it (.html)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, InputError
from ..extras import require
from ..progress import Progress
from ..whole_files import refuse_unwritable, write_through
from .motion import Motion
from .pictures import Studio
from .scene import Scene

KINDS = (".png", ".gif", ".webp", ".mp4", ".html")
RATES = {
    ".gif": 25.0
}  # pictures a second: browsers show a picture of a .gif for whole hundredths of a second, at least 2


def save(
    path: str | os.PathLike[str],
    motion: Motion,
    scene: Scene,
    show: Sequence[str],
    size: tuple[int, int],
    rate: float | None,
    time: float,
) -> Path:
    """Write the file whole or not at all; its ending says what it is."""
    target = checked(path)
    rate = RATES.get(target.suffix.lower(), 30.0) if rate is None else rate
    if rate <= 0 or min(size) < 16:
        raise InputError(f"rate must be positive and size at least 16 × 16 pixels, got {rate:g} and {size}")
    kind = target.suffix.lower()
    if kind == ".html":
        from .page import page

        text = page(scene, motion, show, rate)
        return write(target, lambda part: part.write_text(text, encoding="utf-8"))
    studio = Studio(scene, motion, tuple(show), size[0] / size[1])
    if kind == ".png":
        require("PIL", "plot", "writing pictures")
        image = _with_key(next(studio.pictures([motion.index(time)], *size)), studio.key)
        return write(target, lambda part: _picture(image).save(part, format="PNG", optimize=True))
    steps = motion.every(rate)
    frames = _told((_with_key(x, studio.key) for x in studio.pictures(steps, *size)), len(steps))
    seconds = np.diff(motion.time[steps], append=motion.time[steps[-1]] + 1.0 / rate)
    if kind == ".mp4":
        return write(target, lambda part: _write_video(part, frames, size, rate))
    return write(target, lambda part: _write_animation(part, kind, frames, seconds))


def _told(frames: Iterator[np.ndarray], count: int) -> Iterator[np.ndarray]:
    """The pictures, with a bar for who waits for them."""
    with Progress(count, "pictures") as bar:
        for frame in frames:
            yield frame
            bar.advance(1)


def checked(path: str | os.PathLike[str]) -> Path:
    """The path, or an error before any work is done."""
    target = Path(path)
    if target.suffix.lower() not in KINDS:
        raise FileError(f"cannot write {target}: its ending must be one of {', '.join(KINDS)}")
    refuse_unwritable(target)
    if target.suffix.lower() == ".mp4" and shutil.which("ffmpeg") is None:
        raise FileError(f"cannot write {target}: .mp4 files need the program ffmpeg; install it, or write a .gif")
    return target


def write(target: Path, writer: Any) -> Path:
    """Let ``writer`` fill a file beside ``target``, then give it its name."""
    write_through(target, writer)
    return target


def _picture(image: np.ndarray) -> Any:
    from PIL import Image

    return Image.fromarray(image)


def _with_key(image: np.ndarray, key: Mapping[str, Sequence[float]]) -> np.ndarray:
    """The picture with a line of words in the colour of what each stands for, one below the other."""
    if not key:
        return image
    require("PIL", "plot", "the key of a picture")
    from PIL import ImageDraw, ImageFont

    picture = _picture(image)
    draw, high = ImageDraw.Draw(picture), max(9, len(image) // 30)
    font = ImageFont.load_default(size=high)
    for i, (words, colour) in enumerate(key.items()):
        fill = tuple(round(255 * x) for x in colour[:3])
        top = round((0.6 + 1.35 * i) * high)
        draw.rectangle((0.6 * high, top + 0.15 * high, 1.4 * high, top + 0.95 * high), fill=fill)
        draw.text((1.9 * high, top), words, fill=fill, font=font)
    return np.asarray(picture)


def _write_animation(part: Path, kind: str, frames: Iterator[np.ndarray], seconds: np.ndarray) -> None:
    require("PIL", "plot", "writing animations")
    images = [_picture(f) for f in frames]
    milliseconds = [max(20, round(1000 * s)) for s in seconds]
    common = {"save_all": True, "duration": milliseconds, "loop": 0}
    if kind == ".webp":
        images[0].save(part, format="WEBP", append_images=images[1:], quality=80, **common)
        return
    # One palette for all pictures, so that nothing flickers and still parts cost no bytes.
    palette = _shared_palette(images)
    flat = [i.quantize(palette=palette, dither=0) for i in images]
    flat[0].save(part, format="GIF", append_images=flat[1:], optimize=False, disposal=1, **common)


def _shared_palette(images: list[Any]) -> Any:
    from PIL import Image

    chosen = images[:: max(1, len(images) // 8)]
    sheet = Image.new("RGB", (chosen[0].width, chosen[0].height * len(chosen)))
    for i, image in enumerate(chosen):
        sheet.paste(image, (0, i * image.height))
    return sheet.quantize(colors=255)


def _write_video(part: Path, frames: Iterator[np.ndarray], size: tuple[int, int], rate: float) -> None:
    width, height = size
    command = ["ffmpeg", "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-s", f"{width}x{height}", "-r", f"{rate:g}", "-i", "-", "-pix_fmt", "yuv420p"]
    # Nearly lossless, in what every browser plays, with the table of contents first, so that it starts at once.
    command += ["-c:v", "libx264", "-crf", "18", "-preset", "slow", "-movflags", "+faststart"]
    command += ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", str(part)]
    made = subprocess.run(command, input=b"".join(f.tobytes() for f in frames), capture_output=True, check=False)
    if made.returncode:
        raise FileError(f"ffmpeg could not write the video: {made.stderr.decode(errors='replace').strip()[-300:]}")
