"""Runs that are killed, stopped, repeated, or started twice."""

import random
import signal
import time
import unittest

from harness import (
    RUN_DIRECTORY,
    SMALL,
    TestCase,
    environment,
    kill,
    processes_with,
    start_tool,
    wait_until,
)

TRIALS = 24


class Resume(TestCase):
    def command(self, run, *extra):
        return [
            "tune",
            *SMALL,
            "--trials",
            str(TRIALS),
            "--batch",
            "4",
            "--run-dir",
            str(run),
            *extra,
        ]

    def test_ten_kills_lose_nothing(self):
        run = self.tmp / "run"
        seed = random.randrange(1 << 30)
        rng = random.Random(seed)
        for attempt in range(10):
            tag = f"TW_TEST_TAG={self.tmp.name}-{attempt}"
            process = start_tool(
                *self.command(run), env=environment(TW_TEST_TAG=f"{self.tmp.name}-{attempt}")
            )
            time.sleep(rng.uniform(0.1, 1.6))
            kill(process)
            self.assertTrue(
                wait_until(lambda t=tag: not processes_with(t), 5),
                f"processes left behind (seed {seed}): {processes_with(tag)}",
            )
        before = self.measurements(run) if (run / "run.db").exists() else []
        summary = self.tune(*self.command(run)[1:])
        after = self.measurements(run)
        self.assertEqual(summary["trials"], TRIALS, f"seed {seed}")
        self.assertEqual([row[0] for row in after], list(range(1, TRIALS + 1)))
        self.assertEqual(len({row[1] for row in after}), TRIALS, "a program was measured twice")
        self.assertEqual(after[: len(before)], before, "a finished measurement was lost or changed")

    def test_interrupt_saves_and_the_same_command_goes_on(self):
        run = self.tmp / "run"
        process = start_tool(*self.command(run))
        self.assertTrue(wait_until(lambda: (run / "run.db").exists(), 20))
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        if process.returncode == 0:
            self.skipTest("the run was over before the signal")
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("goes on", err)
        self.assertEqual(self.tune(*self.command(run)[1:])["trials"], TRIALS)

    def test_a_finished_run_is_not_measured_again_and_can_be_extended(self):
        run = self.tmp / "run"
        self.tune(*SMALL, "--trials", 3, "--run-dir", run)
        first = self.measurements(run)
        self.tune(*SMALL, "--trials", 3, "--run-dir", run)
        self.assertEqual(self.measurements(run), first)
        self.tune(*SMALL, "--trials", 5, "--run-dir", run)
        self.assertEqual(self.measurements(run)[:3], first)
        self.assertEqual(len(self.measurements(run)), 5)

    def test_an_extended_run_measures_what_one_long_run_would_have(self):
        keys = []
        for name, stops in (("long", (8,)), ("short", (4, 8))):
            run = self.tmp / name
            for trials in stops:
                self.tune(
                    *SMALL,
                    *("--search", "random", "--batch", 4),
                    *("--trials", trials, "--run-dir", run),
                )
            keys.append([row[1] for row in self.measurements(run)])
        self.assertEqual(keys[0], keys[1])

    def test_two_runs_in_one_directory(self):
        run = self.tmp / "run"
        process = start_tool(*self.command(run))
        try:
            self.assertTrue(wait_until(lambda: (run / "run.db").exists(), 20))
            done = self.run_tool(*self.command(run), code=RUN_DIRECTORY)
            self.assertIn("in use", done.stderr)
            self.assertIn(str(process.pid), done.stderr)
        finally:
            kill(process)

    def test_directory_of_another_run_is_refused(self):
        run = self.tmp / "run"
        self.tune(*SMALL, "--trials", 1, "--run-dir", run)
        done = self.run_tool("tune", "softmax", "--trials", 1, "--run-dir", run, code=RUN_DIRECTORY)
        self.assertIn("workload", done.stderr)
        done = self.run_tool(
            "tune", *SMALL, "--search", "random", "--run-dir", run, code=RUN_DIRECTORY
        )
        self.assertIn("search", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
