#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs commands in a terminal of their own and draws its last screen as an SVG.

    tools/picture.py docs/pictures/run.svg 'longship run examples/digits/job.toml'

Needs Debian's python3-pyte. Pictures in docs/ are made by this and by nothing else, so that they cannot lie.
"""
import argparse
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from html import escape

import pyte

COLOURS = {
    "default": "#d5dde0", "black": "#4b5a60", "red": "#f07178", "green": "#a5d66a", "brown": "#f2c06b",
    "blue": "#7fb4f5", "magenta": "#cf9af5", "cyan": "#6fd3d3", "white": "#f4f7f8",
}
BACKGROUND = "#14242b"
CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.43, 19, 16


def run(commands: list[str], columns: int, lines: int) -> pyte.Screen:
    """The screen after each command has been typed and has ended."""
    screen = pyte.Screen(columns, lines)
    stream = pyte.ByteStream(screen)
    for command in commands:
        stream.feed(b"\033[32m$\033[0m \033[1m" + command.encode() + b"\033[0m\r\n")
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        with subprocess.Popen(["bash", "-c", command], stdin=theirs, stdout=theirs, stderr=theirs,
                              env={**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns)}) as process:
            os.close(theirs)
            while True:
                try:
                    data = os.read(ours, 65536)
                except OSError:  # EIO: the other end is closed
                    break
                stream.feed(data)
            os.close(ours)
        if process.returncode != 0:
            sys.exit(f"{command}: exited with code {process.returncode}")
    return screen


def runs_of_equal_style(row, columns: int):
    """(first column, text, character) for stretches that look alike."""
    start = 0
    for column in range(1, columns + 1):
        same = column < columns and (row[column].fg, row[column].bold) == (row[start].fg, row[start].bold)
        if not same:
            yield start, "".join(row[i].data for i in range(start, column)), row[start]
            start = column


def unbroken(text: str) -> str:
    """Browsers show several spaces as one, whatever xml:space says."""
    return text.replace(" ", "\u00a0")


def draw(screen: pyte.Screen) -> str:
    used = [y for y in range(screen.lines) if any(screen.buffer[y][x].data.strip() for x in range(screen.columns))]
    height = (used[-1] + 1 if used else 1) * CELL_HEIGHT + 2 * MARGIN
    width = screen.columns * CELL_WIDTH + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-size="14" '
        'font-family="ui-monospace, DejaVu Sans Mono, Menlo, monospace" xml:space="preserve">',
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
    ]
    for y in used:
        for column, text, style in runs_of_equal_style(screen.buffer[y], screen.columns):
            if not text.strip():
                continue
            colour = COLOURS.get(style.fg, f"#{style.fg}" if len(style.fg) == 6 else COLOURS["default"])
            weight = ' font-weight="bold"' if style.bold else ""
            x, baseline = MARGIN + column * CELL_WIDTH, MARGIN + y * CELL_HEIGHT + 14
            length = len(text.rstrip()) * CELL_WIDTH
            parts.append(f'<text x="{x:.1f}" y="{baseline}" fill="{colour}"{weight} textLength="{length:.1f}" '
                         f'lengthAdjust="spacingAndGlyphs">{unbroken(escape(text.rstrip()))}</text>')
    parts.append("</svg>\n")
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", help="the SVG to write")
    parser.add_argument("commands", nargs="+", help="what is typed, one after the other")
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--lines", type=int, default=60)
    words = parser.parse_args()
    with open(words.picture, "w", encoding="utf-8") as file:
        file.write(draw(run(words.commands, words.columns, words.lines)))


if __name__ == "__main__":
    main()
