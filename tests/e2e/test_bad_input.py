"""Mistakes a person can make: a clear message, the documented exit code, nothing damaged."""

import os
import shutil
import sqlite3
import subprocess
import unittest

from harness import RUN_DIRECTORY, SMALL, USAGE, TestCase, environment


class BadInput(TestCase):
    def refused(self, *args, code=USAGE, says, env=None):
        done = self.run_tool(*args, code=code, env=env)
        self.assertIn(says, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertNotIn("terminate called", done.stderr)

    def test_unknown_names(self):
        self.refused("tune", "gem", says="gemm")
        self.refused("tune", "no/such/file.leir", says="no/such/file.leir")
        self.refused("tune", "gemm", "--search", "magic", says="mcts")
        self.refused("tune", "gemm", "--no-such-flag", says="--no-such-flag")
        self.refused("frobnicate", says="frobnicate")
        self.refused("tune", says="workload")

    def test_shapes(self):
        self.refused("tune", "gemm", "--shape", "q=3", says="q")
        self.refused("tune", "gemm", "--shape", "m=0", says="at least 1")
        self.refused("tune", "gemm", "--shape", "m=-4", says="at least 1")
        self.refused("tune", "gemm", "--shape", "m", says="NAME=NUMBER")
        self.refused("tune", "gemm", "--shape", "m=99999999999999999999", says="m=999")

    def test_targets(self):
        for target in ("quantum", "llvm -mcpu", '{"kind":"llvm"', '{"kind":7}', ""):
            self.refused(
                "tune", "gemm", "--target", target, "--run-dir", self.tmp / "r", says="target"
            )
        self.assertFalse((self.tmp / "r").exists(), "a refused command left a directory")

    def test_broken_leir(self):
        path = self.tmp / "broken.leir"
        path.write_text(
            "leir 1\ninput A: f32[4]\noutput C: f32[4]\nB^{4}_{tx=0}[C_{tx}=A_{tx}+;];\n"
        )
        for command in (["leir", "check"], ["leir", "print"], ["leir", "run"], ["tune"]):
            self.refused(*command, path, says="broken.leir:4:")

    def test_broken_module(self):
        path = self.tmp / "module.json"
        for text in ("", "{", "[]", '{"root_index": 1}', "\0\0\0", '{"nodes": 3}'):
            path.write_text(text)
            self.refused("tune", path, says="module.json")

    def test_config_file(self):
        config = self.tmp / "c.toml"
        config.write_text("[tune]\ntrails = 3\n")
        self.refused("tune", *SMALL, "--config", config, says="c.toml:2:1")
        config.write_text("[tune\n")
        self.refused("tune", *SMALL, "--config", config, says="c.toml:")
        config.write_text("[tune]\ntrials = 'many'\n")
        self.refused("tune", *SMALL, "--config", config, says="trials")


class BadRunDirectory(TestCase):
    def finished(self):
        run = self.tmp / "run"
        self.tune(*SMALL, "--trials", 2, "--run-dir", run)
        return run

    def again(self, run, says, code=RUN_DIRECTORY):
        done = self.run_tool("tune", *SMALL, "--trials", 3, "--run-dir", run, code=code)
        self.assertIn(says, done.stderr)

    def test_truncated_database(self):
        run = self.finished()
        whole = (run / "run.db").read_bytes()
        for size in (1, 100, 1000, len(whole) // 2, len(whole) - 1):
            (run / "run.db").write_bytes(whole[:size])
            before = (run / "run.db").read_bytes()
            self.again(run, "run.db")
            self.assertEqual((run / "run.db").read_bytes(), before, "a damaged file was changed")
        (run / "run.db").write_bytes(whole)
        self.tune(*SMALL, "--trials", 2, "--run-dir", run)

    def test_another_machine(self):
        run = self.finished()
        with sqlite3.connect(run / "run.db") as db:
            db.execute("update facts set value = 'another' where name = 'machine'")
        self.again(run, "another machine")

    def test_another_schema_version(self):
        run = self.finished()
        with sqlite3.connect(run / "run.db") as db:
            db.execute("pragma user_version = 999")
        self.again(run, "version")

    def test_not_a_run_directory(self):
        for command in ("best", "export"):
            done = self.run_tool(command, self.tmp, code=RUN_DIRECTORY)
            self.assertIn("not a run directory", done.stderr)
        (self.tmp / "file").write_text("")
        self.again(self.tmp / "file", "file")

    def test_read_only_directory(self):
        if os.geteuid() == 0:
            self.skipTest("root writes anywhere; `make test` as another user covers this")
        run = self.tmp / "ro"
        run.mkdir(mode=0o500)
        self.again(run, "ro")

    def test_full_disk(self):
        disk = self.tmp / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=160k", "none", str(disk)],
            capture_output=True,
            check=False,
        )
        if mounted.returncode != 0:
            self.skipTest("needs the right to mount a small tmpfs")
        self.addCleanup(subprocess.run, ["umount", str(disk)], check=False)
        done = self.run_tool(
            "tune", *SMALL, "--trials", 64, "--run-dir", disk / "run", code=RUN_DIRECTORY
        )
        self.assertRegex(done.stderr, "full|No space")
        copy = self.tmp / "copy"
        shutil.copytree(disk / "run", copy)
        with sqlite3.connect(copy / "run.db") as db:
            self.assertEqual(db.execute("pragma quick_check").fetchone(), ("ok",))
        # With room again, the same run goes on (elsewhere: the disk of this test stays small).
        self.tune(*SMALL, "--trials", 64, "--run-dir", copy)


class Environment(TestCase):
    def test_missing_tvm(self):
        empty = self.tmp / "site"
        empty.mkdir()
        done = self.run_tool(
            "tune", *SMALL, code=5, env=environment(TENSORWRIGHT_TVM_HOME=str(empty))
        )
        self.assertIn("apache-tvm==0.27.0.post1", done.stderr)

    def test_wrong_tvm_ffi_version(self):
        site = self.tmp / "site"
        (site / "apache_tvm-0.27.0.post1.dist-info").mkdir(parents=True)
        (site / "apache_tvm_ffi-0.1.15.post2.dist-info").mkdir()
        done = self.run_tool("doctor", code=5, env=environment(TENSORWRIGHT_TVM_HOME=str(site)))
        self.assertIn("apache-tvm-ffi==0.1.14.post1", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
