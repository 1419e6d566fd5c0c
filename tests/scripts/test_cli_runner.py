"""tests/cli/run.py must notice every difference; it is run here on a program of its own."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "cli/run.py"
PROGRAM = """#!/bin/bash
echo "took 12.5 ms"
echo "best 4.0x"
echo "in $PWD" >&2
exit 3
"""
RIGHT = "# Why.\n$ tensorwright\ntook ... ms\nbest 4.0x\n2> in ...\n[3]\n"


class CliRunner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = pathlib.Path(folder.name, "tensorwright")
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)
        self.case = pathlib.Path(folder.name, "case.txt")

    def run_case(self, text, *flags):
        self.case.write_text(text)
        return subprocess.run(
            [sys.executable, SCRIPT, *flags, self.case],
            env={**os.environ, "TENSORWRIGHT": str(self.program)},
            capture_output=True,
            text=True,
            check=False,
        )

    def test_agrees(self):
        for text in (RIGHT, RIGHT.replace("took ... ms\n", "...\n"), RIGHT.replace("4.0", "...")):
            self.assertEqual(self.run_case(text).returncode, 0, text)

    def test_notices_differences(self):
        for old, new in (
            ("[3]\n", ""),
            ("[3]", "[4]"),
            ("best 4.0x", "best 4.1x"),
            ("best 4.0x", "best 4x0x"),
            ("best 4.0x\n", ""),
            ("best 4.0x\n", "best 4.0x\nmore\n"),
            ("2> in ...\n", ""),
            ("2> in ...", "2> at ..."),
            ("2> in ...", "in ..."),
        ):
            done = self.run_case(RIGHT.replace(old, new))
            self.assertEqual(done.returncode, 1, (old, new, done.stdout))
            self.assertIn("@@", done.stdout)

    def test_rebuild(self):
        self.assertEqual(self.run_case("# Why.\n$ tensorwright\n", "--rebuild").returncode, 0)
        self.assertEqual(self.case.read_text(), RIGHT.replace("4.0x", "...x"))
        self.run_case(RIGHT, "--rebuild")
        self.assertEqual(self.case.read_text(), RIGHT)

    def test_commands_of_several_lines(self):
        text = "$ cat <<END | tr a b\n> banana\n> END\nbbnbnb\n$ false\n[1]\n"
        self.assertEqual(self.run_case(text).returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
