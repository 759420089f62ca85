#!/usr/bin/env python3
"""What a pre-trained start is worth on a task of a user: fine-tuning from a model, and the same from scratch.

    python3 bench/finetune_from_mini.py --data data --json finetune_from_mini.json

For each start the learning rate is chosen on validation with the first seed; the other seeds are run at that rate. The same command continues an interrupted one, from the models in --out.
"""

import argparse
import datetime
import json
import subprocess
import sys
from pathlib import Path


def run(options, start, rate, seed):
    """The validation and the test accuracy of one fine-tuning run, in %."""
    model = options.out / f"{start}-{rate}-{seed}"
    origin = ["--from", options.model] if start == "pretrained" else ["--model", options.model, "--tokenizer", options.model]
    command = [options.program, "finetune", model, options.task, "--data", options.data, *origin, "--answer", "pooled", "--epochs", options.epochs,
               "--train-limit", options.rows, "--schedule", "linear", "--lr", rate, "--seed", seed, "--device", "cpu", "--quiet", "--json"]
    tuned = json.loads(subprocess.run([str(each) for each in command], capture_output=True, text=True, check=True).stdout)
    test = next(score for score in tuned["evaluation"]["test"]["scores"] if score["metric"] == "accuracy")
    row = {"name": f"{options.task}_{start}_{rate}_{seed}", "value": round(100 * test["value"], 2),
           "interval": [round(100 * test[end], 2) for end in ("low", "high")], "unit": "% test accuracy",
           "start": start, "rate": rate, "seed": seed, "validation": round(100 * tuned["best_validation"], 2)}
    print(row, flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/convseq")
    parser.add_argument("--model", default="models/convseq-mini")
    parser.add_argument("--task", default="trec6")
    parser.add_argument("--data", default="data")
    parser.add_argument("--rows", type=int, default=1000, help="training rows (0 = all)")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--rates", default="0.002,0.005")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--out", type=Path, default=Path("build/finetune_from_mini"))
    parser.add_argument("--json", help="file to write")
    options = parser.parse_args()
    rates, seeds = options.rates.split(","), [int(seed) for seed in options.seeds.split(",")]
    rows = []
    for start in ("pretrained", "scratch"):
        sweep = [run(options, start, rate, seeds[0]) for rate in rates]
        best = max(sweep, key=lambda row: row["validation"])
        chosen = [best, *(run(options, start, best["rate"], seed) for seed in seeds[1:])]
        rows += sweep + chosen[1:]
        rows.append({"name": f"{options.task}_{start}", "value": round(sum(row["value"] for row in chosen) / len(chosen), 2),
                     "unit": "% test accuracy, mean of the seeds", "rate": best["rate"], "seeds": seeds})
        print(rows[-1], flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps({"date": str(datetime.date.today()), "command": " ".join(sys.argv),
                                                  "results": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
