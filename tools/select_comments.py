#!/usr/bin/env python3
"""Selects the comments on which tools/make_models.sh trains.

    tools/select_comments.py DATA OUT

DATA holds wiki_toxic/, wiki_toxic_context/, wiki_toxic_subtypes/ and toxicity_extra/. OUT receives
    comments.train.jsonl       text, label (toxic or non-toxic), set
    labels.train.jsonl         text, subtypes (a list of Jigsaw's six labels)
    labels.validation.jsonl    the same, for the choice of the model and its thresholds
    labels.test.jsonl          the same, from jigsaw_wiki's test part
All sets have a licence that allows a model to be given away (tools/model_cards/SOURCES.md). Left out are: sets whose form (case, spacing) gives the
label away (paradetox, hatexplain, implicit_hate), sets whose non-toxic rows may be toxic in another way (edos_sexism,
misogyny_reddit), lists of words, jigsaw_wiki's rows with scrambled words (sample = cleaned), and every row that shares
its first 60 letters with a row on which a model is evaluated.
"""
import ctypes
import ctypes.util
import hashlib
import json
import pathlib
import random
import sys

SETS = ("toxicity_extra/jigsaw_wiki", "toxicity_extra/civil_comments_binary", "wiki_toxic",
        "toxicity_extra/github_incivility", "toxicity_extra/surge_toxicity", "toxicity_extra/fox_news",
        "toxicity_extra/hatemoji_build", "toxicity_extra/toxigen_annotated")
HELD_OUT = ("toxicity_extra/jigsaw_wiki/validation", "toxicity_extra/jigsaw_wiki/test",
            "toxicity_extra/civil_comments_binary/validation", "toxicity_extra/civil_comments_binary/test",
            "wiki_toxic/validation", "wiki_toxic/test", "wiki_toxic_context/all", "wiki_toxic_subtypes/test")
LOWER_CASED_SHARE = 0.1  # of the comments, so that lower case is no sign of the sets that have only that


class Buffer(ctypes.Structure):
    """ZSTD_inBuffer and ZSTD_outBuffer, which have the same fields."""
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("position", ctypes.c_size_t)]


def decompressed(path):
    """The bytes of a .zst file, by the library that convseq itself links."""
    zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    zstd.ZSTD_createDStream.restype = ctypes.c_void_p
    zstd.ZSTD_decompressStream.restype = ctypes.c_size_t
    compressed, chunk, parts = path.read_bytes(), ctypes.create_string_buffer(1 << 20), []
    source = Buffer(ctypes.cast(compressed, ctypes.c_void_p), len(compressed), 0)
    stream = ctypes.c_void_p(zstd.ZSTD_createDStream())
    left = 1
    while left or source.position < source.size:  # another frame may follow
        target = Buffer(ctypes.cast(chunk, ctypes.c_void_p), len(chunk), 0)
        left = zstd.ZSTD_decompressStream(stream, ctypes.byref(target), ctypes.byref(source))
        if zstd.ZSTD_isError(ctypes.c_size_t(left)) or (target.position == 0 and left and source.position == source.size):
            sys.exit(f"{path}: no complete zstd file")
        parts.append(chunk.raw[:target.position])
    zstd.ZSTD_freeDStream(stream)
    return b"".join(parts)


def letters(text):
    return "".join(character for character in text.lower() if character.isalpha())


def identity(text):
    """Equal for two copies of a comment; short texts may differ in an emoji alone."""
    key = letters(text)
    return key if len(key) >= 60 else "".join(text.lower().split())


def chance(text, purpose):
    """A number in [0, 1) that depends only on the text and the purpose."""
    return int.from_bytes(hashlib.sha256(f"{purpose} {text}".encode()).digest()[:6], "big") / 2**48


def for_validation(text):
    """Of the comments whose six labels are known; no model is trained on them."""
    return chance(identity(text), "validation") < 0.15


def main():
    data, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)

    def rows(name):
        return [json.loads(line) for line in decompressed(data / f"{name}.jsonl.zst").decode().splitlines()]

    def write(name, selected):
        random.Random(1).shuffle(selected)
        with open(out / name, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in selected)
        toxic = sum(row.get("label") == "toxic" or bool(row.get("subtypes")) for row in selected)
        print(f"{name}: {len(selected)} rows, {toxic} toxic")

    held_out = {letters(row["text"])[:60] for name in HELD_OUT for row in rows(name)}
    comments, labels, seen, labels_seen = [], [], set(), set()

    def add_labels(text, subtypes):
        start = letters(text)[:60]
        if start and start not in held_out and identity(text) not in labels_seen:
            labels_seen.add(identity(text))
            labels.append({"text": text, "subtypes": subtypes})

    # The subtypes of a non-toxic row of jigsaw_wiki are taken as none: fewer than one in a hundred has one. Such rows
    # are thinned to the natural rate of toxic comments, a tenth, since the subtypes of most toxic rows are unknown.
    for row in rows("wiki_toxic_subtypes/train"):
        add_labels(row["text"], row["subtypes"])
    for name in SETS:
        taken = dropped = 0
        for row in rows(f"{name}/train"):
            text = row["text"]
            start = letters(text)[:60]
            if row.get("sample") == "cleaned" or not start or start in held_out or identity(text) in seen:
                dropped += 1
                continue
            seen.add(identity(text))
            taken += 1
            if name.endswith("jigsaw_wiki"):
                if "subtypes" in row:
                    add_labels(text, row["subtypes"])
                elif row["label"] == "non-toxic" and row["sample"] == "random" and chance(text, "labels") < 0.45:
                    add_labels(text, [])
            if identity(text) in labels_seen and for_validation(text):
                continue
            shown = text.lower() if chance(text, "case") < LOWER_CASED_SHARE else text
            comments.append({"text": shown, "label": row["label"], "set": name.split("/")[-1]})
        print(f"{name}: {taken} rows taken, {dropped} left out")
    write("comments.train.jsonl", comments)
    write("labels.train.jsonl", [row for row in labels if not for_validation(row["text"])])
    write("labels.validation.jsonl", [row for row in labels if for_validation(row["text"])])
    test = rows("toxicity_extra/jigsaw_wiki/test")
    known = [row for row in test if "subtypes" in row]
    share = len(known) / sum(row["label"] == "toxic" for row in test)
    write("labels.test.jsonl", [{"text": row["text"], "subtypes": row.get("subtypes", [])} for row in test
                                if "subtypes" in row or (row["label"] == "non-toxic" and
                                                         chance(row["text"], "test") < share)])


main()
