#!/usr/bin/env python3
"""Fails when a folder of src/ includes one that stands to its right in the ladder."""

import pathlib
import re
import sys

LADDER = "base text data eval kernels ops nn model infer train bench study serve cli".split()
TORCH_FREE = set("base text data eval kernels".split())
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"(\w+)/|<(torch|ATen|c10)/)')


def wrong_includes(source: pathlib.Path):
    for path in sorted(source.rglob("*")):
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
            included, torch = match.groups()
            if torch and folder in TORCH_FREE:
                yield f"{path}:{number}: {folder} knows no torch"
            elif included in LADDER and LADDER.index(included) > LADDER.index(folder):
                yield f"{path}:{number}: {folder} may not include {included}"


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "src")
    problems = list(wrong_includes(root))
    print("\n".join(problems) or "layers: every arrow points left")
    sys.exit(1 if problems else 0)
