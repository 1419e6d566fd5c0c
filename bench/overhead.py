"""What a measured sample costs beyond running the kernel: Tensorwright beside stock ms.tune_tir.

Both tune the DeepSeek-R1 MoE matmul for one core, with the same number of trials in rounds of 16, on all cores
of the machine for everything but the kernel. Overhead = (wall time of the whole run - time in which the kernel
ran) / samples.

- Tensorwright: the whole process, start to exit, with the baseline, every check and the files it writes. The
  kernel's time is what the run database says: timing, and one call for checking each valid sample.
- TVM: the call of ms.tune_tir with its stock builder, runner (both with more patience), cost model and strategy. The kernel's time is all that
  its runner spends in the function that calls it. Importing tvm.s_tir.tensor_intrin in this process, which
  TuneContext does, is done before and not counted; the processes of the stock builder and runner import it too.
"""

import argparse
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

from bar import TENSORWRIGHT, Bars, table

WANTED = 8.0
PATIENCE_S = 600.0


def tune_ours(trials, folder):
    start = time.perf_counter()
    done = subprocess.run(
        [
            TENSORWRIGHT,
            *("tune", "deepseek-r1-moe", "--search", "mcts", "--cores", "1", "--json"),
            *("--trials", str(trials), "--run-dir", folder),
        ],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    wall = time.perf_counter() - start
    with sqlite3.connect(f"file:{folder}/run.db?mode=ro", uri=True) as db:
        samples, failed = db.execute(
            "select count(*), sum(failure != '') from measurements where trial > 0"
        ).fetchone()
        (kernel,) = db.execute(
            "select sum(time_s) + sum(iif(failure = '', median_s, 0)) from measurements"
        ).fetchone()
    best = json.loads(done.stdout)["best_s"]
    return {"wall": wall, "kernel": kernel, "samples": samples, "failed": failed, "best": best}


def moe_matmul():
    from tvm import te

    a = te.placeholder((1, 16, 7168), name="A")
    b = te.placeholder((7168, 2048), name="B")
    k = te.reduce_axis((0, 7168), name="k")
    c = te.compute((1, 16, 2048), lambda g, i, j: te.sum(a[g, i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def tune_tvm(trials, folder):
    os.environ["TVM_NUM_THREADS"] = "1"
    import tvm.s_tir.tensor_intrin  # noqa: F401
    from tvm.s_tir import meta_schedule as ms

    import tvm

    spent = folder / "kernel-seconds"

    def timed_evaluator(rt_mod, device, evaluator_config, repeated_args):
        from tvm.s_tir.meta_schedule.runner.utils import run_evaluator_common

        begin = time.perf_counter()
        try:
            return run_evaluator_common(rt_mod, device, evaluator_config, repeated_args)
        finally:
            with spent.open("a") as file:
                file.write(f"{time.perf_counter() - begin}\n")

    cpu = tvm.get_global_func("target.llvm_get_system_cpu")()
    target = tvm.target.Target({"kind": "llvm", "mcpu": cpu, "num-cores": 1})
    spent.touch()
    start = time.perf_counter()
    database = ms.tune_tir(
        moe_matmul(),
        target,
        str(folder),
        trials,
        num_trials_per_iter=min(16, trials),
        # Its 30 seconds can pass while a worker is still importing.
        builder=ms.builder.LocalBuilder(timeout_sec=PATIENCE_S),
        runner=ms.runner.LocalRunner(timeout_sec=PATIENCE_S, f_run_evaluator=timed_evaluator),
        seed=1,
    )
    wall = time.perf_counter() - start
    seconds = [min(map(float, record.run_secs)) for record in database.get_all_tuning_records()]
    failed = sum(s >= 1e9 for s in seconds)
    if failed == len(seconds):
        sys.exit(f"overhead: none of TVM's {failed} samples was valid, nothing to compare with")
    return {
        "wall": wall,
        "kernel": sum(map(float, spent.read_text().split())),
        "samples": len(seconds),
        "failed": failed,
        "best": min(seconds),
    }


def overhead(run):
    return (run["wall"] - run["kernel"]) / run["samples"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=64)
    trials = parser.parse_args().trials
    with tempfile.TemporaryDirectory(prefix="tensorwright-bench-") as name:
        folder = pathlib.Path(name)
        (folder / "tvm").mkdir()
        ours = tune_ours(trials, folder / "ours")
        theirs = tune_tvm(trials, folder / "tvm")
    table(
        ("", "samples", "failed", "wall s", "kernel s", "overhead s/sample", "best ms"),
        [
            (
                label,
                str(run["samples"]),
                str(run["failed"]),
                f"{run['wall']:.1f}",
                f"{run['kernel']:.1f}",
                f"{overhead(run):.3f}",
                f"{run['best'] * 1e3:.2f}",
            )
            for label, run in (("tensorwright, mcts", ours), ("ms.tune_tir, evolutionary", theirs))
        ],
    )
    bars = Bars()
    bars.at_least("overhead", overhead(theirs) / overhead(ours), WANTED, unit="x less than TVM")
    bars.finish()


if __name__ == "__main__":
    main()
