#!/usr/bin/env python3
"""What bf16 costs in fine-tuning: every task with every seed in both precisions, as `convseq finetune` runs it.

    python3 bench/finetune_precision.py --from models/light --data DATA --at-once 4 --json precision.json

Prints the test accuracy of each run and, per task, the mean difference of bf16 from fp32 in points.
"""

import argparse
import datetime
import itertools
import json
import math
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PRECISIONS = ("fp32", "bf16")


def fine_tune(options, folder, task, seed, precision):
    out = folder / f"{task}-{seed}-{precision}"
    command = [options.program, "finetune", str(out), task, "--schedule", "constant", "--from", options.model, "--data", options.data,
               "--precision", precision, "--seed", str(seed), "--device", "cuda", "--quiet", "--json"]
    done = subprocess.run(command + options.more, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    report = found["evaluation"]["test"]
    accuracy = next(score["value"] for score in report["scores"] if score["metric"] == "accuracy")
    subprocess.run(["rm", "-rf", str(out)], check=True)
    run = {"task": task, "seed": seed, "precision": precision, "accuracy": accuracy, "seconds": found["seconds"],
           "collapsed": "collapse" in report and bool(report["collapse"])}
    print(run, file=sys.stderr)
    return run


def mean_and_interval(differences):
    """The mean, and half of its 95% interval by Student's t; of one seed, nan."""
    t = {1: math.nan, 2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}.get(len(differences), 2.23)
    spread = statistics.stdev(differences) if len(differences) > 1 else 0
    return statistics.mean(differences), t * spread / len(differences) ** 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/convseq")
    parser.add_argument("--from", dest="model", required=True, help="pre-trained model folder")
    parser.add_argument("--data", required=True)
    parser.add_argument("--tasks", default="trec6,sst2,wiki_toxic")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--at-once", type=int, default=1, help="processes side by side on the GPU")
    parser.add_argument("--json", help="file to write")
    parser.add_argument("more", nargs="*", help="further options of convseq finetune, after --")
    options = parser.parse_args()
    tasks = options.tasks.split(",")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.at_once) as pool:
        cells = itertools.product(tasks, range(1, options.seeds + 1), PRECISIONS)
        runs = list(pool.map(lambda cell: fine_tune(options, Path(folder), *cell), cells))
    rows = []
    for task in tasks:
        found = {p: [r["accuracy"] for r in runs if r["task"] == task and r["precision"] == p] for p in PRECISIONS}
        mean, interval = mean_and_interval([100 * (b - a) for a, b in zip(found["fp32"], found["bf16"])])
        rows.append({"name": f"finetune_{task}_bf16_minus_fp32", "value": round(mean, 3), "unit": "points",
                     "interval": round(interval, 3), **{p: [round(x, 4) for x in found[p]] for p in PRECISIONS}})
        print(f"{task:12} fp32 {100 * statistics.mean(found['fp32']):.2f}  bf16 "
              f"{100 * statistics.mean(found['bf16']):.2f}  difference {mean:+.2f} ± {interval:.2f} points")
    mean = statistics.mean(row["value"] for row in rows)
    print(f"on average {mean:+.2f} points")
    if options.json:
        version = json.loads(subprocess.run([options.program, "version", "--json"], capture_output=True,
                                            text=True, check=True).stdout)
        Path(options.json).write_text(json.dumps(
            {"date": str(datetime.date.today()), "commit": version.get("commit"), "command": " ".join(sys.argv),
             "results": rows + [{"name": "finetune_bf16_minus_fp32", "value": round(mean, 3), "unit": "points"}],
             "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
