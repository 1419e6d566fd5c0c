"""What the end-to-end tests share: they drive the built program as a user would."""

import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("TENSORWRIGHT", str(ROOT / "build/dev/tensorwright"))
SMALL = ["gemm", "--shape", "m=32,n=48,k=64"]  # tunes in seconds

USAGE, NO_CANDIDATE, VERIFICATION, ENVIRONMENT, RUN_DIRECTORY = 2, 3, 4, 5, 6


def environment(**extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith("TENSORWRIGHT_")}
    env.update(extra)
    return env


class TestCase(unittest.TestCase):
    def setUp(self):
        self.tmp = pathlib.Path(tempfile.mkdtemp(prefix="tensorwright-test-"))
        self.addCleanup(shutil.rmtree, self.tmp, ignore_errors=True)

    def run_tool(self, *args, env=None, code=0, timeout=280, cwd=None):
        """Runs the program, expects exit code `code` (None: any), returns the finished process."""
        done = subprocess.run(
            [BINARY, *map(str, args)],
            capture_output=True,
            text=True,
            env=env or environment(),
            timeout=timeout,
            cwd=cwd or self.tmp,
            check=False,
        )
        if code is not None:
            self.assertEqual(done.returncode, code, f"{args}\n{done.stdout}\n{done.stderr}")
        return done

    def tune(self, *args, code=0, env=None):
        """Tunes and returns the summary that --json prints."""
        return json.loads(self.run_tool("tune", *args, "--json", code=code, env=env).stdout)

    def measurements(self, run_dir):
        """Rows of the run's database: (trial, key, failure), the baseline left out."""
        with sqlite3.connect(f"file:{run_dir}/run.db?mode=ro", uri=True) as db:
            return db.execute(
                "select trial, key, failure from measurements where trial > 0 order by trial"
            ).fetchall()


def start_tool(*args, env=None, cwd=None):
    """Starts the program in a session of its own, so that what it leaves behind can be seen."""
    return subprocess.Popen(
        [BINARY, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env or environment(),
        cwd=cwd,
        start_new_session=True,
    )


def processes_with(text):
    """Ids of the running processes whose environment holds `text`: a run and all its workers."""
    found = []
    for proc in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if proc.joinpath("stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                continue
            if text.encode() in proc.joinpath("environ").read_bytes():
                found.append(int(proc.name))
        except OSError:
            continue
    return found


def wait_until(condition, seconds):
    """Polls `condition` for at most `seconds`; returns its last value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def kill(process):
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        pipe.close()
