"""Draws a terminal's screen as SVG: reads what "tmux capture-pane -ep" prints, writes one file.

With --light, the default colours are those of a light terminal."""

import re
import sys
import unicodedata
from xml.sax.saxutils import escape

CELL, LINE, MARGIN = 8.4, 18, 12
LIGHT = "--light" in sys.argv
INK, PAPER = ("#24292f", "#ffffff") if LIGHT else ("#d7dae0", "#1c1e26")
BASE = ["#1c1e26", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0"]
BRIGHT = ["#6b7280", "#ff7a85", "#b5e890", "#ffd68a", "#7cc4ff", "#e29bff", "#7fe0ea", "#ffffff"]


def indexed(n):
    """The colour of an index of 256."""
    if n < 16:
        return (BASE + BRIGHT)[n]
    if n >= 232:
        return "#" + f"{8 + 10 * (n - 232):02x}" * 3
    n -= 16
    return "#" + "".join(f"{0 if c == 0 else 55 + 40 * c:02x}" for c in (n // 36, n // 6 % 6, n % 6))


class Pen:
    """How letters are drawn from here on."""

    def __init__(self):
        self.ink, self.ground, self.bold, self.faint, self.underline, self.inverse = None, None, False, False, False, False

    def take(self, codes):
        codes = [int(c or 0) for c in codes.split(";")]
        while codes:
            c = codes.pop(0)
            if c in (38, 48):
                if codes.pop(0) == 5:
                    colour = indexed(codes.pop(0))
                else:
                    colour = "#" + "".join(f"{codes.pop(0):02x}" for _ in range(3))
                self.ink, self.ground = (colour, self.ground) if c == 38 else (self.ink, colour)
            elif c == 0:
                self.__init__()
            elif c == 1:
                self.bold = True
            elif c == 2:
                self.faint = True
            elif c == 4:
                self.underline = True
            elif c == 7:
                self.inverse = True
            elif c == 22:
                self.bold = self.faint = False
            elif c == 24:
                self.underline = False
            elif c == 27:
                self.inverse = False
            elif 30 <= c <= 37 or 90 <= c <= 97:
                self.ink = (BASE if c < 90 else BRIGHT)[c % 10]
            elif 40 <= c <= 47 or 100 <= c <= 107:
                self.ground = (BASE if c < 100 else BRIGHT)[c % 10]
            elif c == 39:
                self.ink = None
            elif c == 49:
                self.ground = None


def cells(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def draw(pen, text, column, row):
    """One run of letters: its ground, and its text at its place, as wide as its cells."""
    x, y, width = MARGIN + column * CELL, MARGIN + row * LINE, cells(text) * CELL
    ink, ground = pen.ink or INK, pen.ground
    if pen.inverse:
        ink, ground = ground or PAPER, ink
    out = f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{LINE}" fill="{ground}"/>' if ground else ""
    style = ' font-weight="bold"' * pen.bold + ' opacity="0.65"' * pen.faint + ' text-decoration="underline"' * pen.underline
    for words in re.finditer(r"\S+(?: \S+)*", text):  # not every viewer keeps blanks
        at, width = x + cells(text[: words.start()]) * CELL, cells(words[0]) * CELL
        out += f'<text x="{at:.1f}" y="{y + 13}" textLength="{width:.1f}" fill="{ink}"{style}>{escape(words[0])}</text>'
    return out


def main():
    rows = sys.stdin.read().removesuffix("\n").split("\n")
    out, widest, pen = [], 0, Pen()
    for row, line in enumerate(rows):
        column = 0
        for codes, text in re.findall(r"\x1b\[([\d;]*)m|([^\x1b]+)", line):
            if text:
                out.append(draw(pen, text, column, row))
                column += cells(text)
            else:
                pen.take(codes)
        widest = max(widest, column)
    width, height = 2 * MARGIN + widest * CELL, 2 * MARGIN + len(rows) * LINE
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}"'
          ' font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14">')
    print(f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>')
    print("\n".join(o for o in out if o))
    print("</svg>")


main()
