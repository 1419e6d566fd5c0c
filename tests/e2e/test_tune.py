"""The main road: tune, look at the best, ship it, let TVM's own Python read the records."""

import json
import pathlib
import sqlite3
import subprocess
import sys
import unittest

from harness import NO_CANDIDATE, SMALL, TestCase, environment

# Importing TVM's tensor intrinsics takes half a minute and is not needed to read a database.
READ_DATABASE = """
import json, sys, types
sys.modules["tvm.s_tir.tensor_intrin"] = types.ModuleType("tvm.s_tir.tensor_intrin")
import numpy as np
import tvm
from tvm.s_tir import meta_schedule as ms
folder = sys.argv[1]
database = ms.database.JSONDatabase(folder + "/database_workload.json",
                                    folder + "/database_tuning_record.json")
records = database.get_all_tuning_records()
workload = records[0].workload
module = workload.mod
best = database.query_tuning_record(module, records[0].target, "main")
schedule = database.query_schedule(module, records[0].target, "main")
library = tvm.compile(schedule.mod, target=records[0].target)
rng = np.random.default_rng(0)
a = rng.standard_normal((32, 64)).astype("float32")
b = rng.standard_normal((64, 48)).astype("float32")
c = np.zeros((32, 48), dtype="float32")
tensors = [tvm.runtime.tensor(x) for x in (a, b, c)]
library["main"](*tensors)
error = float(np.max(np.abs(tensors[2].numpy() - a @ b)))
print(json.dumps({"records": len(records), "best": min(map(float, best.run_secs)),
                  "error": error}))
"""


class Tune(TestCase):
    def test_every_searcher_finds_a_verified_program(self):
        for search in ("mcts", "random", "droplet", "evolutionary"):
            with self.subTest(search):
                run = self.tmp / search
                summary = self.tune(*SMALL, "--trials", 8, "--search", search, "--run-dir", run)
                self.assertEqual(summary["trials"], 8)
                self.assertGreater(summary["speedup"], 0)
                self.assertIn("right", summary["verdict"])
                rows = self.measurements(run)
                self.assertEqual([r[0] for r in rows], list(range(1, 9)))
                self.assertEqual(len({r[1] for r in rows}), 8, "a program was measured twice")

    def test_ablations_run(self):
        self.tune(*SMALL, "--trials", 4, "--cost-model", "random", "--run-dir", self.tmp / "a")
        self.tune(*SMALL, "--trials", 4, "--preset", "paper", "--run-dir", self.tmp / "b")

    def test_leir_file_and_tvm_module(self):
        text = (
            "leir 1\ninput A: f32[24,32]\ninput C: f32[32,16]\noutput D: f32[24,16]\n"
            "B^{24}_{tx=0}L^{16}_{a=0}L^{32}_{c=0}"
            "[D^{f32,g}_{tx,a}=D^{f32,g}_{tx,a}+A^{f32,g}_{tx,c}*C^{f32,g}_{c,a};];\n"
        )
        path = self.tmp / "mine.leir"
        path.write_text(text)
        self.tune(path, "--trials", 3, "--run-dir", self.tmp / "leir")
        module = self.tmp / "mine.json"
        module.write_text(self.run_tool("leir", "lower", path, "--json").stdout)
        summary = self.tune(module, "--trials", 3, "--run-dir", self.tmp / "json")
        self.assertIn("right", summary["verdict"])

    def test_a_tiny_space_ends_early(self):
        path = self.tmp / "tiny.leir"
        path.write_text(
            "leir 1\ninput A: f32[1]\noutput C: f32[1]\n"
            "B^{1}_{tx=0}[C^{f32,g}_{tx}=A^{f32,g}_{tx}+1;];\n"
        )
        summary = self.tune(path, "--trials", 64, "--run-dir", self.tmp / "run", code=None)
        self.assertTrue(summary["exhausted"])
        self.assertLess(summary["trials"], 64)

    def test_best_and_export(self):
        run = self.tmp / "run"
        self.tune(*SMALL, "--trials", 4, "--run-dir", run)
        shown = self.run_tool("best", run).stdout
        self.assertIn("sch.", shown)
        self.assertIn("T.prim_func", shown)
        best = json.loads(self.run_tool("best", run, "--json").stdout)
        self.assertGreater(best["latency_s"], 0)
        for name in (
            "run.toml",
            "run.db",
            "best.json",
            "best.py",
            "best.leir",
            "best.so",
            "database_workload.json",
            "database_tuning_record.json",
        ):
            self.assertTrue((run / name).exists(), name)

        out = self.tmp / "out"
        exported = self.run_tool("export", run, "-o", out)
        files = {pathlib.Path(f).name for f in exported.stdout.split()}
        self.assertEqual(files, {"gemm.so", "gemm.h", "example.cc", "example.py"})
        commands = dict(line.split(":", 1) for line in exported.stderr.splitlines() if ": " in line)
        for language in ("C++", "Python"):
            done = subprocess.run(
                commands[language], shell=True, capture_output=True, text=True, check=True
            )
            self.assertRegex(done.stdout, r"= 64\b", "ones times ones over k=64")

    def test_tvm_reads_our_database(self):
        run = self.tmp / "run"
        summary = self.tune(*SMALL, "--trials", 6, "--run-dir", run)
        done = subprocess.run(
            [sys.executable, "-c", READ_DATABASE, str(run)],
            check=True,
            capture_output=True,
            text=True,
        )
        read = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(read["records"], 6 - sum(summary["failures"].values()))
        self.assertLess(read["error"], 1e-4)
        with sqlite3.connect(f"file:{run}/run.db?mode=ro", uri=True) as db:
            ours = db.execute("select seconds from measurements where trial > 0").fetchall()
        fastest = [min(json.loads(row[0])) for row in ours if json.loads(row[0])]
        self.assertIn(read["best"], fastest, "TVM's best is none of our measurements")

    def test_progress_goes_to_stderr_and_data_to_stdout(self):
        done = self.run_tool("tune", *SMALL, "--trials", 2, "--run-dir", self.tmp / "r", "--json")
        json.loads(done.stdout)
        self.assertIn("2/2 trials", done.stderr)
        quiet = self.run_tool("-q", "tune", *SMALL, "--trials", 2, "--run-dir", self.tmp / "q")
        self.assertEqual(quiet.stderr, "")
        self.assertIn("speedup", quiet.stdout)

    def test_flag_beats_environment_beats_file(self):
        config = self.tmp / "c.toml"
        config.write_text("[tune]\ntrials = 4\nsearch = 'random'\n")
        by_file = self.tune(*SMALL, "--config", config, "--run-dir", self.tmp / "f")
        self.assertEqual(by_file["trials"], 4)
        by_env = self.tune(
            *SMALL,
            "--config",
            config,
            "--run-dir",
            self.tmp / "e",
            env=environment(TENSORWRIGHT_TRIALS="3"),
        )
        self.assertEqual(by_env["trials"], 3)
        by_flag = self.tune(
            *SMALL,
            "--config",
            config,
            "--trials",
            2,
            "--run-dir",
            self.tmp / "g",
            env=environment(TENSORWRIGHT_TRIALS="3"),
        )
        self.assertEqual(by_flag["trials"], 2)


class Faults(TestCase):
    def test_each_fault_is_recorded_with_its_kind_and_the_run_goes_on(self):
        expected = {
            "segv@build:3": "crash",
            "stop@check:3": "timeout",
            "hang@time:3": "timeout",
            "garbage@build:3": "garbage",
            "exit@check:3": "garbage",
            "oom@check:3": "out-of-memory",
            "wrong@check:3": "wrong-numbers",
        }
        for fault, kind in expected.items():
            with self.subTest(fault):
                run = self.tmp / fault.replace("@", "-").replace(":", "-")
                summary = self.tune(
                    *SMALL,
                    "--trials",
                    6,
                    "--search",
                    "random",
                    "--run-dir",
                    run,
                    "--timeout",
                    6,
                    "--memory-limit",
                    1024,
                    env=environment(TENSORWRIGHT_INJECT=fault),
                )
                self.assertEqual(summary["trials"], 6)
                self.assertIn(kind, summary["failures"], summary)
                self.assertEqual(set(summary["failures"]), {kind})
                self.assertIsNotNone(summary["best_s"])
                self.assertTrue((run / "failures" / kind / "error.txt").exists())

    def test_all_candidates_failing_is_exit_3_with_the_first_error_of_each_kind(self):
        done = self.run_tool(
            "tune",
            *SMALL,
            "--trials",
            4,
            "--run-dir",
            self.tmp / "r",
            env=environment(TENSORWRIGHT_INJECT="segv@build:1"),
            code=NO_CANDIDATE,
        )
        self.assertIn("4 crash", done.stdout)
        self.assertIn("SIGSEGV", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
