"""How many states `mcts` applies and scores in a second, on two cores, for the DeepSeek-R1 MoE matmul.

bench/search_rate.cc runs the searcher as a tuning session does, rounds of 16 candidates, but nothing is measured: only
the time inside the searcher counts (transformations, post-processing, features, cost model). A round's samples are
those that the cost model had learned from before it.
"""

import json
import subprocess

from bar import BUILD, ROOT, Bars, table

WORKLOAD, SEARCHER, ROUNDS, CORES = "deepseek-r1-moe", "mcts", 8, 2
WANTED = 300.0


def main():
    subprocess.run([ROOT / "scripts/build.sh", "release", "search_rate"], check=True)
    done = subprocess.run(
        [BUILD / "search_rate", WORKLOAD, SEARCHER, str(ROUNDS), str(CORES)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    table(
        ("round", "samples", "states", "seconds", "states/s"),
        [
            (
                str(r["round"]),
                str(r["samples"]),
                str(r["scored"]),
                f"{r['seconds']:.2f}",
                f"{r['scored'] / r['seconds']:.0f}",
            )
            for r in rounds
        ],
    )
    bars = Bars()
    rate = sum(r["scored"] for r in rounds) / sum(r["seconds"] for r in rounds)
    bars.at_least("search", rate, WANTED, unit=" states/s")
    bars.finish()


if __name__ == "__main__":
    main()
