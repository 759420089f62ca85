#!/usr/bin/env python3
"""Copies the models that tools/make_models.sh has trained to models/, each with its card.

    tools/write_model_cards.py RUN COMMENTS [--program build/convseq] [--out models]

RUN is the output folder of make_models.sh; of another machine, its files models/, scores.jsonl, pretrain.json, selection.txt and
version.txt are enough. COMMENTS is a table with a column "text", on which the speed of `predict` is measured. The cards are the
templates of tools/model_cards; a field that has no value is an error.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
SEEDS = ("", "-2", "-3")  # suffixes of the models of each fine-tuning seed; the first is shipped
SPANS = ("The river runs <extra_id_0> the sea.", "She opened the <extra_id_0> and looked <extra_id_1> the window.",
         "Water boils at a temperature of <extra_id_0> degrees.", "Thank you for <extra_id_0> help with this article.")


def decimal(value):
    return f"{value:.3f}"


def percent(value):
    return f"{100 * value:.1f}"


class Scores:
    def __init__(self, file):
        self.rows = {(row["name"], row["part"]): row for row in map(json.loads, open(file, encoding="utf-8"))}

    def metric(self, name, part, metric):
        return next(score for score in self.rows[name, part]["scores"] if score["metric"] == metric)

    def toxic(self, name, part):
        return next(each for each in self.rows[name, part]["classes"] if each["label"] == "toxic")

    def line(self, name, before, part, test_set, metric, label, shown):
        """A row of a table: the shipped model with its interval, the seeds, and the model before int8."""
        first = self.metric(name.format(""), part, metric)
        seeds = [self.metric(name.format(seed), part, metric)["value"] for seed in SEEDS]
        whole = shown(self.metric(before, part, metric)["value"]) if before else "–"
        title = f"{test_set}; {first['count']:,} comments, {percent(self.toxic(name.format(''), part)['support'] / first['count'])}% toxic"
        return (f"| {title} | {label} | {shown(first['value'])} [{shown(first['low'])}, {shown(first['high'])}] | "
                f"{shown(sum(seeds) / len(seeds))} ({shown(min(seeds))}–{shown(max(seeds))}) | {whole} |")


TABLE_HEAD = ["| test set | metric | shipped model [95% interval] | mean of three seeds (range) | before int8 |", "|---|---|---|---|---|"]


def filter_fields(scores):
    lines = TABLE_HEAD.copy()
    for part, title in (("toxicity_extra.jigsaw_wiki.test", "jigsaw_wiki"),
                        ("toxicity_extra.civil_comments_binary.test", "civil_comments_binary"),
                        ("wiki_toxic.test", "wiki_toxic")):
        last = ("accuracy", "accuracy, %", percent) if part == "wiki_toxic.test" else ("f1", "F1", decimal)
        for metric in (("roc_auc", "ROC AUC", decimal), ("average_precision", "average precision", decimal), last):
            lines.append(scores.line("toxicity-mini{}", "toxicity-fp32", part, title, *metric))
    lines.append(scores.line("toxicity-mini{}-balanced", None, "wiki_toxic.test", "wiki_toxic, threshold fitted to its validation part",
                             "accuracy", "accuracy, %", percent))
    toxic = scores.toxic("toxicity-mini", "wiki_toxic_context.all")
    natural = scores.metric("toxicity-mini", "wiki_toxic_context.all", "roc_auc")
    points = ["| threshold | comments called toxic | precision, % | recall, % |", "|---|---|---|---|"]
    for (name, part), row in scores.rows.items():
        if part.startswith("wiki_toxic_context.threshold_"):
            precision = percent(row["right"] / row["called"]) if row["called"] else "–"
            points.append(f"| {part.rsplit('_', 1)[1]} | {row['called']} | {precision} | {percent(row['right'] / max(1, row['toxic']))} |")
    calibration = scores.rows["toxicity-mini", "calibration"]["calibration"]
    return {"scores": "\n".join(lines), "threshold": decimal(calibration["thresholds"]["toxic"]),
            "temperature": decimal(calibration["temperature"]), "natural precision": percent(toxic["precision"]),
            "natural recall": percent(toxic["recall"]), "natural called": toxic["answered"],
            "natural AUC": decimal(natural["value"]), "natural comments": f"{natural['count']:,}", "natural toxic": toxic["support"],
            "natural rate": percent(toxic["support"] / natural["count"]),
            "natural table": "\n".join(points)}


def label_fields(scores):
    lines = TABLE_HEAD.copy()
    for part, title in (("wiki_toxic_subtypes.test", "wiki_toxic_labels"),
                        ("jigsaw_wiki.known", "jigsaw_wiki with known labels")):
        for metric in (("micro_f1", "micro F1", decimal), ("macro_f1", "macro F1", decimal), ("roc_auc", "ROC AUC, mean of the labels", decimal)):
            lines.append(scores.line("toxicity-labels-mini{}", "toxicity-labels-fp32", part, title, *metric))
    thresholds = scores.rows["toxicity-labels-mini", "calibration"]["calibration"]["thresholds"]
    labels = ["| label | threshold | precision | recall | F1 | comments with it |", "|---|---|---|---|---|---|"]
    for row in scores.rows["toxicity-labels-mini", "wiki_toxic_subtypes.test"]["classes"]:
        labels.append(f"| {row['label']} | {decimal(thresholds.get(row['label'], 0.5))} | {decimal(row['precision'])} | {decimal(row['recall'])} | "
                      f"{decimal(row['f1'])} | {row['support']} |")
    return {"scores": "\n".join(lines), "scores per label": "\n".join(labels)}


def speed(program, model, comments):
    best, rows = 0, 0
    for _ in range(4):  # the first run packs the weights
        start = time.monotonic()
        answers = subprocess.run([program, "predict", model, comments, "--device", "cpu", "--output-format", "labels", "--quiet"],
                                 capture_output=True, text=True, check=True)
        rows = answers.stdout.count("\n")
        best = max(best, rows / (time.monotonic() - start))
    cpu = re.search("CPU: (.*)", subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout)[1]
    return f"{best:,.0f} comments per second through `predict`, start included ({rows:,} comments of {pathlib.Path(comments).parent.name}; CPU: {cpu})."


def spans(program, model):
    answers = subprocess.run([program, "predict", model, "-", "--device", "cpu", "--output-format", "labels", "--max-target-tokens", "16", "--quiet"],
                             input="\n".join(SPANS) + "\n", capture_output=True, text=True, check=True).stdout.splitlines()
    return "\n".join(["| text | answer |", "|---|---|", *(f"| `{text}` | `{answer}` |" for text, answer in zip(SPANS, answers, strict=True))])


def fill(template, fields):
    missing = sorted(set(re.findall(r"\{\{([^}]*)\}\}", template)) - fields.keys())
    if missing:
        sys.exit("write_model_cards: no value for " + ", ".join(missing))
    return re.sub(r"\{\{([^}]*)\}\}", lambda match: str(fields[match[1]]), template)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("comments")
    parser.add_argument("--program", default="build/convseq")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("models"))
    options = parser.parse_args()
    scores = Scores(options.run / "scores.jsonl")
    pretrain = json.loads((options.run / "pretrain.json").read_text())
    version = re.search("commit (\\S+)", (options.run / "version.txt").read_text())[1]
    rate = re.search("toxicity-([0-9.]+)-", scores.rows["toxicity-mini", "size"]["model"])[1]
    selected = {}  # "comments.train.jsonl: 212537 rows, 31112 toxic"
    for file, rows, toxic in re.findall(r"(\S+)\.jsonl: (\d+) rows, (\d+) toxic", (options.run / "selection.txt").read_text()):
        selected |= {f"rows of {file}": f"{int(rows):,}", f"toxic rows of {file}": f"{int(toxic):,}"}
    common = {**selected, "steps": pretrain["step"], "tokens": f"{pretrain['source_tokens'] / 1e6:,.0f} million",
              "training": f"Commit {version}. Pre-training took {pretrain['step']:,} steps and {pretrain['seconds'] / 60:.1f} minutes; "
                          f"fine-tuning at a peak learning rate of {rate}, chosen on validation, with linear decay."}
    models = {name: options.out / name for name in ("convseq-mini", "toxicity-mini", "toxicity-labels-mini")}
    for name, folder in models.items():
        shutil.copytree(options.run / "models" / name, folder, ignore=shutil.ignore_patterns("packed-*"), dirs_exist_ok=True)
        common[f"size of {name}"] = f"{sum(file.stat().st_size for file in folder.iterdir()) / 1e6:.1f}"
    identity = subprocess.run([sys.executable, HERE / "identity_check.py", models["toxicity-mini"], "--program", options.program],
                              capture_output=True, text=True, check=True).stdout.strip()
    fields = {"convseq-mini": {"validation": decimal(pretrain["best_validation"]), "examples": spans(options.program, models["convseq-mini"])},
              "toxicity-mini": {**filter_fields(scores), "identity table": identity,
                                "speed": speed(options.program, models["toxicity-mini"], options.comments)},
              "toxicity-labels-mini": label_fields(scores)}
    for name, folder in models.items():
        template = (HERE / "model_cards" / f"{name}.md").read_text(encoding="utf-8")
        card = fill(template, {**common, "size": common[f"size of {name}"], **fields[name]})
        (folder / "README.md").write_text(card, encoding="utf-8")
    for name in ("README.md", "SOURCES.md"):
        (options.out / name).write_text(fill((HERE / "model_cards" / name).read_text(encoding="utf-8"), common), encoding="utf-8")
    with open(options.out / "scores.jsonl", "w", encoding="utf-8") as file:
        for row in scores.rows.values():  # without the paths of the machine that trained
            kept = {key: value for key, value in row.items() if key not in ("model", "out", "files")}
            file.write(json.dumps(kept) + "\n")


main()
