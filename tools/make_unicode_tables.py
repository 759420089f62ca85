#!/usr/bin/env python3
"""Writes src/convseq/text/unicode_tables.h and tests/goldens/characters.json from Python's own Unicode data.

The tables hold what Python's str.lower(), str.isspace() and \\w say of every character, as ranges.
The golden holds checksums of the same answers, in blocks of 4096 characters, made without the
ranges, so that a test finds a mistake in the tables as well as in their use.
"""

import json
import pathlib
import unicodedata
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAST = 0x10FFFF
BLOCK = 4096
SIGMA = "\u03a3"


def characters():
    return (c for c in range(LAST + 1) if not 0xD800 <= c <= 0xDFFF)


def is_word(c: str) -> bool:
    return c.isalnum() or c == "_"


def is_cased(c: str) -> bool:  # ... and not case-ignorable: a capital sigma after it is a final one
    return (c + SIGMA).lower().endswith("ς")


def is_case_ignorable(c: str) -> bool:  # a capital sigma looks past it for a letter
    return ("A" + c + SIGMA).lower().endswith("ς") and not is_cased(c)


def ranges(holds) -> list:
    found = []
    for c in characters():
        if not holds(chr(c)):
            continue
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def lower_ranges() -> list:
    """[first, last, step, distance]: every step-th character from first to last moves by distance."""
    found = []
    for c in characters():
        lower = chr(c).lower()
        if lower == chr(c) or len(lower) > 1 or chr(c) == SIGMA:
            continue
        distance = ord(lower) - c
        if found and found[-1][3] == distance:
            first, last, step, _ = found[-1]
            if first == last and c - last <= 2:
                found[-1][1:3] = [c, c - last]
                continue
            if first != last and c - last == step:
                found[-1][1] = c
                continue
        found.append([c, c, 1, distance])
    return found


def rows(items: list) -> str:
    lines, line = [], "   "
    for item in items:
        text = " {" + ", ".join(f"0x{n:X}" if n >= 0 else str(n) for n in item) + "},"
        if len(line) + len(text) > 100:
            lines.append(line)
            line = "   "
        line += text
    return "\n".join(lines + [line])


def table(kind: str, name: str, items: list, comment: str) -> str:
    return f"// {comment}\ninline constexpr {kind} {name}[] = {{\n{rows(items)}\n}};\n"


def header() -> str:
    several = [c for c in characters() if len(chr(c).lower()) > 1]
    assert several == [0x130], several  # characters.cpp writes that one out
    return f"""// Made by tools/make_unicode_tables.py; do not edit. Unicode {unicodedata.unidata_version}.
#pragma once

#include <cstdint>

namespace convseq::unicode {{

struct Range {{
  char32_t first, last;
}};

struct Shift {{  // every step-th character from first to last becomes itself + distance
  char32_t first, last, step;
  int32_t distance;
}};

// clang-format off
{table("Shift", "kLower", lower_ranges(), "Lower case, but for U+0130 and the capital sigma.")}
{table("Range", "kSpace", ranges(str.isspace), "White space.")}
{table("Range", "kWord", ranges(is_word), "Letters, digits and the underscore.")}
{table("Range", "kCased", ranges(is_cased), "Letters that have a case.")}
{table("Range", "kCaseIgnorable", ranges(is_case_ignorable), "What is passed over to find one.")}// clang-format on

}}  // namespace convseq::unicode
"""


def block_sums(answer) -> list:
    sums = []
    for begin in range(0, LAST + 1, BLOCK):
        block = [chr(c) for c in range(begin, begin + BLOCK) if not 0xD800 <= c <= 0xDFFF]
        sums.append(zlib.crc32("".join(answer(c) for c in block).encode()))
    return sums


def golden() -> dict:
    return {
        "unicode": unicodedata.unidata_version,
        "block": BLOCK,
        "lower": block_sums(str.lower),
        "space": block_sums(lambda c: str(int(c.isspace()))),
        "word": block_sums(lambda c: str(int(is_word(c)))),
        "final_sigma_after": block_sums(lambda c: (c + SIGMA).lower()[-1]),
        "final_sigma_past": block_sums(lambda c: ("A" + c + SIGMA).lower()[-1]),
        "final_sigma_before": block_sums(lambda c: ("A" + SIGMA + c).lower()[1]),
    }


if __name__ == "__main__":
    (ROOT / "src/convseq/text/unicode_tables.h").write_text(header())
    path = ROOT / "tests/goldens/characters.json"
    path.write_text(json.dumps(golden()) + "\n")
