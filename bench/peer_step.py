#!/usr/bin/env python3
"""The training step of `convseq bench step` in plain PyTorch, as fast as torch.compile makes it.

The same models (they are built from configs/models), the same parameters, position bias, masks and
clipping; bf16 autocast over fp32 weights, fused AdamW. One JSON line per model and mode:

    python3 bench/peer_step.py > peer.jsonl                 # base size, on a GPU
    build/convseq bench step --device cuda --peer peer.jsonl
    python3 bench/peer_step.py --side-by-side               # compiles all at once, measures one by one
    python3 bench/peer_step.py --models paper-transformer-base --set 'positions="none"'   # attention without a bias
    python3 bench/peer_step.py --check                      # against tests/goldens
"""

import argparse
import contextlib
import gc
import json
import math
import multiprocessing
import statistics
import sys
import threading
import time
from pathlib import Path

import torch
import torch._inductor.config
from torch import nn
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parent.parent
DEFAULTS = {"kernel_sizes": 7, "dilations": 1, "glu": True, "tap_softmax": True, "norm_eps": 1e-6,
            "ffn": "relu", "positions": "none", "relative_buckets": 32, "relative_max_distance": 128,
            "encoder_attention_layers": [], "tie_embeddings": True, "classes": 0}


def preset(name):
    """paper-light-base: the family's file over the size's, as the C++ program reads them."""
    family, size = name.rsplit("-", 1)
    folder = ROOT / "configs" / "models"
    family_json = json.loads((folder / "families" / f"{family}.json").read_text())
    by_size = family_json.pop("by_size", {})
    size_json = json.loads((folder / "sizes" / f"{size}.json").read_text())
    return DEFAULTS | size_json | family_json | by_size.get(size, {})


def override(text):
    key, value = text.split("=")
    return key, json.loads(value)


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


def of_layer(value, layer):
    return value[layer] if isinstance(value, list) else value


class Norm(nn.Module):
    """In fp32, and back to the stream's type: a bf16 stream moves half the bytes."""

    def __init__(self, c):
        super().__init__()
        self.d, self.eps = c["d_model"], c["norm_eps"]
        self.weight = nn.Parameter(torch.ones(self.d))
        self.bias = nn.Parameter(torch.zeros(self.d)) if c["norm"] == "branch_layer_norm" else None

    def forward(self, x):
        if self.bias is not None:
            return F.layer_norm(x, (self.d,), self.weight, self.bias, self.eps).to(x.dtype)
        return F.rms_norm(x.float(), (self.d,), self.weight, self.eps).to(x.dtype)


class Conv(nn.Module):
    def __init__(self, c, layer, causal, how):
        super().__init__()
        self.c, self.how, self.d = c, how, c["d_model"]
        self.k, self.dilation = of_layer(c["kernel_sizes"], layer), of_layer(c["dilations"], layer)
        left = self.k - 1 if causal else self.k // 2
        self.padding = (left * self.dilation, (self.k - 1 - left) * self.dilation)
        self.input = linear(self.d, 2 * self.d if c["glu"] else self.d)
        self.output = linear(self.d, self.d)
        self.dynamic = c["mixer"] == "dynamic"
        self.heads = self.d if c["mixer"] == "depthwise" else c["conv_heads"]
        if self.dynamic:
            self.taps = linear(self.d, self.heads * self.k)
        else:
            self.taps = nn.Parameter(torch.randn(self.heads, self.k))

    def softmaxed(self, taps):
        return taps.float().softmax(-1) if self.c["tap_softmax"] else taps.float()

    def shifted_sum(self, x, taps):  # x [B,T,H,R], taps [..., H,k]
        time_steps = x.size(1)
        padded = F.pad(x, (0, 0, 0, 0, *self.padding))
        terms = (taps[..., j, None] * padded[:, j * self.dilation : j * self.dilation + time_steps]
                 for j in range(self.k))
        return sum(terms).flatten(2).to(x.dtype)

    def conv1d(self, x, taps):  # x [B,T,d], taps [H,k]
        weight = taps.repeat_interleave(self.d // self.heads, 0)[:, None].to(x.dtype)
        padded = F.pad(x.mT, self.padding)
        return F.conv1d(padded, weight, dilation=self.dilation, groups=self.d).mT

    def forward(self, x, real):
        x1 = self.input(x)
        if self.c["glu"]:
            x1 = F.glu(x1, -1)
        if real is not None:
            x1 = x1 * real[..., None].to(x1.dtype)
        if self.dynamic:
            taps = self.softmaxed(self.taps(x1).unflatten(-1, (self.heads, self.k)))
        else:
            taps = self.softmaxed(self.taps)
        if self.how == "conv1d" and not self.dynamic:
            return self.output(self.conv1d(x1, taps))
        return self.output(self.shifted_sum(x1.unflatten(-1, (self.heads, -1)), taps))


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, inner = c["heads"], c["heads"] * c["d_kv"]
        self.query, self.key, self.value = (linear(c["d_model"], inner) for _ in range(3))
        self.output = linear(inner, c["d_model"])

    def forward(self, x, memory, mask, causal=False):
        q, k, v = (w(y).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for w, y in ((self.query, x), (self.key, memory), (self.value, memory)))
        if mask is not None and mask.is_floating_point():
            mask = mask.to(q.dtype)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, scale=1.0)
        return self.output(y.transpose(1, 2).flatten(2))


class FFN(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.up, self.down = linear(c["d_model"], c["d_ff"]), linear(c["d_ff"], c["d_model"])
        self.gate = linear(c["d_model"], c["d_ff"]) if c["ffn"] == "gated_gelu" else None

    def forward(self, x):
        if self.gate is not None:
            return self.down(F.gelu(self.gate(x), approximate="tanh") * self.up(x))
        return self.down(F.relu(self.up(x)))


class Block(nn.Module):
    def __init__(self, c, layer, decoder, how):
        super().__init__()
        self.pre, self.attends, self.decoder = c["norm"] == "pre_rms_norm", c["mixer"] == "attention", decoder
        self.mixer = Attention(c) if self.attends else Conv(c, layer, decoder, how)
        self.mixer_norm = Norm(c)
        if decoder:
            self.cross, self.cross_norm = Attention(c), Norm(c)
        self.ffn, self.ffn_norm = FFN(c), Norm(c)

    def join(self, x, norm, branch):
        return x + (branch(norm(x)) if self.pre else norm(branch(x)))

    def forward(self, x, real, mask, memory=None, memory_mask=None):
        causal = self.decoder and mask is None  # without a bias, which hides the future itself
        mix = (lambda y: self.mixer(y, y, mask, causal)) if self.attends else (lambda y: self.mixer(y, real))
        x = self.join(x, self.mixer_norm, mix)
        if memory is not None:
            x = self.join(x, self.cross_norm, lambda y: self.cross(y, memory, memory_mask))
        return self.join(x, self.ffn_norm, self.ffn)


def relative_buckets(length, causal, buckets, max_distance):
    """T5's, [query, key]."""
    at = torch.arange(length)
    distance, bucket = at[None] - at[:, None], torch.zeros(length, length, dtype=torch.long)
    if causal:
        distance = (-distance).clamp_min(0)
    else:
        buckets //= 2
        bucket, distance = (distance > 0).long() * buckets, distance.abs()
    exact = buckets // 2
    far = torch.log(distance.clamp_min(1) / exact) / math.log(max_distance / exact)
    far = (exact + (far * (buckets - exact)).long()).clamp_max(buckets - 1)
    return bucket + torch.where(distance < exact, distance, far)


class Stack(nn.Module):
    def __init__(self, c, decoder, length, how):
        super().__init__()
        self.decoder = decoder
        layers = c["decoder_layers" if decoder else "encoder_layers"]
        self.relative_bias = None
        if c["positions"] == "relative" and c["mixer"] == "attention":
            self.relative_bias = nn.Embedding(c["relative_buckets"], c["heads"])
            table = relative_buckets(length, decoder, c["relative_buckets"], c["relative_max_distance"])
            self.register_buffer("buckets", table, persistent=False)
            future = torch.ones(length, length, dtype=torch.bool).triu(1)
            self.register_buffer("future", future, persistent=False)
        self.blocks = nn.ModuleList(Block(c, layer, decoder, how) for layer in range(layers))
        self.norm = Norm(c)

    def mask(self, real):  # the stack's, shared by its layers; None where nothing is hidden
        if self.relative_bias is None:
            return None if real is None else real[:, None, None]
        bias = self.relative_bias(self.buckets).permute(2, 0, 1)[None]
        if self.decoder:
            bias = bias.masked_fill(self.future, -math.inf)
        return bias if real is None else bias.masked_fill(~real[:, None, None], -math.inf)

    def forward(self, x, real, memory=None, memory_real=None):
        mask = self.mask(real)
        memory_mask = None if memory_real is None else memory_real[:, None, None]
        for block in self.blocks:
            x = block(x, real, mask, memory, memory_mask)
        return self.norm(x)


class Model(nn.Module):
    def __init__(self, c, source, target, how="shifted", chunk=0):
        super().__init__()
        assert not c["encoder_attention_layers"] and not c["classes"] and c["positions"] != "learned"
        self.c, self.chunk = c, chunk
        self.embedding = nn.Embedding(c["vocab_size"], c["d_model"])
        self.encoder = Stack(c, False, source, how)
        self.decoder = Stack(c, True, target, how)
        if not c["tie_embeddings"]:
            self.output = linear(c["d_model"], c["vocab_size"])

    def embed(self, ids):
        x = self.embedding(ids)
        autocast = torch.is_autocast_enabled(x.device.type)
        return x.to(torch.get_autocast_dtype(x.device.type)) if autocast else x

    def hidden(self, source, real, target):
        encoded = self.encoder(self.embed(source), real)
        x = self.decoder(self.embed(target), None, encoded, real)
        scaled = self.c["tie_embeddings"] and self.c["norm"] == "pre_rms_norm"
        return x * self.c["d_model"] ** -0.5 if scaled else x

    def logits(self, hidden):
        weight = self.embedding.weight if self.c["tie_embeddings"] else self.output.weight
        return F.linear(hidden, weight)

    def forward(self, source, real, target, labels):
        hidden, labels = self.hidden(source, real, target).flatten(0, 1), labels.flatten()
        parts = hidden.split(self.chunk or len(hidden)), labels.split(self.chunk or len(labels))
        total = sum(F.cross_entropy(self.logits(h).float(), y, ignore_index=-100, reduction="sum")
                    for h, y in zip(*parts))
        return total / (labels != -100).sum()


# ---- measuring


def make_batch(c, args, device):
    generator = torch.Generator().manual_seed(1)
    rows = max(1, args.tokens // args.source)
    ids = [torch.randint(2, c["vocab_size"], (rows, n), generator=generator)
           for n in (args.source, args.target)]
    lengths = torch.full((rows,), args.source)
    real = None
    if args.padding > 0:
        share = 1 - 2 * args.padding * torch.rand(rows, generator=generator)
        lengths = (share * args.source).round().long().clamp_min(1)
        real = (torch.arange(args.source) < lengths[:, None]).to(device)
    source, labels = (each.to(device) for each in ids)
    target = F.pad(labels[:, :-1], (1, 0))  # the start token is id 0
    return (source, real, target, labels), int(lengths.sum())


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def median_ms(step, device, args):
    times = []
    for _ in range(args.rounds):
        synchronize(device)
        start = time.perf_counter()
        for _ in range(args.steps):
            step()
        synchronize(device)
        times.append(1e3 * (time.perf_counter() - start) / args.steps)
    return statistics.median(times)


def measure(name, mode, args, alone=contextlib.nullcontext()):
    device, c = torch.device(args.device), preset(name)
    if unknown := dict(args.set).keys() - c.keys():
        raise ValueError(f"no config key {', '.join(unknown)}")
    c |= dict(args.set)
    how = args.conv if args.conv != "auto" else ("conv1d" if mode == "none" else "shifted")
    torch.manual_seed(1)
    model = Model(c, args.source, args.target, how, args.loss_chunk).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    batch, tokens = make_batch(c, args, device)
    if mode.startswith("max-autotune"):
        # Candidates compile in threads here. With the pool of processes, timing those of one matmul took 7 to 40 s
        # instead of less than one (torch 2.11): it seems that they compile once more, one by one.
        torch._inductor.config.compile_threads = 1
    run = model if mode == "none" else torch.compile(model, mode=mode, fullgraph=True)
    bf16 = args.precision == "bf16"

    def step():
        if mode not in ("none", "default"):
            torch.compiler.cudagraph_mark_step_begin()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            loss = run(*batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()

    for _ in range(args.warm_up):
        step()
    synchronize(device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    with alone:
        ms = median_ms(step, device, args)
    # What CUDA graphs use lies in pools that this does not count; 0: not known.
    counted = device.type == "cuda" and mode not in ("max-autotune", "reduce-overhead")
    peak = torch.cuda.max_memory_allocated() if counted else 0
    return {"name": f"train_step_{c['mixer']}_{args.source}",
            "mode": "eager" if mode == "none" else f"torch.compile {mode}",
            "tokens_per_second": 1e3 * tokens / ms, "ms": ms, "peak_gib": peak / 2**30,
            "parameters": sum(p.numel() for p in model.parameters()), "conv": how}


def check_goldens():
    """Outputs and gradients of this model are those of tests/goldens, in fp32."""
    from safetensors import safe_open

    for name in ("light", "depthwise", "dynamic", "dilated", "attention", "light_even_kernel",
                 "light_pre_rms", "light_no_glu_no_softmax"):
        with safe_open(ROOT / "tests" / "goldens" / f"{name}.safetensors", "pt") as file:
            c = DEFAULTS | json.loads(file.metadata()["config"])
            golden = {key: file.get_tensor(key) for key in file.keys()}
        source, target = golden["source"], golden["target"]
        real = torch.arange(source.size(1)) < golden["source_lengths"][:, None]
        for how, chunk in (("shifted", 0), ("conv1d", 5)):
            model = Model(c, source.size(1), target.size(1), how, chunk)
            parameters = {key[6:]: value for key, value in golden.items() if key.startswith("param.")}
            model.load_state_dict(parameters)
            model(source, real, target, golden["labels"]).backward()
            logits = model.logits(model.hidden(source, real, target))
            torch.testing.assert_close(logits, golden["logits"], rtol=2e-5, atol=2e-5)
            for key, parameter in model.named_parameters():
                torch.testing.assert_close(parameter.grad, golden[f"grad.{key}"], rtol=2e-4, atol=2e-5)
        print(f"{name}: logits and gradients agree")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    names = "paper-light-base,paper-dynamic-base,paper-transformer-base"
    parser.add_argument("--models", default=names, help="presets, with commas between")
    parser.add_argument("--set", nargs="+", action="extend", default=[], type=override, metavar="KEY=VALUE",
                        help="override config keys: --set encoder_layers=3 decoder_layers=3")
    parser.add_argument("--compile", default="default,max-autotune,none",
                        help="modes of torch.compile, with commas between; none: eager")
    parser.add_argument("--source", type=int, default=512)
    parser.add_argument("--target", type=int, default=114)
    parser.add_argument("--tokens", type=int, default=32768, help="source tokens per step")
    parser.add_argument("--padding", type=float, default=0, help="fraction of padding in the sources")
    parser.add_argument("--conv", default="auto", choices=("auto", "shifted", "conv1d"),
                        help="auto: the shifted sum compiled, conv1d eager; the faster each")
    parser.add_argument("--loss-chunk", type=int, default=0, help="targets at a time; 0: all")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", default="", choices=("", "bf16", "fp32"),
                        help="else bf16 on a GPU, fp32 on a CPU")
    parser.add_argument("--warm-up", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10, help="timed steps per round")
    parser.add_argument("--side-by-side", action="store_true",
                        help="compile each model in its own process, in parallel")
    parser.add_argument("--check", action="store_true", help="only compare with tests/goldens")
    args = parser.parse_args()
    args.precision = args.precision or ("bf16" if args.device == "cuda" else "fp32")
    return args


class Alone:
    """Entered by one process at a time, after all have arrived or given up."""

    def __init__(self, context, count):
        self.all_ready, self.turn = context.Barrier(count), context.Lock()

    def __enter__(self):
        with contextlib.suppress(threading.BrokenBarrierError):
            self.all_ready.wait()
        self.turn.acquire()

    def __exit__(self, *_):
        self.turn.release()


def report(name, mode, args, alone=contextlib.nullcontext()):
    torch.set_float32_matmul_precision("high")
    try:
        print(json.dumps(measure(name, mode, args, alone)), flush=True)
    except Exception as error:  # the other models are still measured
        print(f"{name}, {mode}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        if isinstance(alone, Alone):
            alone.all_ready.abort()


def main():
    args = arguments()
    if args.check:
        return check_goldens()
    jobs = [(name, mode) for mode in args.compile.split(",") for name in args.models.split(",")]
    if args.side_by_side:
        context = multiprocessing.get_context("spawn")
        alone = Alone(context, len(jobs))
        processes = [context.Process(target=report, args=(*job, args, alone)) for job in jobs]
        for process in processes:
            process.start()
        return [process.join() for process in processes]
    for name, mode in jobs:
        report(name, mode, args)
        torch.compiler.reset()
        gc.collect()
        if args.device == "cuda":
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
