"""What the benchmarks share: where the release build is, tables, and bars that hold or fall short."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/release"
TENSORWRIGHT = BUILD / "tensorwright"


def table(header, rows):
    """Prints rows of text in columns; the first is left-aligned, the others right-aligned."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    for line in lines:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        print("  ".join(cells).rstrip())


class Bars:
    """Collects the verdicts of a benchmark. `finish` ends it: exit code 1 when a bar fell short."""

    def __init__(self):
        self._short = 0

    def at_least(self, name, measured, wanted, unit=""):
        holds = measured >= wanted
        self._short += not holds
        print(
            f"bar {name}: measured {measured:.4g}{unit}, wanted {wanted:g}{unit} or more: "
            f"{'holds' if holds else 'falls short'}",
            flush=True,
        )

    def finish(self):
        sys.exit(1 if self._short else 0)
