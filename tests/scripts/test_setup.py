"""scripts/setup.sh on pretended machines: the commands it would run are fakes that keep a log."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

FAKES = {
    "dpkg-query": 'for p in $INSTALLED; do echo "installed $p"; done; exit 1',
    "id": "echo $USER_ID",
    "sudo": '[[ $SUDO == yes ]] || exit 1; shift; exec "$@"',
    "apt-get": 'echo "apt-get $*" >>"$LOG"',
    "python3": """
if [[ $1 == -m ]]; then
  mkdir -p .venv/bin
  cp "$0" .venv/bin/python
elif [[ $1 == --version ]]; then
  echo Python 3.13
fi
[[ $* == *install* ]] && echo "pip $*" >>"$LOG"
exit 0
""",
}


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        shutil.copytree(ROOT / "scripts", self.root / "scripts")
        for path in ROOT.glob("requirements*.txt"):
            shutil.copy(path, self.root)
        (self.root / "fakes").mkdir()
        for name, body in FAKES.items():
            path = self.root / "fakes" / name
            path.write_text(f"#!/bin/bash\n{body}\n")
            path.chmod(0o755)
        self.packages = [
            line
            for line in (ROOT / "scripts/apt-packages.txt").read_text().splitlines()
            if not line.startswith("#")
        ]

    def setup_machine(self, *args, installed=None, user=1000, sudo=False):
        """Runs the script; returns its exit code, its messages and what it did to the machine."""
        log = self.root / "log"
        log.write_text("")
        done = subprocess.run(
            [self.root / "scripts/setup.sh", *args],
            env={
                "PATH": f"{self.root}/fakes:{os.environ['PATH']}",
                "INSTALLED": " ".join(self.packages if installed is None else installed),
                "USER_ID": str(user),
                "SUDO": "yes" if sudo else "no",
                "LOG": str(log),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr, log.read_text().splitlines()

    def test_nothing_to_install(self):
        code, _, log = self.setup_machine()
        self.assertEqual(code, 0)
        self.assertEqual(len(log), 1, log)
        self.assertIn("requirements.txt", log[0])

    def test_second_time_does_nothing(self):
        self.setup_machine("dev")
        self.assertEqual(self.setup_machine("dev"), (0, "", []))

    def test_new_pins_are_installed(self):
        self.setup_machine()
        with (self.root / "requirements.txt").open("a") as file:
            file.write("one-more==1\n")
        self.assertEqual(len(self.setup_machine()[2]), 1)

    def test_missing_packages_as_root(self):
        code, _, log = self.setup_machine(installed=self.packages[2:], user=0)
        self.assertEqual(code, 0)
        self.assertEqual(log[0], "apt-get update -q")
        self.assertTrue(log[1].startswith("apt-get install"))
        self.assertEqual(set(log[1].split()) & set(self.packages), set(self.packages[:2]))

    def test_missing_packages_with_sudo(self):
        code, _, log = self.setup_machine(installed=[], sudo=True)
        self.assertEqual(code, 0)
        self.assertEqual(set(log[1].split()) & set(self.packages), set(self.packages))

    def test_missing_packages_without_rights(self):
        missing = self.packages[3]
        code, text, log = self.setup_machine(installed=[p for p in self.packages if p != missing])
        self.assertEqual((code, log), (5, []))
        self.assertIn(f"apt-get install --no-install-recommends -y {missing}\n", text)

    def test_unknown_argument(self):
        code, text, _ = self.setup_machine("everything")
        self.assertEqual(code, 2)
        self.assertIn("everything", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
