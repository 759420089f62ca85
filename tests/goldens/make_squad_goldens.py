#!/usr/bin/env python3
"""Writes squad_answers.json: answers, their normal form and their scores by SQuAD 1.1's rules.

The rules, in Python's own words for letters, punctuation and white space: lower case; drop
string.punctuation; replace the words a, an, the by a space; split at white space. F1 counts shared
words as often as they occur on both sides.
"""

import collections
import json
import pathlib
import re
import string

PAIRS = [
    ("Denver Broncos", "the Denver Broncos"),
    ("The Denver  Broncos!", "denver broncos"),
    ("a an the", "THE"),
    ("", ""),
    ("", "something"),
    ("...", "the"),
    ("theory of another anthem", "Theory of Another Anthem"),
    ("U.S.", "us"),
    ("well-known", "wellknown"),
    ("well known", "well-known"),
    ("two two two", "two two"),
    ("two", "two two two"),
    ("in the year 1066", "1066"),
    ("snake_case", "snakecase"),
    ("$5,000", "5000"),
    ("£5,000", "5000"),
    ("“the” answer", "“ ” answer"),
    ("the–end", "–end"),
    ("thé", "the"),
    ("a\u00a0cat\tsat\n", "cat sat"),
    ("\u3000wide\u2009space", "wide space"),
    ("École Normale Supérieure", "école normale supérieure"),
    ("ŁÓDŹ Žižek ŸŊ ĹŇ", "łódź žižek ÿŋ ĺň"),
    ("ΆΈΌΏ ΑΒΓ ΩΪ", "άέόώ αβγ ωϊ"),
    ("МОСКВА Ёж Ўў Ґ Җ", "москва ёж ўў ґ җ"),
    ("ẠẾ × ÷ ª º", "ạế × ÷ ª º"),
    ("中文 the 日本", "中文 日本"),
    ("中文the", "中文"),
    ("a²", "²"),
    ("the½ a½", "½"),
    ("a… b", "… b"),
    ("a€", "€"),
    ("don't", "dont"),
    ("it's a dog's life", "its dogs life"),
    ("the big red dog", "a red big dog ran"),
    ("😀 the 😀", "😀 😀"),
    ("İSTANBUL", "i̇stanbul"),
    ("ΟΔΥΣΣΕΥΣ Σ ΣΑΣ.", "οδυσσευς σ σας"),
    ("Σ.Σ. ΑΣ'Α", "σ.ς. ας'α"),
    ("ԱՐՄԵՆԻԱ Ꭰ Ⅷ Ⓐ Ａ 𐐀 Ǆ ẞ Ω K", "արմենիա"),
    ("Ჿ Ꜳ Ɐ Ⱥ", "ჿ"),
]


def normalised(text: str) -> str:
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def f1(answer: str, reference: str) -> float:
    got, wanted = normalised(answer).split(), normalised(reference).split()
    shared = sum((collections.Counter(got) & collections.Counter(wanted)).values())
    if shared == 0:
        return 0.0
    precision, recall = shared / len(got), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


def golden(answer: str, reference: str) -> dict:
    return {
        "answer": answer,
        "reference": reference,
        "normalised": normalised(answer),
        "exact_match": float(normalised(answer) == normalised(reference)),
        "f1": f1(answer, reference),
    }


if __name__ == "__main__":
    path = pathlib.Path(__file__).with_name("squad_answers.json")
    path.write_text(json.dumps([golden(*pair) for pair in PAIRS], indent=1, ensure_ascii=False) + "\n")
