#!/usr/bin/env python3
"""How often does a filter for toxic comments answer "toxic" because of a name or an identity term?

    tools/identity_check.py MODEL [--program build/convseq] [--json]

Fills the sentences of tools/identity_templates.json with identity terms and names, lets `convseq predict` answer them at the
model's stored threshold, and prints per group: the share of neutral sentences and of counter-speech that is called toxic (false
positives), and the share of hostile sentences that is found (recall). The group "none" holds words that name no identity.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess

KINDS = ("neutral", "counter-speech", "hostile")


def sentences(templates):
    """Yields (kind, group, word, sentence)."""
    for kind in KINDS:
        for field, groups in (("term", templates["terms"]), ("name", templates["names"])):
            for group, words in groups.items():
                for word in words:
                    for template in templates[kind][field]:
                        text = re.sub(r"\ba \{term\}", ("an " if word[0] in "AEIOaeio" else "a ") + "{term}", template)
                        text = text.replace("{" + field + "}", word)
                        yield kind, group, word, text[0].upper() + text[1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--program", default="build/convseq")
    parser.add_argument("--label", default="toxic", help="the label that a filter gives to toxic comments")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    templates = json.loads((pathlib.Path(__file__).parent / "identity_templates.json").read_text(encoding="utf-8"))
    rows = list(sentences(templates))
    answers = subprocess.run([options.program, "predict", options.model, "-", "--input-format", "lines", "--quiet"],
                             input="".join(row[3] + "\n" for row in rows), capture_output=True, text=True, check=True)
    counts = collections.defaultdict(lambda: [0, 0])
    words = collections.defaultdict(lambda: [0, 0])
    for (kind, group, word, _), line in zip(rows, answers.stdout.splitlines(), strict=True):
        answer = json.loads(line)
        toxic = options.label in answer.get("labels", [answer.get("label")])
        total = "all names" if group.startswith("names") else "all terms but none"
        for key in (group, *([total] if group != "none" else [])):
            counts[key, kind][0] += toxic
            counts[key, kind][1] += 1
        if kind == "neutral":
            words[word][0] += toxic
            words[word][1] += 1
    groups = sorted(dict.fromkeys(group for group, _ in counts), key=lambda group: (group.startswith("all"), "names" in group))
    worst = sorted(((toxic / count, word) for word, (toxic, count) in words.items() if toxic), reverse=True)[:8]
    if options.json:
        print(json.dumps({"groups": {group: {kind: {"toxic": counts[group, kind][0], "sentences": counts[group, kind][1]}
                                             for kind in KINDS} for group in groups},
                          "worst": {word: share for share, word in worst}}))
        return
    print("| group | neutral: called toxic | counter-speech: called toxic | hostile: found |\n|---|---|---|---|")
    for group in groups:
        cells = ("{:.1%} of {}".format(counts[group, kind][0] / counts[group, kind][1], counts[group, kind][1]) for kind in KINDS)
        print(f"| {group} | " + " | ".join(cells) + " |")
    print("\nNeutral sentences called toxic, by word: " + (", ".join(f"{word} {share:.0%}" for share, word in worst) or "none"))


main()
