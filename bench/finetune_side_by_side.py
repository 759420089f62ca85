#!/usr/bin/env python3
"""How many fine-tuning runs one GPU takes at once: 1, 2, 4 … processes of `convseq bench finetune` side by side.

    python3 bench/finetune_side_by_side.py --models paper-light-mini,paper-light-small --json side_by_side.json

The steps per second of all processes together, and the memory of each. With --mps under NVIDIA's multi-process
service, which lets kernels of several processes run at the same time; without it they take turns.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def memory_in_use():
    """MB of the whole GPU: with the multi-process service it is not known by process."""
    return int(subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
                              capture_output=True, text=True, check=True).stdout.split()[0])


def measure(options, model, processes, folder):
    idle = most = memory_in_use()
    files = [Path(folder) / f"{model}-{processes}-{i}.json" for i in range(processes)]
    started = [subprocess.Popen([options.program, "bench", "finetune", "--device", "cuda", "--models", model, "--steps",
                                 str(options.steps), "--quiet", "--json", str(file)],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for file in files]
    while any(process.poll() is None for process in started):
        most = max(most, memory_in_use())
        time.sleep(0.3)
    for process in started:
        if process.returncode != 0:
            sys.exit(process.stderr.read().strip())
    speeds = [next(row["value"] for row in json.loads(file.read_text())["results"] if row["unit"] == "steps/s")
              for file in files]
    return {"name": f"finetune_{model}_{processes}_at_once", "value": round(sum(speeds), 1), "unit": "steps/s",
            "processes": processes, "slowest": min(speeds), "mps": options.mps,
            "memory_mb_per_process": round((most - idle) / processes)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/convseq")
    parser.add_argument("--models", default="paper-light-mini,paper-light-small")
    parser.add_argument("--processes", default="1,2,4,8")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--mps", action="store_true")
    parser.add_argument("--json", help="file to write")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        if options.mps:
            os.environ |= {"CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log"}
            subprocess.run(["nvidia-cuda-mps-control", "-d"], check=True)
        try:
            for model in options.models.split(","):
                for processes in map(int, options.processes.split(",")):
                    rows.append(measure(options, model, processes, folder))
                    print(rows[-1], flush=True)
        finally:
            if options.mps:
                subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, check=False)
    if options.json:
        Path(options.json).write_text(json.dumps({"date": str(datetime.date.today()), "command": " ".join(sys.argv),
                                                  "results": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
