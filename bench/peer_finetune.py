#!/usr/bin/env python3
"""The fine-tuning of `convseq bench finetune` with Hugging Face's T5 of the same sizes.

bf16 autocast over fp32 weights, fused AdamW, clipping; random tokens in the shapes that convseq trains on.
Eager steps take the batches as they are; compiled steps take them padded to few shapes, as convseq's captured
steps do. One JSON line per size and mode:

    build/convseq bench finetune --shapes shapes.json
    python3 bench/peer_finetune.py shapes.json > peer.jsonl   # compiles all at once, measures one by one
    build/convseq bench finetune --device cuda --peer peer.jsonl
"""

import argparse
import collections
import contextlib
import gc
import itertools
import json
import multiprocessing
import statistics
import sys
import time
from pathlib import Path

import torch
import torch._dynamo
from peer_step import Alone, preset, synchronize
from torch import nn


def t5(size, dropout):
    from transformers import T5Config, T5ForConditionalGeneration

    c = preset(f"paper-transformer-{size}")
    config = T5Config(vocab_size=c["vocab_size"], d_model=c["d_model"], d_kv=c["d_kv"], d_ff=c["d_ff"],
                      num_layers=c["encoder_layers"], num_decoder_layers=c["decoder_layers"],
                      num_heads=c["heads"], relative_attention_num_buckets=c["relative_buckets"],
                      relative_attention_max_distance=c["relative_max_distance"],
                      feed_forward_proj=c["ffn"], dropout_rate=dropout, decoder_start_token_id=0)
    torch.manual_seed(1)
    return T5ForConditionalGeneration(config).train()


def make_batch(shape, padded, vocabulary, generator, pin):
    """Random tokens of `shape`, as part of a batch of the shape `padded`."""
    (rows, source, target), (all_rows, source_width, target_width) = shape, padded
    ids = torch.randint(2, vocabulary, (all_rows, source_width), generator=generator)
    labels = torch.randint(2, vocabulary, (all_rows, target_width), generator=generator)
    mask = torch.zeros_like(ids)
    mask[:rows, :source] = 1
    mask[rows:, :1] = 1  # a row without any token would be attended to nowhere
    labels[rows:] = -100
    labels[:, target:] = -100
    batch = {"input_ids": ids * mask, "attention_mask": mask, "labels": labels}
    return {key: value.pin_memory() if pin else value for key, value in batch.items()}


class Trainer:
    def __init__(self, size, mode, args):
        self.device, self.args = torch.device(args.device), args
        self.model = t5(size, args.dropout).to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.run, self.graphs = self.loss, mode.startswith("reduce-overhead")
        if mode != "none":
            torch._dynamo.config.recompile_limit = 64  # one compilation per shape
            mode, _, dynamic = mode.partition("+")
            self.run = torch.compile(self.loss, mode=mode, dynamic=dynamic == "dynamic")

    def loss(self, batch):
        return self.model(**batch, use_cache=False).loss

    def step(self, batch):
        batch = {key: value.to(self.device, non_blocking=True) for key, value in batch.items()}
        if self.graphs:
            torch.compiler.cudagraph_mark_step_begin()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.args.precision == "bf16"):
            loss = self.run(batch)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0, foreach=True)
        self.optimizer.step()

    def warm_up(self, batches, seconds):
        """Three steps of each shape, the most frequent first, until the time is spent; returns these shapes."""
        start, ready = time.perf_counter(), []
        for shape, _ in collections.Counter(shape for shape, _ in batches).most_common():
            if ready and time.perf_counter() - start > seconds:
                break
            batch = next(batch for each, batch in batches if each == shape)
            for _ in range(3):
                self.step(batch)
            synchronize(self.device)
            ready.append(shape)
        return set(ready), time.perf_counter() - start

    def median_ms(self, batches):
        per_round, times = max(1, self.args.steps // self.args.rounds), []
        stream = itertools.cycle(batches)
        for _ in range(self.args.rounds):
            synchronize(self.device)
            start = time.perf_counter()
            for _, batch in itertools.islice(stream, per_round):
                self.step(batch)
            synchronize(self.device)
            times.append(1e3 * (time.perf_counter() - start) / per_round)
        return statistics.median(times)


def measure(size, mode, args, alone):
    shapes = json.loads(Path(args.shapes).read_text())
    natural = [tuple(shape) for shape in shapes["batches"]]
    padded = natural if mode == "none" else [tuple(shape) for shape in shapes["padded"]]
    trainer = Trainer(size, mode, args)
    config, generator = trainer.model.config, torch.Generator().manual_seed(1)
    batches = [(to, make_batch(shape, to, config.vocab_size, generator, args.device == "cuda"))
               for shape, to in zip(natural, padded)]
    if mode == "none":
        trainer.warm_up(batches[:4], args.warm_up_seconds)  # any shape will do
        timed, seconds = batches, 0
    else:
        ready, seconds = trainer.warm_up(batches, args.warm_up_seconds)
        timed = [(shape, batch) for shape, batch in batches if shape in ready]
    with alone:
        ms = trainer.median_ms(timed)
    return {"d_model": config.d_model, "size": size,
            "mode": "eager" if mode == "none" else f"torch.compile {mode}", "steps_per_second": 1e3 / ms, "ms": ms,
            "shapes": len({shape for shape, _ in timed}), "share_of_batches": len(timed) / len(batches), "warm_up_seconds": seconds,
            "parameters": sum(p.numel() for p in trainer.model.parameters()), "dropout": args.dropout,
            "attention": getattr(config, "_attn_implementation", None)}


def report(size, mode, args, alone=contextlib.nullcontext()):
    torch.set_float32_matmul_precision("high")
    try:
        print(json.dumps(measure(size, mode, args, alone)), flush=True)
    except Exception as error:  # the others are still measured
        print(f"{size}, {mode}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        if isinstance(alone, Alone):
            alone.all_ready.abort()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("shapes", help="JSON file that convseq bench finetune --shapes has written")
    parser.add_argument("--sizes", default="small,mini", help="sizes of the presets, with commas between")
    parser.add_argument("--compile", default="none,default+dynamic,reduce-overhead,reduce-overhead+dynamic",
                        help="modes of torch.compile, with commas between; none: eager;\n"
                             "+dynamic: one compilation for all shapes instead of one per shape")
    parser.add_argument("--dropout", type=float, default=0, help="as in the presets of convseq")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", default="", choices=("", "bf16", "fp32"),
                        help="default: bf16 on a GPU, fp32 on a CPU")
    parser.add_argument("--steps", type=int, default=200, help="timed steps")
    parser.add_argument("--rounds", type=int, default=4, help="timings of steps/rounds steps each; their median")
    parser.add_argument("--warm-up-seconds", type=float, default=60,
                        help="time to compile shapes in; the steps of all others are left out")
    parser.add_argument("--one-by-one", action="store_true", help="do not compile in parallel processes")
    args = parser.parse_args()
    args.precision = args.precision or ("bf16" if args.device == "cuda" else "fp32")
    return args


def main():
    args = arguments()
    jobs = [(size, mode) for mode in args.compile.split(",") for size in args.sizes.split(",")]
    compiled = [] if args.one_by_one else [job for job in jobs if job[1] != "none"]
    for job in jobs:
        if job not in compiled:
            report(*job, args)
            torch.compiler.reset()
            gc.collect()
    context = multiprocessing.get_context("spawn")
    alone = Alone(context, len(compiled)) if compiled else None
    processes = [context.Process(target=report, args=(*job, args, alone)) for job in compiled]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


if __name__ == "__main__":
    main()
