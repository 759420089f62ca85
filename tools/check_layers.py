#!/usr/bin/env python3
"""Fails when a folder of src/convseq includes one that stands to its right in the ladder, when a torch-free
folder includes torch, or when a folder holds more files than a reader takes in."""

import pathlib
import re
import sys

LADDER = (
    "base text data eval spec kernels runtime answer ops nn model infer dist train bench study serve cli"
).split()
TORCH_FREE = set("base text data eval spec kernels runtime answer".split())
MOST_FILES = 24
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"convseq/(\w+)/|<(torch|ATen|c10)/|"(\w+)/)')


def wrong_includes(source: pathlib.Path):
    for path in sorted(source.rglob("*")):
        if path.is_dir():
            files = sum(each.is_file() for each in path.iterdir())
            if files > MOST_FILES:
                yield f"{path}: {files} files; more than {MOST_FILES} hold a second concept: give it a folder"
        if path.suffix not in {".h", ".cpp", ".cu", ".cuh"}:
            continue
        folder = path.relative_to(source).parts[0]
        if folder not in LADDER:
            yield f"{path}: {folder} is no step of the ladder ({' → '.join(LADDER)})"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            included, torch, bare = match.groups()
            if torch and folder in TORCH_FREE:
                yield f"{path}:{number}: {folder} knows no torch"
            elif bare in LADDER:
                yield f"{path}:{number}: include convseq/{bare}/…, as users of the library do"
            elif included in LADDER and LADDER.index(included) > LADDER.index(folder):
                yield f"{path}:{number}: {folder} may not include {included}"


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "src/convseq")
    problems = list(wrong_includes(root))
    print("\n".join(problems) or "layers: every arrow points left")
    sys.exit(1 if problems else 0)
