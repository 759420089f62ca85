"""Writes optimizers.safetensors next to itself: where other people's optimizers go in 50 steps.

    pip install torch==2.11.0 transformers==5.22.2 safetensors
    python make_optimizer_goldens.py

    adafactor        transformers' Adafactor; without decay also checked against torch.optim.Adafactor
    adamw            torch.optim.AdamW
    adamw_rms        AdamW times max(1e-3, RMS(parameter)), written out below

"<kind>.<parameter>" and, with weight decay, "<kind>_decay.<parameter>": [steps, probes + 1] float64:
after each step some elements spread over the parameter, and its RMS. Starts, gradients and learning
rates are formulas, so tests/train/optim/optimizer_test.cpp makes the same ones.
"""

from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers.optimization import Adafactor

STEPS, PROBES, DECAY = 50, 8, 0.1

# name: (shape, size of the start). T5 factors where both of the two largest dimensions are >= 128.
PARAMETERS = {
    "factored": ((128, 130), 1.0),
    "factored_twin": ((128, 130), 0.3),  # one shape: stacked with the one above
    "factored_cube": ((128, 2, 129), 1.0),  # over dimensions 0 and 2
    "unfactored": ((127, 160), 1.0),  # one row short
    "vector": ((37,), 1.0),
    "vector_tiny": ((37,), 1e-5),  # RMS under 1e-3
    "zeros": ((5, 7), 0.0),
}


def learning_rate(t):
    return 0.02 + 0.01 * torch.sin(torch.tensor(float(t), dtype=torch.float64)).item()


class Bowl:
    """A parameter that is pulled to a target, with a gradient that also swings by itself."""

    def __init__(self, seed, shape, size):
        self.i = torch.arange(torch.Size(shape).numel(), dtype=torch.float64).reshape(shape)
        self.start = size * torch.cos(1.3 * self.i + seed)
        self.curvature = 1.5 + torch.sin(0.7 * self.i + seed)
        self.target = torch.sin(0.11 * self.i + seed)

    def gradient(self, p, t):
        return self.curvature * (p - self.target) + 0.3 * torch.cos(self.i + t)


BOWLS = {name: Bowl(seed, *spec) for seed, (name, spec) in enumerate(PARAMETERS.items())}


def probe(p):
    flat = p.flatten()
    return torch.cat([flat[torch.arange(PROBES) * len(flat) // PROBES], flat.square().mean().sqrt()[None]])


def trajectory(make, layout=lambda name, x: x, inverse=lambda name, x: x):
    """What make([(parameters, decays)]) does with each parameter, held as layout(name, start)."""
    held = {name: torch.nn.Parameter(layout(name, bowl.start).clone()) for name, bowl in BOWLS.items()}
    optimizer = make([{"params": [held[name] for name in held if (BOWLS[name].i.dim() > 1) == decays],
                       "decays": decays} for decays in (True, False)])
    out = {name: [] for name in held}
    for t in range(1, STEPS + 1):
        for name, p in held.items():
            p.grad = layout(name, BOWLS[name].gradient(inverse(name, p.detach()), t)).clone()
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(t)
        optimizer.step()
        for name, p in held.items():
            out[name].append(probe(inverse(name, p.detach())))
    return {name: torch.stack(rows) for name, rows in out.items()}


def with_decay(groups, decay):
    return [{"params": g["params"], "weight_decay": decay if g["decays"] else 0.0} for g in groups]


# transformers and torch factor every matrix, over its last two dimensions. What T5 leaves whole goes
# in flat, and the cube with its small dimension first.
def t5_layout(name, x):
    return x.permute(1, 0, 2) if name == "factored_cube" else x if "factored" == name[:8] else x.flatten()


def t5_inverse(name, x):
    return x.permute(1, 0, 2) if name == "factored_cube" else x.reshape(PARAMETERS[name][0])


def adafactor(decay):
    ours = trajectory(lambda groups: Adafactor(with_decay(groups, decay), lr=1.0, relative_step=False,
                                               scale_parameter=True), t5_layout, t5_inverse)
    if decay == 0:  # torch's decays by the bare learning rate: a different rule, not compared
        torchs = trajectory(lambda groups: torch.optim.Adafactor(with_decay(groups, 0), eps=(1e-30, 1e-3)),
                            t5_layout, t5_inverse)
        for name in ours:
            torch.testing.assert_close(torchs[name], ours[name], rtol=1e-9, atol=1e-9)
    return ours


def adamw(decay):
    return trajectory(lambda groups: torch.optim.AdamW(with_decay(groups, decay)))


class AdamWRms(torch.optim.Optimizer):
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                s = self.state.setdefault(p, {})
                t = s["t"] = s.get("t", 0) + 1
                s["m"] = 0.9 * s.get("m", 0) + 0.1 * p.grad
                s["v"] = 0.999 * s.get("v", 0) + 0.001 * p.grad * p.grad
                m, v = s["m"] / (1 - 0.9**t), s["v"] / (1 - 0.999**t)
                size = max(1e-3, p.square().mean().sqrt().item())
                p.copy_(p * (1 - group["lr"] * group["weight_decay"])
                        - group["lr"] * size * m / (v.sqrt() + 1e-8))


def adamw_rms(decay):
    return trajectory(lambda groups: AdamWRms(with_decay(groups, decay), {"lr": 0.0}))


if __name__ == "__main__":
    torch.set_num_threads(1)
    tensors = {f"{make.__name__}{suffix}.{name}": rows
               for make in (adafactor, adamw, adamw_rms)
               for suffix, decay in (("", 0.0), ("_decay", DECAY))
               for name, rows in make(decay).items()}
    save_file(tensors, Path(__file__).parent / "optimizers.safetensors")
