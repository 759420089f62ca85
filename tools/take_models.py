#!/usr/bin/env python3
"""Takes over what tools/make_models.sh has trained: the int8 folders and every figure of their cards.

    tools/take_models.py RUN [--speed COMMENTS] [--program build/convseq] [--out models]
    tools/write_model_cards.py

RUN is the output of tools/make_models.sh; OUT receives its int8 folders and scores.jsonl: the rows of RUN/scores.jsonl without the
paths of the machine that trained, and rows for pre-training, selected comments, span filling and identity terms. --speed measures the
comments per second of `predict`, on a quiet machine, over COMMENTS, a table with a column "text"; without it the row of OUT is kept.
"""
import argparse
import datetime
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

MODELS = ("convseq-mini", "toxicity-mini", "toxicity-labels-mini")
SPANS = ("The river runs <extra_id_0> the sea.", "She opened the <extra_id_0> and looked <extra_id_1> the window.",
         "Water boils at a temperature of <extra_id_0> degrees.", "Thank you for <extra_id_0> help with this article.")


def rows_of(file):
    return [json.loads(line) for line in open(file, encoding="utf-8")] if file.exists() else []


def version(program):
    return json.loads(subprocess.run([program, "version", "--json"], capture_output=True, text=True, check=True).stdout)


def run_rows(run):
    """The rows of the run itself."""
    for row in rows_of(run / "scores.jsonl"):
        yield {key: value for key, value in row.items() if key not in ("model", "out", "files")}
    learning_rate = re.search("toxicity-([0-9.]+)-", next(row["model"] for row in rows_of(run / "scores.jsonl")
                                                         if (row["name"], row["part"]) == ("toxicity-mini", "size")))[1]
    yield {"name": "toxicity-mini", "part": "learning_rate", "value": float(learning_rate)}
    about = (run / "version.txt").read_text()
    pretrain = json.loads((run / "pretrain.json").read_text())
    del pretrain["out"]
    yield {"name": "convseq-mini", "part": "pretraining", "commit": re.search("commit (\\S+)", about)[1],
           "gpu": re.search("GPU: ([^,]*)", about)[1], **pretrain}
    selected = re.findall(r"(\S+)\.jsonl: (\d+) rows, (\d+) toxic", (run / "selection.txt").read_text())
    yield {"name": "comments", "part": "selection", "files": {file: {"rows": int(rows), "toxic": int(toxic)} for file, rows, toxic in selected}}


def span_row(program, model):
    answers = subprocess.run([program, "predict", model, "-", "--device", "cpu", "--quiet"], input="\n".join(SPANS) + "\n",
                             capture_output=True, text=True, check=True).stdout.splitlines()
    return {"name": "convseq-mini", "part": "spans", "command": "convseq predict models/convseq-mini - --device cpu",
            "examples": [{"source": text, **json.loads(answer)} for text, answer in zip(SPANS, answers, strict=True)]}


def identity_row(program, model):
    check = pathlib.Path(__file__).parent / "identity_check.py"
    answer = subprocess.run([sys.executable, check, model, "--program", program, "--json"], capture_output=True, text=True, check=True)
    return {"name": "toxicity-mini", "part": "identity", "command": "tools/identity_check.py models/toxicity-mini --json",
            **json.loads(answer.stdout)}


def speed_row(program, model, comments):
    command, best, rows = [program, "predict", model, comments, "--device", "cpu", "--output-format", "labels", "--quiet"], 0, 0
    for _ in range(4):  # the first run packs the weights
        start = time.monotonic()
        rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.count("\n")
        best = max(best, rows / (time.monotonic() - start))
    about = version(program)
    return {"name": "toxicity-mini", "part": "speed", "comments_per_second": round(best), "comments": rows,
            "set": pathlib.Path(comments).parent.name, "cpu": about["cpu"]["model"], "threads": about["cpu"]["threads"],
            "kernels": about["cpu"]["kernels"], "date": str(datetime.date.today()), "commit": about["commit"],
            "command": "build/convseq predict models/toxicity-mini data/toxicity_extra/jigsaw_wiki/test.jsonl.zst --device cpu --output-format labels --quiet"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("--speed", metavar="COMMENTS")
    parser.add_argument("--program", default="build/convseq")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("models"))
    options = parser.parse_args()
    for name in MODELS:
        shutil.copytree(options.run / "models" / name, options.out / name, ignore=shutil.ignore_patterns("packed-*"), dirs_exist_ok=True)
    rows = [*run_rows(options.run), span_row(options.program, options.out / "convseq-mini"),
            identity_row(options.program, options.out / "toxicity-mini")]
    scores = options.out / "scores.jsonl"
    if options.speed:
        rows.append(speed_row(options.program, options.out / "toxicity-mini", options.speed))
    else:
        rows += [row for row in rows_of(scores) if row["part"] == "speed"]
    scores.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


main()
