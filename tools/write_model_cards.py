#!/usr/bin/env python3
"""Writes the cards of the models under models/ from their scores.

    tools/write_model_cards.py [--check]

A card is a template of tools/model_cards, filled with rows of models/scores.jsonl (tools/take_models.py) and of bench/results. The
scores must belong to the thresholds of the model folders. --check writes nothing, and fails where a card is not what its template
and the scores give.
"""
import argparse
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parent.parent
MODELS = ROOT / "models"
TEMPLATES = ROOT / "tools" / "model_cards"
SEEDS = ("", "-2", "-3")  # suffixes of the models of each fine-tuning seed; the first is shipped
WITHOUT_THRESHOLD = ("roc_auc", "average_precision")
TABLE_HEAD = ["| test set | metric | shipped model [95% interval] | mean of three seeds (range) | before int8 |", "|---|---|---|---|---|"]


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

    def same_rule(self, name, other):
        """Whether the thresholds of two models were fitted in the same way."""
        return self.rows[name, "calibration"]["calibration"]["fitted"] == self.rows[other, "calibration"]["calibration"]["fitted"]

    def line(self, names, before, part, test_set, metric, label, shown):
        """A row of a table: the shipped model with its interval, the seeds, and the model before int8."""
        names = [names.format(seed) for seed in SEEDS]
        first = self.metric(names[0], part, metric)
        comparable = [name for name in (*names, before) if name and (metric in WITHOUT_THRESHOLD or self.same_rule(names[0], name))]
        seeds = [self.metric(name, part, metric)["value"] for name in names if name in comparable]
        mean = f"{shown(sum(seeds) / len(seeds))} ({shown(min(seeds))}–{shown(max(seeds))})" if len(seeds) == len(SEEDS) else "–"
        whole = shown(self.metric(before, part, metric)["value"]) if before in comparable else "–"
        title = f"{test_set}; {first['count']:,} comments, {percent(self.toxic(names[0], part)['support'] / first['count'])}% toxic"
        return (f"| {title} | {label} | {shown(first['value'])} [{shown(first['low'])}, {shown(first['high'])}] | "
                f"{mean} | {whole} |")


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
    for (_, part), row in scores.rows.items():
        if part.startswith("wiki_toxic_context.threshold_"):
            precision = percent(row["right"] / row["called"]) if row["called"] else "–"
            points.append(f"| {part.rsplit('_', 1)[1]} | {row['called']} | {precision} | {percent(row['right'] / max(1, row['toxic']))} |")
    calibration = scores.rows["toxicity-mini", "calibration"]["calibration"]
    speed = scores.rows["toxicity-mini", "speed"]
    return {"scores": "\n".join(lines), "threshold": decimal(calibration["thresholds"]["toxic"]),
            "temperature": decimal(calibration["temperature"]), "natural precision": percent(toxic["precision"]),
            "natural recall": percent(toxic["recall"]), "natural called": toxic["answered"],
            "natural AUC": decimal(natural["value"]), "natural comments": f"{natural['count']:,}", "natural toxic": toxic["support"],
            "natural rate": percent(toxic["support"] / natural["count"]), "natural table": "\n".join(points),
            **identity_fields(scores.rows["toxicity-mini", "identity"]),
            "speed": f"{speed['comments_per_second']:,}", "speed comments": f"{speed['comments']:,}", "speed set": speed["set"],
            "speed threads": speed["threads"], "speed CPU": speed["cpu"], "speed command": speed["command"],
            "speed commit": speed["commit"]}


def identity_fields(row):
    kinds = ("neutral", "counter-speech", "hostile")
    lines = ["| group | neutral: called toxic | counter-speech: called toxic | hostile: found |", "|---|---|---|---|"]
    for group, counts in row["groups"].items():
        cells = (f"{percent(counts[kind]['toxic'] / counts[kind]['sentences'])}% of {counts[kind]['sentences']}" for kind in kinds)
        lines.append(f"| {group} | " + " | ".join(cells) + " |")
    words = ", ".join(f"{word} {share:.0%}" for word, share in row["worst"].items()) or "none"
    baseline = row["groups"]["none"]["counter-speech"]
    return {"identity table": "\n".join(lines), "identity words": words, "worst word": next(iter(row["worst"]), "none"),
            "baseline counter-speech": f"{baseline['toxic'] / baseline['sentences']:.0%}"}


def label_fields(scores):
    lines = TABLE_HEAD.copy()
    for part, title in (("wiki_toxic_subtypes.test", "wiki_toxic_labels"),
                        ("jigsaw_wiki.known", "jigsaw_wiki with known labels")):
        for metric in (("roc_auc", "ROC AUC, mean of the labels", decimal), ("micro_f1", "micro F1", decimal), ("macro_f1", "macro F1", decimal)):
            lines.append(scores.line("toxicity-labels-mini{}", "toxicity-labels-fp32", part, title, *metric))
    calibration = scores.rows["toxicity-labels-mini", "calibration"]
    thresholds = calibration["calibration"]["thresholds"]
    known = {row["label"]: row for row in scores.rows["toxicity-labels-mini", "jigsaw_wiki.known"]["classes"]}
    labels = ["| label | threshold | wiki_toxic_labels: positives, predicted, true positives | jigsaw_wiki with known labels: positives, predicted, true positives |",
              "|---|---|---|---|"]

    def counts(row):
        return f"{row['support']}, {row['answered']}, {round(row['recall'] * row['support'])}"

    for row in scores.rows["toxicity-labels-mini", "wiki_toxic_subtypes.test"]["classes"]:
        label = row["label"]
        threshold = f"{decimal(thresholds[label])}" if label in thresholds else "0.5, not fitted"
        labels.append(f"| {label} | {threshold} | {counts(row)} | {counts(known[label])} |")
    support = {row["label"]: row["support"] for row in calibration["classes"]}
    return {"scores": "\n".join(lines), "scores per label": "\n".join(labels),
            "fitted labels": ", ".join(f"`{label}`" for label in support if label in thresholds),
            "other labels": ", ".join(f"`{label}` ({count})" for label, count in support.items() if label not in thresholds),
            "least positives": calibration["calibration"]["fitted"].get("min_positives", 1)}


def start_fields(scores):
    """Of convseq-mini: span filling, and what it is worth as a start."""
    examples = scores.rows["convseq-mini", "spans"]["examples"]
    lines = ["| text | filled |", "|---|---|", *(f"| `{each['source']}` | {each['filled']} |" for each in examples)]
    tuned = json.loads((ROOT / "bench/results/finetune-from-mini-aarch64-2cores.json").read_text())
    means = {row["name"]: row["value"] for row in tuned["results"] if "seeds" in row}
    return {"validation": decimal(scores.rows["convseq-mini", "pretraining"]["best_validation"]), "examples": "\n".join(lines),
            "trec6 pretrained": f"{means['trec6_pretrained']:.1f}", "trec6 scratch": f"{means['trec6_scratch']:.1f}"}


def common_fields(scores):
    pretrain = scores.rows["convseq-mini", "pretraining"]
    fields = {"steps": pretrain["step"], "tokens": f"{pretrain['source_tokens'] / 1e6:,.0f} million",
              "training": f"Commit {pretrain['commit']}. Pre-training took {pretrain['step']:,} steps and {pretrain['seconds'] / 60:.1f} minutes on one "
                          f"{pretrain['gpu']}.",
              "learning rate": scores.rows["toxicity-mini", "learning_rate"]["value"]}
    for file, counts in scores.rows["comments", "selection"]["files"].items():
        fields |= {f"rows of {file}": f"{counts['rows']:,}", f"toxic rows of {file}": f"{counts['toxic']:,}"}
    for name in ("convseq-mini", "toxicity-mini", "toxicity-labels-mini"):
        fields[f"size of {name}"] = f"{scores.rows[name, 'size']['bytes'] / 1e6:.1f}"
    return fields


def fill(template, fields):
    missing = sorted(set(re.findall(r"\{\{([^}]*)\}\}", template)) - fields.keys())
    if missing:
        sys.exit("write_model_cards: no value for " + ", ".join(missing))
    return re.sub(r"\{\{([^}]*)\}\}", lambda match: str(fields[match[1]]), template)


def cards():
    """Yields (file, text)."""
    scores = Scores(MODELS / "scores.jsonl")
    check_calibration(scores)
    common = common_fields(scores)
    fields = {"convseq-mini": start_fields(scores), "toxicity-mini": filter_fields(scores), "toxicity-labels-mini": label_fields(scores)}
    for name, own in fields.items():
        template = (TEMPLATES / f"{name}.md").read_text(encoding="utf-8")
        yield MODELS / name / "README.md", fill(template, {**common, "size": common[f"size of {name}"], **own})
    for name in ("README.md", "SOURCES.md"):
        yield MODELS / name, fill((TEMPLATES / name).read_text(encoding="utf-8"), common)


def check_calibration(scores):
    for name in ("toxicity-mini", "toxicity-labels-mini"):
        file = MODELS / name / "calibration.json"
        if json.loads(file.read_text()) != scores.rows[name, "calibration"]["calibration"]:
            sys.exit(f"{file}: is not the calibration with which the model was scored")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    for file, text in cards():
        if not options.check:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            sys.exit(f"{file}: is not what tools/write_model_cards.py writes; run it, and commit the change")


main()
