#!/usr/bin/env python3
"""Golden tests of the command line: transcripts that are run again and compared.

    tests/cli/run.py CASE.txt...              compares; exits 1 when one differs
    tests/cli/run.py --rebuild CASE.txt...    writes what the commands print now into the cases

A case is a transcript, run in an empty folder:

    # A comment.
    $ tensorwright workloads --no-such-flag
    2> tensorwright: ...
    [2]

`$ ` starts a command for bash, `> ` continues it on the next line. What follows is its standard output; lines
that start with `2> ` are its standard error, `[N]` is its exit code where that is not 0. `...` stands for any
text within a line; a line that is only `...` stands for any number of lines. Empty lines at the end of an output
are not compared, so that they can stand between commands. The program under test is
$TENSORWRIGHT, by default build/dev/tensorwright; it is first in PATH.
"""

import dataclasses
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("TENSORWRIGHT", ROOT / "build/dev/tensorwright")).resolve()
TIMEOUT_S = 120

# Differ from run to run and from machine to machine; a rebuild writes `...` for them.
VOLATILE = re.compile(r"\b\d+(\.\d+)?(e[+-]?\d+)?(?= (ns|us|ms|s)\b|x\b)|\b\d{8}-\d{6}\b")


@dataclasses.dataclass
class Output:
    stdout: list[str]
    stderr: list[str]
    code: int


@dataclasses.dataclass
class Step:
    comments: list[str]  # lines before the command
    command: list[str]
    expected: Output

    def text(self, output):
        """The lines of the transcript, with `output` as what the command printed."""
        lines = self.comments + [
            ("> " if i else "$ ") + part for i, part in enumerate(self.command)
        ]
        lines += output.stdout + [f"2> {line}".rstrip() for line in output.stderr]
        return lines + ([f"[{output.code}]"] if output.code else [])


def parse(text):
    """Steps of a case, and the comments after the last one."""
    steps, comments, blank = [], [], []
    for line in text.splitlines():
        if not line:
            blank.append(line)  # output when more output follows, else a separator
            continue
        if line.startswith("$ "):
            steps.append(Step(comments + blank, [line[2:]], Output([], [], 0)))
            comments = []
        elif line.startswith("#"):
            comments += [*blank, line]
        elif not steps or comments:
            raise ValueError(f"output without a command: {line}")
        elif line.startswith("> "):
            steps[-1].command.append(line[2:])
        elif line == "2>" or line.startswith("2> "):
            steps[-1].expected.stderr.append(line[3:])
        elif code := re.fullmatch(r"\[(\d+)\]", line):
            steps[-1].expected.code = int(code.group(1))
        else:
            steps[-1].expected.stdout += [*blank, line]
        blank = []
    return steps, comments + blank


def matches(expected, actual):
    pattern = ""
    for line in expected:
        if line == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.split("...")) + "\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in actual)) is not None


def agrees(expected, actual):
    return (
        expected.code == actual.code
        and matches(expected.stdout, actual.stdout)
        and matches(expected.stderr, actual.stderr)
    )


def execute(command, folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith("TENSORWRIGHT")}
    env |= {"PATH": f"{BINARY.parent}:{env['PATH']}", "LC_ALL": "C.UTF-8", "HOME": folder}
    done = subprocess.run(
        ["bash", "-c", "\n".join(command)],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )

    def lines(text):
        return [line.rstrip() for line in text.rstrip().splitlines()]

    return Output(lines(done.stdout), lines(done.stderr), done.returncode)


def normalised(output, folder):
    def line(text):
        for path in (folder, str(ROOT)):
            text = text.replace(path, "...")
        return VOLATILE.sub("...", text)

    return Output([line(t) for t in output.stdout], [line(t) for t in output.stderr], output.code)


def run(case, rebuild):
    """Runs one case; returns whether it agreed, or was rebuilt."""
    steps, rest = parse(case.read_text())
    if not steps:
        raise ValueError(f"{case}: no command")
    agreed, lines = True, []
    with tempfile.TemporaryDirectory(prefix="tensorwright-cli-") as folder:
        for step in steps:
            actual = execute(step.command, folder)
            good = agrees(step.expected, actual)
            shown = step.expected if good else normalised(actual, folder)
            lines += step.text(shown)
            if not good and not rebuild:
                agreed = False
                was, now = step.text(step.expected), step.text(actual)
                print("\n".join(difflib.unified_diff(was, now, str(case), "now", lineterm="")))
    if rebuild:
        case.write_text("\n".join(lines + rest) + "\n")
    return agreed


def main():
    names = sys.argv[1:]
    rebuild = names[:1] == ["--rebuild"]
    cases = [pathlib.Path(name) for name in names[rebuild:]]
    if not cases:
        sys.exit(__doc__)
    results = [run(case, rebuild) for case in cases]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
