"""Takes the picture out of a run's report.html as a file of its own: report_picture.py REPORT OUT.svg."""

import pathlib
import re
import sys

STYLE = (
    "<style>text{font:11px sans-serif;fill:#444}.grid{stroke:#ddd}circle{fill:#8ab;fill-opacity:.7}"
    ".best{fill:none;stroke:#c40;stroke-width:2}</style>"
)


def main():
    report, out = map(pathlib.Path, sys.argv[1:])
    svg = re.search(r"<svg (.*?)>(.*?)</svg>", report.read_text(), re.S)
    if svg is None:
        sys.exit(f"{report}: has no picture; did the run measure anything?")
    namespace = 'xmlns="http://www.w3.org/2000/svg"'
    white = '<rect width="100%" height="100%" fill="#fff"/>'
    out.write_text(f"<svg {namespace} {svg[1]}>{STYLE}{white}{svg[2]}</svg>\n")


if __name__ == "__main__":
    main()
