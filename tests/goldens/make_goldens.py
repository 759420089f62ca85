"""Writes the golden files of convseq's tests, next to itself.

A second implementation of the model, written from the paper's formulas and not from the C++: slow,
plain, and checked against torch's conv1d and Hugging Face's T5 as it writes.

    pip install torch==2.11.0 transformers==5.22.2 safetensors numpy
    python make_goldens.py

<name>.safetensors: a convseq model (metadata "config"), its parameters, a batch, outputs, gradients.
hf_t5_*/: a tiny T5 as transformers saves it, and expected.safetensors with what it computes.

Rows of `encoded` and `logits` past their length are not part of the contract.
"""

import copy
import json
import math
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F
from transformers import Lfm2Config, T5Config, T5ForConditionalGeneration
from transformers.models.lfm2.modeling_lfm2 import Lfm2ShortConv
from transformers.models.t5.modeling_t5 import T5Attention

HERE = Path(__file__).parent
VOCAB = 23

# ---- the model: activations [B,T,d], weights [out,in], biases only in LayerNorm and the classifier


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


def of_layer(value, layer):  # kernel_sizes and dilations are one number, or one per layer
    return value[layer] if isinstance(value, list) else value


class RMSNorm(nn.Module):
    def __init__(self, d, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.empty(d)), eps

    def forward(self, x):
        return self.weight * x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.eps)


def norm(c):
    kind = {"branch_layer_norm": nn.LayerNorm, "pre_rms_norm": RMSNorm}[c["norm"]]
    return kind(c["d_model"], eps=c["norm_eps"])


def tap_offsets(c, layer, causal):  # of the inputs that the taps of output i read, from i
    k = of_layer(c["kernel_sizes"], layer)
    centre = k if causal else math.ceil((k + 1) / 2)  # the tap, 1..k, that falls on i itself
    return [(j - centre) * of_layer(c["dilations"], layer) for j in range(1, k + 1)]


def convolve(x, kernels, offsets):  # kernels [d,k] or [B,T,d,k]; outside the sequence is zero
    y, length = torch.zeros_like(x), x.size(1)
    for j, offset in enumerate(offsets):
        at = torch.arange(length) + offset
        inside = (at >= 0) & (at < length)
        y = y + kernels[..., j] * x[:, at.clamp(0, length - 1)] * inside[:, None]
    return y


class Conv(nn.Module):
    def __init__(self, c, layer, causal):
        super().__init__()
        d, k, self.c = c["d_model"], of_layer(c["kernel_sizes"], layer), c
        self.offsets = tap_offsets(c, layer, causal)
        self.input = linear(d, 2 * d if c["glu"] else d)
        self.output = linear(d, d)
        if c["mixer"] == "dynamic":
            self.taps = linear(d, c["conv_heads"] * k)
        else:
            rows = d if c["mixer"] == "depthwise" else c["conv_heads"]
            self.taps = nn.Parameter(torch.empty(rows, k))

    def kernels(self, x1):  # -> [d,k], or [B,T,d,k] where each position has its own
        d, heads = self.c["d_model"], self.c["conv_heads"]
        dynamic, k = self.c["mixer"] == "dynamic", len(self.offsets)
        taps = self.taps(x1).unflatten(-1, (heads, k)) if dynamic else self.taps
        if self.c["tap_softmax"]:
            taps = taps.softmax(-1)
        if self.c["mixer"] == "depthwise":
            return taps
        return taps[..., [channel // (d // heads) for channel in range(d)], :]

    def forward(self, x, real):  # real [B,T]: 1 at tokens, 0 at padding
        x1 = self.input(x)
        if self.c["glu"]:
            value, gate = x1.chunk(2, dim=-1)
            x1 = value * gate.sigmoid()
        x1 = x1 * real[..., None]
        return self.output(convolve(x1, self.kernels(x1), self.offsets))


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, inner = c["heads"], c["heads"] * c["d_kv"]
        self.query, self.key, self.value = (linear(c["d_model"], inner) for _ in range(3))
        self.output = linear(inner, c["d_model"])

    def forward(self, x, memory, visible, bias):  # visible [B,T or 1,S], bias [heads,T,S] or 0
        q = self.query(x).unflatten(-1, (self.heads, -1))
        k = self.key(memory).unflatten(-1, (self.heads, -1))
        v = self.value(memory).unflatten(-1, (self.heads, -1))
        scores = torch.einsum("bthe,bshe->bhts", q, k) + bias  # T5: not divided by sqrt(d_kv)
        weights = scores.masked_fill(~visible[:, None], -math.inf).softmax(-1)
        return self.output(torch.einsum("bhts,bshe->bthe", weights, v).flatten(2))


class GatedConv(nn.Module):
    """LFM2's short convolution; centred in an encoder."""

    def __init__(self, c, layer, causal):
        super().__init__()
        d = c["d_model"]
        self.offsets = tap_offsets(c, layer, causal)
        self.input, self.output = linear(d, 3 * d), linear(d, d)
        self.taps = nn.Parameter(torch.empty(d, len(self.offsets)))

    def forward(self, x, real):
        b, c, x1 = self.input(x).chunk(3, dim=-1)
        return self.output(c * convolve(b * x1 * real[..., None], self.taps, self.offsets))


MIXERS = {  # by name, each made from (config, layer, causal)
    "attention": lambda c, layer, causal: Attention(c),
    "depthwise": Conv,
    "light": Conv,
    "dynamic": Conv,
    "dilated": Conv,
    "gated": GatedConv,
}


class FFN(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.up, self.down = linear(c["d_model"], c["d_ff"]), linear(c["d_ff"], c["d_model"])
        if c["ffn"] == "gated_gelu":
            self.gate = linear(c["d_model"], c["d_ff"])

    def forward(self, x):
        if hasattr(self, "gate"):
            return self.down(F.gelu(self.gate(x), approximate="tanh") * self.up(x))
        return self.down(self.up(x).relu())


class Block(nn.Module):
    def __init__(self, c, layer, decoder):
        super().__init__()
        self.pre = c["norm"] == "pre_rms_norm"
        self.mixer = MIXERS[c["mixer"]](c, layer, decoder)
        self.mixer_norm = norm(c)
        if not decoder and layer in c["encoder_attention_layers"]:
            self.attention, self.attention_norm = Attention(c), norm(c)
        if decoder:
            self.cross, self.cross_norm = Attention(c), norm(c)
        self.ffn, self.ffn_norm = FFN(c), norm(c)

    def forward(self, x, real, visible, bias, memory, memory_real):
        def add(f, branch_norm):
            return x + (f(branch_norm(x)) if self.pre else branch_norm(f(x)))

        def mix(y):
            attends = isinstance(self.mixer, Attention)
            return self.mixer(y, y, visible, bias) if attends else self.mixer(y, real)

        x = add(mix, self.mixer_norm)
        if hasattr(self, "attention"):
            x = add(lambda y: self.attention(y, y, visible, bias), self.attention_norm)
        if hasattr(self, "cross"):
            x = add(lambda y: self.cross(y, memory, memory_real[:, None], 0), self.cross_norm)
        return add(self.ffn, self.ffn_norm)


def bucket(distance, causal, buckets, max_distance):
    """T5's: distance = key - query; near ones have a bucket each, far ones share, logarithmically."""
    first = 0
    if not causal:
        buckets //= 2
        first = buckets if distance > 0 else 0
    distance = max(-distance, 0) if causal else abs(distance)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    far = math.log(distance / exact) / math.log(max_distance / exact) * (buckets - exact)
    return first + min(exact + int(far), buckets - 1)


class Stack(nn.Module):
    def __init__(self, c, decoder):
        super().__init__()
        self.c, self.decoder = c, decoder
        layers = c["decoder_layers" if decoder else "encoder_layers"]
        attends = c["mixer"] == "attention" or (not decoder and c["encoder_attention_layers"])
        if c["positions"] == "learned":
            self.positions = nn.Embedding(c["max_positions"], c["d_model"])
        if c["positions"] == "relative" and attends:
            self.relative_bias = nn.Embedding(c["relative_buckets"], c["heads"])
        self.blocks = nn.ModuleList(Block(c, layer, decoder) for layer in range(layers))
        self.norm = norm(c)

    def forward(self, x, real, memory=None, memory_real=None):
        length, bias, visible = x.size(1), 0, real[:, None]
        if self.decoder:
            visible = visible & torch.ones(length, length, dtype=torch.bool).tril()
        if hasattr(self, "positions"):
            x = x + self.positions.weight[:length]
        if hasattr(self, "relative_bias"):
            sizes = self.c["relative_buckets"], self.c["relative_max_distance"]
            table = [[bucket(s - t, self.decoder, *sizes) for s in range(length)]
                     for t in range(length)]
            bias = self.relative_bias(torch.tensor(table)).permute(2, 0, 1)
        for block in self.blocks:
            x = block(x, real, visible, bias, memory, memory_real)
        return self.norm(x)


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.embedding = nn.Embedding(c["vocab_size"], c["d_model"])
        self.encoder, self.decoder = Stack(c, decoder=False), Stack(c, decoder=True)
        if not c["tie_embeddings"]:
            self.output = linear(c["d_model"], c["vocab_size"])
        if c["classes"]:
            self.classifier = nn.Linear(c["d_model"], c["classes"])

    def forward(self, batch):
        source, target = batch["source"], batch["target"]
        real = torch.arange(source.size(1)) < batch["source_lengths"][:, None]
        encoded = self.encoder(self.embedding(source), real)
        # Target padding lies in the future of every real target: a causal decoder needs no mask for it.
        everything = torch.ones_like(target, dtype=torch.bool)
        hidden = self.decoder(self.embedding(target), everything, encoded, real)
        if self.c["tie_embeddings"] and self.c["norm"] == "pre_rms_norm":
            hidden = hidden * self.c["d_model"] ** -0.5
        weight = self.embedding.weight if self.c["tie_embeddings"] else self.output.weight
        out = {"encoded": encoded, "logits": hidden @ weight.T}
        if self.c["classes"]:
            mean = (encoded * real[..., None]).sum(1) / real.sum(1, keepdim=True)
            out["class_logits"] = self.classifier(mean)
        return out

    def loss(self, out, batch):
        loss = F.cross_entropy(out["logits"].flatten(0, 1), batch["labels"].flatten(), ignore_index=-100)
        if self.c["classes"]:
            loss = loss + F.cross_entropy(out["class_logits"], batch["class_labels"])
        return loss


# ---- parameters and batches


def randomise(model, generator):
    for name, p in model.named_parameters():
        # Taps and position biases feed a softmax: at 0.3 it would be nearly flat, and hide mistakes.
        # T5's embedding ("shared") is N(0,1); smaller, its RMSNorm magnifies rounding errors.
        std = 1.0 if any(part in name for part in ("taps", "relative", "shared")) else 0.3
        mean = 1.0 if name.endswith("norm.weight") else 0.0
        p.data = mean + std * torch.randn(p.shape, generator=generator)


def make_batch(source_lengths, target_lengths, classes, generator):
    """Padding holds random ids, and real tokens include id 0: only lengths tell them apart."""
    def ids(lengths):
        return torch.randint(2, VOCAB, (len(lengths), max(lengths)), generator=generator)

    source, target, answers = ids(source_lengths), ids(target_lengths), ids(target_lengths)
    source[0, 2] = 0
    labels = torch.full_like(answers, -100)
    target[:, 0] = 0
    for b, length in enumerate(target_lengths):
        answers[b, length - 1] = 1
        labels[b, :length] = answers[b, :length]
        target[b, 1:length] = answers[b, : length - 1]
    batch = {"source": source, "source_lengths": torch.tensor(source_lengths), "target": target,
             "labels": labels, "target_lengths": torch.tensor(target_lengths)}
    if classes:
        batch["class_labels"] = torch.randint(classes, (len(source_lengths),), generator=generator)
    return batch


# ---- checks


def close(a, b, tolerance=1e-5):
    torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, check_dtype=False)


def check_conv1d():
    """Every mixer with fixed taps is torch's depthwise conv1d with the right padding."""
    for mixer in ("depthwise", "light", "dilated"):
        for k, dilation, causal in ((1, 1, False), (3, 1, False), (4, 1, False), (5, 2, False),
                                    (2, 1, True), (4, 3, True), (11, 2, True)):
            conv = Conv({"d_model": 6, "mixer": mixer, "kernel_sizes": k, "dilations": dilation,
                         "conv_heads": 2, "glu": False, "tap_softmax": mixer != "depthwise"}, 0, causal)
            randomise(conv, torch.Generator().manual_seed(k))
            conv.input.weight.data = conv.output.weight.data = torch.eye(6)
            x = torch.randn(2, 9, 6, generator=torch.Generator().manual_seed(1))
            taps = conv.taps if mixer == "depthwise" else conv.taps.softmax(-1).repeat_interleave(3, 0)
            left = k - 1 if causal else k // 2  # k = 4 covers i-2..i+1
            padded = F.pad(x.mT, (left * dilation, (k - 1 - left) * dilation))
            expected = F.conv1d(padded, taps[:, None], dilation=dilation, groups=6).mT
            close(conv(x, torch.ones(2, 9)), expected)


def check_gated():
    """The causal one is the short convolution of Hugging Face's LFM2."""
    theirs = Lfm2ShortConv(Lfm2Config(hidden_size=6, num_hidden_layers=1, num_attention_heads=2,
                                      conv_L_cache=3, layer_types=["conv"]), 0)
    ours = GatedConv({"d_model": 6, "kernel_sizes": 3, "dilations": 1}, 0, causal=True)
    randomise(ours, torch.Generator().manual_seed(1))
    theirs.in_proj.weight.data, theirs.out_proj.weight.data = ours.input.weight, ours.output.weight
    theirs.conv.weight.data = ours.taps[:, None]
    x = torch.randn(2, 9, 6, generator=torch.Generator().manual_seed(2))
    close(ours(x, torch.ones(2, 9)), theirs(x))


def check_buckets():
    distances = torch.arange(-300, 300)
    for buckets, far in ((8, 16), (32, 128)):
        for causal in (False, True):
            theirs = T5Attention._relative_position_bucket(distances, not causal, buckets, far)
            assert theirs.tolist() == [bucket(int(n), causal, buckets, far) for n in distances]


def check_model(model, batch, out):
    real = torch.arange(batch["source"].size(1)) < batch["source_lengths"][:, None]
    other = dict(batch, source=F.pad(batch["source"].where(real, 7), (0, 4), value=9))
    padded = model(other)
    close(padded["encoded"][:, : real.size(1)][real], out["encoded"][real])
    close(padded["logits"], out["logits"])
    for t in range(1, batch["target"].size(1)):
        future = batch["target"].clone()
        future[:, t:] = (future[:, t:] + 1) % VOCAB
        close(model(dict(batch, target=future))["logits"][:, :t], out["logits"][:, :t])
    # Well conditioned: float32 gives what float64 does, so another float32 implementation must too.
    model.zero_grad()
    model.loss(out, batch).backward()
    double = copy.deepcopy(model).double()
    double.zero_grad()
    exact = double(batch)
    double.loss(exact, batch).backward()
    close(out["logits"], exact["logits"])
    for (name, p), q in zip(model.named_parameters(), double.parameters()):
        assert p.grad.abs().max() > 1e-6, f"{name} has no gradient"
        close(p.grad, q.grad)


# ---- the files

SIZES = {"model_type": "convseq", "vocab_size": VOCAB, "d_model": 12, "d_ff": 20, "heads": 2, "d_kv": 4,
         "encoder_layers": 2, "decoder_layers": 2, "norm_eps": 1e-6, "encoder_attention_layers": [],
         "classes": 0, "dropout": 0.0, "tap_dropout": 0.0,
         "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
CONV = SIZES | {"kernel_sizes": 7, "dilations": 1, "conv_heads": 4, "glu": True, "tap_softmax": True,
                "norm": "branch_layer_norm", "positions": "none", "ffn": "relu", "tie_embeddings": True}
LIGHT = CONV | {"mixer": "light"}
T5 = SIZES | {"mixer": "attention", "norm": "pre_rms_norm", "positions": "relative",
              "relative_buckets": 8, "relative_max_distance": 16, "ffn": "relu", "tie_embeddings": True}
MODELS = {
    "depthwise": CONV | {"mixer": "depthwise", "kernel_sizes": [3, 11], "tap_softmax": False},
    "light": LIGHT,
    "dynamic": CONV | {"mixer": "dynamic", "kernel_sizes": [7, 15], "d_model": 16, "conv_heads": 2},
    "dilated": CONV | {"mixer": "dilated", "kernel_sizes": [3, 5], "dilations": [3, 2]},
    "attention": T5,
    "light_even_kernel": LIGHT | {"kernel_sizes": [4, 2]},
    "light_encoder_attention": LIGHT | {"encoder_attention_layers": [1], "positions": "relative",
                                        "relative_buckets": 8, "relative_max_distance": 16},
    "light_pre_rms": LIGHT | {"norm": "pre_rms_norm", "ffn": "gated_gelu", "d_model": 16},
    "light_no_glu_no_softmax": LIGHT | {"glu": False, "tap_softmax": False, "kernel_sizes": [3, 7]},
    "attention_learned": T5 | {"norm": "branch_layer_norm", "positions": "learned", "max_positions": 16},
    "dynamic_untied_classifier": CONV | {"mixer": "dynamic", "kernel_sizes": 3,
                                         "tie_embeddings": False, "classes": 3},
    "gated": CONV | {"mixer": "gated", "kernel_sizes": [3, 4], "dilations": [1, 2], "glu": False,
                     "tap_softmax": False},
}


def write_model(name, c, seed):
    generator = torch.Generator().manual_seed(seed)
    model = Model(c)
    randomise(model, generator)
    batch = make_batch([9, 1, 5], [4, 7, 1], c["classes"], generator)
    out = model(batch)
    check_model(model, batch, out)
    tensors = batch | out | {"loss": model.loss(out, batch)}
    for parameter, p in model.named_parameters():
        tensors |= {f"param.{parameter}": p, f"grad.{parameter}": p.grad}
    tensors = {key: tensor.detach().contiguous() for key, tensor in tensors.items()}
    save_file(tensors, HERE / f"{name}.safetensors", metadata={"config": json.dumps(c)})


def hf_name(name, gated):
    """Our parameter's name in transformers' T5."""
    if name in ("embedding.weight", "output.weight"):
        return {"embedding.weight": "shared.weight", "output.weight": "lm_head.weight"}[name]
    ffn = "layer.2" if name.startswith("decoder") else "layer.1"
    for ours, theirs in (
            (".blocks.", ".block."), ("coder.norm", "coder.final_layer_norm"),
            (".relative_bias", ".block.0.layer.0.SelfAttention.relative_attention_bias"),
            ("mixer_norm", "layer.0.layer_norm"), ("mixer", "layer.0.SelfAttention"),
            ("cross_norm", "layer.1.layer_norm"), ("cross", "layer.1.EncDecAttention"),
            ("ffn_norm", f"{ffn}.layer_norm"), ("ffn", f"{ffn}.DenseReluDense"),
            (".query.", ".q."), (".key.", ".k."), (".value.", ".v."), (".output.", ".o."),
            (".up.", ".wi_1." if gated else ".wi."), (".gate.", ".wi_0."), (".down.", ".wo.")):
        name = name.replace(ours, theirs)
    return name


def write_t5(name, gated, tied, seed):
    folder, generator = HERE / name, torch.Generator().manual_seed(seed)
    t5 = T5ForConditionalGeneration(T5Config(
        vocab_size=VOCAB, d_model=16, d_kv=4, d_ff=20, num_layers=2, num_decoder_layers=3, num_heads=2,
        relative_attention_num_buckets=8, relative_attention_max_distance=16, decoder_start_token_id=0,
        feed_forward_proj="gated-gelu" if gated else "relu", tie_word_embeddings=tied)).eval()
    if not tied:
        # transformers 5 ties every T5, and takes "false" to mean only scale_decoder_outputs = false.
        # The released v1.1 has an lm_head of its own: give it one, and a config that says so.
        t5.config.tie_word_embeddings = False
        t5.lm_head.weight = nn.Parameter(torch.empty(VOCAB, 16))
    randomise(t5, generator)
    batch = make_batch([24, 1, 17], [20, 11, 4], 0, generator)
    del batch["labels"]
    real = torch.arange(24) < batch["source_lengths"][:, None]
    with torch.no_grad():
        theirs = t5(input_ids=batch["source"], attention_mask=real.long(),
                    decoder_input_ids=batch["target"])
    expected = {"encoded": theirs.encoder_last_hidden_state, "logits": theirs.logits}

    # Our own model with T5's weights must agree: this is what proves the attention goldens.
    ours = Model(T5 | {"d_model": 16, "decoder_layers": 3, "tie_embeddings": tied,
                       "ffn": "gated_gelu" if gated else "relu"})
    weights = dict(t5.named_parameters())
    for parameter, p in ours.named_parameters():
        p.data = weights.pop(hf_name(parameter, gated)).data
    assert not weights, f"not copied from T5: {list(weights)}"
    out = ours(batch)
    close(out["encoded"][real], expected["encoded"][real], tolerance=3e-5)
    close(out["logits"], expected["logits"], tolerance=3e-5)

    t5.save_pretrained(folder)
    (folder / "generation_config.json").unlink()
    save_file({key: tensor.contiguous() for key, tensor in (batch | expected).items()},
              folder / "expected.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(1)
    transformers.logging.disable_progress_bar()
    check_conv1d()
    check_buckets()
    check_gated()
    for seed, (name, c) in enumerate(MODELS.items()):
        write_model(name, c, seed)
    write_t5("hf_t5_v1_0", gated=False, tied=True, seed=100)
    write_t5("hf_t5_v1_1", gated=True, tied=False, seed=101)
