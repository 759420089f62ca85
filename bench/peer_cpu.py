#!/usr/bin/env python3
"""What `convseq bench cpu` is compared with: other runtimes on the same CPU, with random weights.

A Transformer encoder with a pooled head, of the dimensions of `paper-transformer-small`, in ONNX Runtime, CTranslate2
and PyTorch; the graph of `paper-light-small` in ONNX Runtime; and CTranslate2's greedy generation. No input has
padding. Each peer runs in its own process. One JSON line per result:

    pip install numpy onnx onnxruntime ctranslate2 torch
    python3 bench/peer_cpu.py --threads 2 > peers.jsonl
    build/convseq bench cpu --threads 2 --peer peers.jsonl
"""

import argparse
import json
import logging
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

SIZES = json.loads((Path(__file__).resolve().parent.parent / "configs/models/sizes/small.json").read_text())
D, FF, LAYERS, HEADS, VOCABULARY = (SIZES[key] for key in ("d_model", "d_ff", "encoder_layers", "heads", "vocab_size"))
KERNEL, CLASSES = 7, 2


def random_matrix(generator, outputs, inputs):
    return (generator.standard_normal((outputs, inputs)) / inputs**0.5).astype("float32")


def random_ids(rows, length):
    import numpy
    return numpy.random.default_rng(length).integers(2, VOCABULARY, (rows, length))


def median_ms(call, seconds):
    """After one call to warm up; at least one timed call, and as many as fit into the time."""
    call()
    times, start = [], time.perf_counter()
    while not times or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - before))
    return statistics.median(times)


class OnnxGraph:
    """ids [rows, length] -> logits of the classes."""

    def __init__(self):
        import numpy
        import onnx
        self.numpy, self.onnx, self.helper = numpy, onnx, onnx.helper
        self.generator, self.nodes, self.constants = numpy.random.default_rng(1), [], []

    def constant(self, values):
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(self.numpy.asarray(values), name))
        return name

    def node(self, kind, inputs, outputs=1, **attributes):
        names = [f"value_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(self.helper.make_node(kind, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def linear(self, x, inputs, outputs):
        return self.node("MatMul", [x, self.constant(random_matrix(self.generator, outputs, inputs).T.copy())])

    def norm(self, x):
        ones, zeros = self.numpy.ones(D, "float32"), self.numpy.zeros(D, "float32")
        return self.node("LayerNormalization", [x, self.constant(ones), self.constant(zeros)], epsilon=1e-6)

    def add(self, x, y):
        return self.node("Add", [x, y])

    def feed_forward(self, x):
        return self.linear(self.node("Relu", [self.linear(x, D, FF)]), FF, D)

    def attention(self, x):
        query, key, value = (self.linear(x, D, D) for _ in range(3))
        mixed = self.node("MultiHeadAttention", [query, key, value], num_heads=HEADS, domain="com.microsoft")
        return self.linear(mixed, D, D)

    def light_conv(self, x, shifted):
        """output(conv(a · sigmoid(b))) with a, b = input(x); the taps are shared by D / HEADS channels."""
        values, gate = self.node("Split", [self.linear(x, D, 2 * D)], 2, axis=-1, num_outputs=2)
        gated = self.node("Mul", [values, self.node("Sigmoid", [gate])])
        taps = self.numpy.exp(self.generator.standard_normal((HEADS, KERNEL)))
        taps = (taps / taps.sum(1, keepdims=True)).repeat(D // HEADS, 0).astype("float32")
        conv = self.shifted_sum if shifted else self.grouped_conv
        return self.linear(conv(gated, taps), D, D)

    def grouped_conv(self, x, taps):
        mixed = self.node("Conv", [self.node("Transpose", [x], perm=[0, 2, 1]), self.constant(taps[:, None])],
                          group=D, pads=[KERNEL // 2, KERNEL // 2])
        return self.node("Transpose", [mixed], perm=[0, 2, 1])

    def shifted_sum(self, x, taps):
        reach = KERNEL // 2
        padded = self.node("Pad", [x, self.constant(self.numpy.array([0, reach, 0, 0, reach, 0]))])
        total, axis = None, self.constant(self.numpy.array([1]))
        for tap in range(KERNEL):
            end = 2**31 if tap == KERNEL - 1 else tap - KERNEL + 1
            part = self.node("Slice", [padded, self.constant(self.numpy.array([tap])),
                                       self.constant(self.numpy.array([end])), axis])
            term = self.node("Mul", [part, self.constant(taps[:, tap].copy())])
            total = term if total is None else self.add(total, term)
        return total

    def encoder(self, kind):
        x = self.node("Gather", [self.constant(random_matrix(self.generator, VOCABULARY, D)), "ids"])
        for _ in range(LAYERS):
            if kind == "transformer":
                x = self.add(x, self.attention(self.norm(x)))
                x = self.add(x, self.feed_forward(self.norm(x)))
            else:
                x = self.add(x, self.norm(self.light_conv(x, shifted=kind == "light-shifted")))
                x = self.add(x, self.norm(self.feed_forward(x)))
        pooled = self.node("ReduceMean", [self.norm(x), self.constant(self.numpy.array([1]))], keepdims=0)
        return self.linear(pooled, D, CLASSES)

    def save(self, kind, path):
        logits, types = self.encoder(kind), self.onnx.TensorProto
        graph = self.helper.make_graph(
            self.nodes, kind, [self.helper.make_tensor_value_info("ids", types.INT64, ["rows", "length"])],
            [self.helper.make_tensor_value_info(logits, types.FLOAT, ["rows", CLASSES])], self.constants)
        opsets = [self.helper.make_opsetid("", 18), self.helper.make_opsetid("com.microsoft", 1)]
        self.onnx.save(self.helper.make_model(graph, opset_imports=opsets, ir_version=9), path)


def onnx_runtime(kind, precision, args):
    import onnx
    import onnxruntime
    logging.disable(logging.WARNING)  # "consider to run pre-processing before quantization"
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.onnx"
        OnnxGraph().save(kind, path)
        if precision == "int8":
            from onnxruntime.quantization import QuantType, quantize_dynamic
            quantize_dynamic(path, f"{folder}/int8.onnx", per_channel=True, weight_type=QuantType.QInt8,
                             op_types_to_quantize=["MatMul"],
                             extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
            path = f"{folder}/int8.onnx"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = args.threads, 1
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda ids: session.run(None, {"ids": ids}), onnxruntime.__version__


def torch_encoder(precision, args):
    import torch
    from torch.nn import functional as F
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(D) for _ in range(2))
            self.qkv, self.output = (torch.nn.Linear(D, n * D, bias=False) for n in (3, 1))
            self.up, self.down = torch.nn.Linear(D, FF, bias=False), torch.nn.Linear(FF, D, bias=False)

        def forward(self, x):
            q, k, v = (y.unflatten(-1, (HEADS, -1)).transpose(1, 2) for y in self.qkv(self.norms[0](x)).chunk(3, -1))
            x = x + self.output(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
            return x + self.down(F.relu(self.up(self.norms[1](x))))

    blocks = torch.nn.Sequential(*(Block() for _ in range(LAYERS)), torch.nn.LayerNorm(D))
    embedding, head = torch.nn.Embedding(VOCABULARY, D), torch.nn.Linear(D, CLASSES)
    if precision == "bf16":
        for module in (blocks, embedding, head):
            module.to(torch.bfloat16)

    @torch.inference_mode()
    def call(ids):
        return head(blocks(embedding(torch.from_numpy(ids))).mean(1))

    return call, torch.__version__


class CTranslate2Model:
    """Models of CTranslate2 with random weights."""

    def __init__(self):
        import ctranslate2
        import numpy
        self.specs, self.numpy, self.generator = ctranslate2.specs, numpy, numpy.random.default_rng(1)
        self.version = ctranslate2.__version__
        self.vocabulary = [f"<{i}>" for i in range(VOCABULARY)]
        self.vocabulary[:4] = ["<blank>", "<s>", "</s>", "<unk>"]

    def linear(self, spec, outputs, inputs):
        spec.weight, spec.bias = random_matrix(self.generator, outputs, inputs), self.numpy.zeros(outputs, "float32")

    def norm(self, spec):
        spec.gamma, spec.beta = self.numpy.ones(D, "float32"), self.numpy.zeros(D, "float32")

    def stack(self, spec, embeddings, decodes):
        embeddings.weight = random_matrix(self.generator, VOCABULARY, D)
        spec.position_encodings.encodings = random_matrix(self.generator, 4096, D)
        self.norm(spec.layer_norm)
        for layer in spec.layer:
            self.linear(layer.self_attention.linear[0], 3 * D, D)
            self.linear(layer.self_attention.linear[1], D, D)
            if decodes:
                for part, outputs in enumerate((D, 2 * D, D)):
                    self.linear(layer.attention.linear[part], outputs, D)
                self.norm(layer.attention.layer_norm)
            self.norm(layer.self_attention.layer_norm)
            self.linear(layer.ffn.linear_0, FF, D)
            self.linear(layer.ffn.linear_1, D, FF)
            self.norm(layer.ffn.layer_norm)

    def save(self, spec, folder, precision):
        spec.validate()
        spec.optimize(quantization=precision)
        Path(folder).mkdir()
        spec.save(folder)

    def save_encoder(self, folder, precision):
        encoder = self.specs.TransformerEncoderSpec(LAYERS, HEADS, activation=self.specs.Activation.RELU)
        self.stack(encoder, encoder.embeddings[0], decodes=False)
        spec = self.specs.TransformerEncoderModelSpec(encoder)
        spec.register_vocabulary(self.vocabulary)
        self.save(spec, folder, precision)

    def save_translator(self, folder, precision):
        spec = self.specs.TransformerSpec.from_config((LAYERS, LAYERS), HEADS, activation=self.specs.Activation.RELU)
        self.stack(spec.encoder, spec.encoder.embeddings[0], decodes=False)
        self.stack(spec.decoder, spec.decoder.embeddings, decodes=True)
        self.linear(spec.decoder.projection, VOCABULARY, D)
        spec.register_source_vocabulary(self.vocabulary)
        spec.register_target_vocabulary(self.vocabulary)
        self.save(spec, folder, precision)


def ctranslate2_encoder(precision, args):
    import ctranslate2
    import numpy
    model = CTranslate2Model()
    with tempfile.TemporaryDirectory() as folder:
        model.save_encoder(f"{folder}/model", precision)
        encoder = ctranslate2.Encoder(f"{folder}/model", inter_threads=1, intra_threads=args.threads,
                                      compute_type=precision)
    return lambda ids: numpy.array(encoder.forward_batch(ids.tolist()).last_hidden_state), model.version


def generate(precision, args):
    import ctranslate2
    model = CTranslate2Model()
    with tempfile.TemporaryDirectory() as folder:
        model.save_translator(f"{folder}/model", precision)
        translator = ctranslate2.Translator(f"{folder}/model", inter_threads=1, intra_threads=args.threads,
                                            compute_type=precision)
    for sequences in args.sequences:
        sources = [[model.vocabulary[i] for i in row] for row in random_ids(sequences, args.source)]
        ms = median_ms(lambda: translator.translate_batch(
            sources, beam_size=1, min_decoding_length=args.new_tokens, max_decoding_length=args.new_tokens),
            args.seconds)
        yield {"batch": sequences, "source": args.source, "new_tokens": args.new_tokens, "ms": ms,
               "tokens_per_second": 1e3 * sequences * args.new_tokens / ms, "version": model.version}


def encode(make, args):
    call, version = make()
    for batch in args.batches:
        for length in args.lengths:
            rows = max(1, min(batch, args.max_tokens // length))
            ids = random_ids(rows, length)
            ms = median_ms(lambda: call(ids), args.seconds)
            yield {"batch": batch, "rows": rows, "length": length, "ms": ms, "examples_per_second": 1e3 * rows / ms,
                   "version": version}


# Name: (what is shown, the model, the precision, the results, environment variables).
PEERS = {
    "onnx-int8": ("ONNX Runtime", "transformer", "int8",
                  lambda a: encode(lambda: onnx_runtime("transformer", "int8", a), a), {}),
    "onnx-fp32": ("ONNX Runtime", "transformer", "fp32",
                  lambda a: encode(lambda: onnx_runtime("transformer", "fp32", a), a), {}),
    "ctranslate2-int8": ("CTranslate2", "transformer", "int8",
                         lambda a: encode(lambda: ctranslate2_encoder("int8", a), a), {}),
    "torch-fp32": ("PyTorch", "transformer", "fp32", lambda a: encode(lambda: torch_encoder("fp32", a), a), {}),
    # fp32 tensors whose matmuls oneDNN computes in bf16.
    "torch-bf16-math": ("PyTorch, bf16 math", "transformer", "bf16",
                        lambda a: encode(lambda: torch_encoder("fp32", a), a), {"DNNL_DEFAULT_FPMATH_MODE": "BF16"}),
    "torch-bf16": ("PyTorch", "transformer", "bf16", lambda a: encode(lambda: torch_encoder("bf16", a), a), {}),
    "light-onnx-int8": ("ONNX Runtime", "light", "int8",
                        lambda a: encode(lambda: onnx_runtime("light", "int8", a), a), {}),
    "light-shifted-onnx-int8": ("ONNX Runtime, shifted sum", "light", "int8",
                                lambda a: encode(lambda: onnx_runtime("light-shifted", "int8", a), a), {}),
    "light-onnx-fp32": ("ONNX Runtime", "light", "fp32",
                        lambda a: encode(lambda: onnx_runtime("light", "fp32", a), a), {}),
    "generate-ctranslate2-int8": ("CTranslate2", "transformer", "int8", lambda a: generate("int8", a), {}),
}


def report(name, args):
    title, model, precision, measure, _ = PEERS[name]
    try:
        for result in measure(args):
            line = {"peer": title, "model": model, "precision": precision, "d_model": D, "layers": LAYERS,
                    "threads": args.threads}
            print(json.dumps(line | result), flush=True)
    except Exception as error:  # the others are still measured
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)


def numbers(text):
    return [int(part) for part in text.split(",")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default=",".join(PEERS), help="peers, with commas between: " + ", ".join(PEERS))
    parser.add_argument("--lengths", type=numbers, default="32,128,512,2048", help="tokens per example")
    parser.add_argument("--batches", type=numbers, default="32,1", help="examples per batch")
    parser.add_argument("--max-tokens", type=int, default=16384, help="tokens per call; a batch with more has fewer rows")
    parser.add_argument("--sequences", type=numbers, default="1,16", help="sequences that are generated at once")
    parser.add_argument("--source", type=int, default=128, help="source tokens of a generated sequence")
    parser.add_argument("--new-tokens", type=int, default=64, help="tokens generated per sequence")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=3, help="time per result; the median call is reported")
    args = parser.parse_args()
    args.only = args.only.split(",")
    if unknown := set(args.only) - set(PEERS):
        parser.error(f"--only: {', '.join(sorted(unknown))}; allowed: {', '.join(PEERS)}")
    return args


def main():
    args = arguments()
    context = multiprocessing.get_context("spawn")
    for name in args.only:
        changed = PEERS[name][4] | {"OMP_NUM_THREADS": str(args.threads)}
        before = os.environ.copy()
        os.environ.update(changed)
        process = context.Process(target=report, args=(name, args))
        process.start()
        process.join()
        os.environ.clear()
        os.environ.update(before)


if __name__ == "__main__":
    main()
