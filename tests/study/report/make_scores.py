#!/usr/bin/env python3
"""Writes scores.jsonl: made-up results of a small study, with one collapsed run and one failed cell."""

import base64
import datetime
import hashlib
import json
import random

EXAMPLES = 80
TASKS = ["sst2", "jigsaw_wiki", "cogs"]
SKILL = {"transformer": 0.03, "light": 0.0, "dynamic": 0.02, "light_attention": 0.05, "light_no_glu": -0.2}


def bits(values):
    packed = bytearray((len(values) + 7) // 8)
    for i, value in enumerate(values):
        packed[i // 8] |= bool(value) << (i % 8)
    return base64.b64encode(bytes(packed)).decode()


def draw(key):
    return random.Random(key)


def split(task, name, skill, key, collapsed):
    hardness = draw(f"{task} {name} examples")
    run = draw(f"{key} {name}")
    positives = [hardness.random() < 0.3 for _ in range(EXAMPLES)]
    right = [run.random() < min(0.98, max(0.02, skill + hardness.uniform(-0.4, 0.4))) for _ in range(EXAMPLES)]
    if collapsed:
        right = [not positive for positive in positives]
    share = round(sum(right) / EXAMPLES, 6)
    metric = "exact_match" if task == "cogs" else "accuracy"
    result = {"examples": EXAMPLES, "metrics": {metric: share}}
    if task == "jigsaw_wiki":
        hits = sum(r and p for r, p in zip(right, positives))
        errors = EXAMPLES - sum(right)
        result["metrics"]["f1"] = round(2 * hits / max(1, 2 * hits + errors), 6)
        result["metrics"]["roc_auc"] = round(0.5 + 0.5 * share * run.uniform(0.9, 1), 6)
    if task == "cogs":
        half = EXAMPLES // 2
        result["categories"] = {
            "noun in a new role": [round(sum(right[:half]) / half, 6), half],
            "deeper clauses": [round(sum(right[half:]) / half, 6), half],
        }
    if collapsed:
        result["collapsed"] = True
    if name != "validation":
        result["outcomes"] = {"metric": metric, "examples": EXAMPLES, "bits": bits(right)}
        if task == "jigsaw_wiki":
            result["outcomes"]["positives"] = bits(positives)
    return result


def cell(kind, **fields):
    key = json.dumps([kind, fields], sort_keys=True)
    return {"id": hashlib.sha256(key.encode()).hexdigest()[:32], "kind": kind, **fields}, key


def config(model, size):
    """As the presets paper-*-mini and paper-*-small have it, and the changes of the two last models."""
    layers, heads = {256: (4, 4), 512: (6, 8)}[size]
    result = {"mixer": model.split("_")[0], "d_model": size, "d_ff": 4 * size, "encoder_layers": layers, "decoder_layers": layers}
    result |= {"heads": heads, "conv_heads": heads, "d_kv": 64}
    if model == "transformer":
        result |= {"mixer": "attention", "norm": "pre_rms_norm", "positions": "relative"}
    if model == "light_attention":
        result["encoder_attention_layers"] = [1]
    if model == "light_no_glu":
        result["glu"] = False
    return result


def footer(model, size, origin=None):
    inputs = {"model": config(model, size)}
    if origin:
        inputs["start"] = origin
    return {"commit": "1234567", "inputs": inputs}


def pretrain(part, model, seed, size=256, task=None, tokens=64000000):
    fields = {"parts": [part], "model": model, "start": "self" if task else "pretrained"}
    if task:
        fields["task"] = task
    result, key = cell("pretrain", **fields, seed=seed, size=size, tokens=tokens)
    del result["size"], result["tokens"]
    noise = draw(key)
    final = 3.0 - 0.1 * (size > 256) - SKILL[model] + noise.uniform(-0.01, 0.01)
    seconds = 100 + 20 * (model == "transformer") + 50 * (size > 256)
    return result | {
        "nll": round(final, 4),
        "steps": 1000,
        "source_tokens": tokens,
        "seconds": seconds,
        "total_seconds": seconds + 5,
        "parameters": 11000000 if size == 256 else 50000000,
        "flops": seconds * 1e13,
        "validation": [[step, round(final + 400 / step, 4)] for step in (100, 200, 400, 700, 1000)],
        "device": "h200",
    } | footer(model, size)


def finetune(part, model, start, task, seed, rate, chosen, pretrainings=1, size=256, far=0.0, collapsed=False, origin=None):
    fields = {"parts": [part], "model": model, "start": start, "task": task, "learning_rate": rate, "seed": seed}
    if start != "scratch":
        fields["pretraining_seed"] = (seed - 1) % pretrainings + 1
    if chosen:
        fields["chosen"] = True
    result, key = cell("finetune", **fields, size=size)
    del result["size"]
    skill = 0.6 + SKILL[model] - far + {"scratch": 0, "pretrained": 0.2, "self": 0.1}[start]
    skill += draw(f"{model} {start} {fields.get('pretraining_seed')} {size}").uniform(-0.02, 0.02)
    skill -= 0.1 * (not chosen)
    splits = ["validation", "test"] + ["gen"] * (task == "cogs")
    return result | {
        "splits": {name: split(task, name, skill - 0.2 * (name == "gen"), key, collapsed) for name in splits},
        "steps": 300,
        "source_tokens": 300000,
        "seconds": 10,
        "total_seconds": 12.5,
        "parameters": 11000000 if size == 256 else 50000000,
        "flops": 1e14,
        "device": "h200",
    } | footer(model, size, origin)


def runs(part, model, start, task, seeds, **more):
    yield finetune(part, model, start, task, 1, 0.001, False, **more)
    for seed in range(1, seeds + 1):
        yield finetune(part, model, start, task, seed, 0.003, True, **more)


def study():
    for model in ("transformer", "light", "dynamic"):
        pretrained = [pretrain("main", model, seed) for seed in (1, 2)]
        yield from pretrained
        for task in TASKS:
            yield from runs("main", model, "scratch", task, 4)
            yield from runs("main", model, "pretrained", task, 4, pretrainings=2, origin=pretrained[0]["id"])
    yield finetune("main", "dynamic", "scratch", "sst2", 5, 0.003, True, collapsed=True)
    yield from runs("attention", "light_attention", "pretrained", "sst2", 3)
    changed = pretrain("ablations", "light_no_glu", 1)
    yield changed
    yield from runs("ablations", "light_no_glu", "pretrained", "sst2", 3, origin=changed["id"])
    short = pretrain("budgets", "light", 1, tokens=8000000)
    yield short
    yield from runs("budgets", "light", "pretrained", "sst2", 3, far=0.1, origin=short["id"])
    yield pretrain("self", "light", 1, task="sst2")
    yield from runs("self", "light", "self", "sst2", 3)
    for distance in (8, 128):
        for model in ("transformer", "light"):
            far = 0.1 if model == "light" and distance > 8 else 0.0
            yield from runs("distance", model, "scratch", f"long_range_{distance}", 3, far=far)
    for model in ("transformer", "light"):
        yield pretrain("main", model, 1, size=512)
        for task in TASKS:
            yield finetune("main", model, "pretrained", task, 1, 0.003, True, size=512)
    failed, _ = cell("finetune", parts=["main"], model="light", start="scratch", task="cogs", learning_rate=0.01, seed=1)
    yield failed | {"failed": "the loss is not finite at step 7"} | footer("light", 256)


def timed(results):
    """Fine-tunings one after another, beside the pre-trainings that were begun before them."""
    clock = datetime.datetime(2026, 1, 2, 3, 4, 5)
    for result in results:
        seconds = datetime.timedelta(seconds=round(result.get("total_seconds", 0)))
        if result["kind"] == "finetune":
            clock += seconds
            seconds *= 0
        yield result | {"finished": (clock + seconds).strftime("%Y-%m-%dT%H:%M:%SZ")}


if __name__ == "__main__":
    with open("scores.jsonl", "w") as file:
        for result in timed(study()):
            file.write(json.dumps(result, separators=(",", ":"), ensure_ascii=False) + "\n")
