"""`verify --database`: every record of a MetaSchedule database gets a verdict of its own."""

import os
import pathlib
import shutil
import unittest

from harness import ROOT, SMALL, USAGE, VERIFICATION, TestCase, environment

WRONG = pathlib.Path(
    os.environ.get("TENSORWRIGHT_WRONG_SCHEDULE", ROOT.parent / "shared/wrong-schedule")
)


class Verify(TestCase):
    def test_stock_metaschedule_records(self):
        if not WRONG.exists():
            self.skipTest(f"{WRONG} is not there")
        done = self.run_tool("verify", "--database", WRONG, code=VERIFICATION)
        verdicts = [
            line.split()[2] for line in done.stdout.splitlines() if line.startswith("line ")
        ]
        self.assertEqual([v.rstrip(":") for v in verdicts], ["right", "wrong", "wrong"])

    def test_our_own_records_are_right(self):
        run = self.tmp / "run"
        self.tune(*SMALL, "--trials", 3, "--run-dir", run)
        done = self.run_tool("verify", "--database", run)
        self.assertEqual(done.stdout.count(" right"), 3)

    def test_a_wrong_candidate_is_kept_as_failed_and_verifies_as_such(self):
        run = self.tmp / "run"
        self.tune(*SMALL, "--trials", 3, "--run-dir", run)
        done = self.run_tool(
            "verify",
            "--database",
            run,
            code=VERIFICATION,
            env=environment(TENSORWRIGHT_INJECT="wrong@check:all"),
        )
        self.assertEqual(done.stdout.count(" wrong"), 3)

    def test_broken_lines_are_reported_one_by_one(self):
        run = self.tmp / "run"
        self.tune(*SMALL, "--trials", 2, "--run-dir", run)
        folder = self.tmp / "db"
        folder.mkdir()
        shutil.copy(run / "database_workload.json", folder)
        lines = (run / "database_tuning_record.json").read_text().splitlines()
        lines.insert(1, lines[0][: len(lines[0]) // 2])
        (folder / "database_tuning_record.json").write_text("\n".join(lines) + "\n")
        done = self.run_tool("verify", "--database", folder, code=VERIFICATION)
        self.assertEqual(done.stdout.count(" right"), 2)
        self.assertIn("line 2 failed", done.stdout)

    def test_missing_database(self):
        done = self.run_tool("verify", "--database", self.tmp, code=USAGE)
        self.assertIn("database_workload.json", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
