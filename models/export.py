#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Write the shipped files from a checkpoint of train.py: the GGUF file and golden.json.

  export.py model.pt --gguf scripture.gguf --golden golden.json

golden.json holds what torch itself decodes greedily, in float32, from the weights as they are in the
GGUF file; the decoders of this repository are compared with it. Needs Debian's python3-torch.
"""
import argparse
import array
import json
import math

import torch

import convert
import train

PROMPTS = [
    ("In the beginning", 48),
    ("And it came to pass in those days, that", 64),
    ("The LORD is my", 48),
    ("Blessed are they that", 48),
    ("And Moses said unto the children of Israel,", 96),
    ("Then answered Jesus and said unto them,", 64),
    ("", 40),
    ("Now these are the names of the sons of", 255),
    ("2 words: caf\u00e9\tXylophone", 24),
]


def load(path):
    """The checkpoint's model and its facts."""
    checkpoint = torch.load(path, map_location="cpu")
    model = train.Model(checkpoint["shape"])
    model.load_state_dict(checkpoint["weights"])
    train.round_to_bf16(model)
    return model, checkpoint["vocabulary"], checkpoint["facts"]


def for_conversion(model, vocabulary, name):
    """The same model as convert.py knows it."""
    tensors = {key: array.array("f", p.detach().flatten().tolist())
               for key, p in model.named_parameters()}
    kinds = {0: 2, 1: 3, 2: 3}
    rows = [(piece.replace(" ", convert.SPACE), score,
             kinds.get(i, 6 if i < train.FIRST_PIECE else 1))
            for i, (piece, score) in enumerate(vocabulary)]
    return convert.Model(model.shape, rows, tensors, name)


def greedy(model, ids, count):
    """Greedy continuation; also the smallest gap between the best and the second-best logit."""
    ids, margin = list(ids), math.inf
    context = model.shape["context"]
    made = []
    with torch.no_grad():
        while len(made) < count and len(ids) < context:
            logits = model(torch.tensor([ids]))[0, -1]
            top = logits.topk(2).values
            margin = min(margin, (top[0] - top[1]).item())
            made.append(int(logits.argmax()))
            ids.append(made[-1])
    return made, margin


def text_of(vocabulary, ids):
    """What a terminal would show for token ids that follow other tokens."""
    raw = b""
    for ident in ids:
        if ident >= train.FIRST_PIECE:
            raw += vocabulary[ident][0].encode()
        elif ident >= train.BYTE0:
            raw += bytes([ident - train.BYTE0])
        else:
            raw += vocabulary[ident][0].encode()
    return raw.decode("utf-8", "replace")


def golden_cases(model, vocabulary):
    """Every prompt with its ids and its continuation."""
    encoder = train.Encoder(vocabulary)
    cases = []
    for prompt, count in PROMPTS:
        ids = [train.BOS] + (encoder.text(" " + prompt) if prompt else [])
        made, margin = greedy(model, ids, count)
        cases.append({"prompt": prompt, "ids": ids, "count": count, "tokens": made,
                      "text": text_of(vocabulary, made), "smallest_margin": round(margin, 6)})
    return cases


def one_line_lists(cases):
    """JSON with one key a line, so that a change reads well in a diff."""
    rows = []
    for case in cases:
        fields = ",\n".join(f"   {json.dumps(k)}: {json.dumps(v)}" for k, v in case.items())
        rows.append("  {\n" + fields + "\n  }")
    return ",\n".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("checkpoint")
    parser.add_argument("--gguf", required=True)
    parser.add_argument("--golden", required=True)
    parser.add_argument("--name", default="scripture")
    args = parser.parse_args()
    torch.set_num_threads(1)
    model, vocabulary, facts = load(args.checkpoint)
    convert.write_file(args.gguf, convert.gguf_bytes(
        for_conversion(model, vocabulary, args.name), convert.BF16))
    cases = golden_cases(model, vocabulary)
    text = ("{\n \"made_by\": \"export.py: torch, float32, weights rounded to bf16, greedy\",\n"
            f" \"cases\": [\n{one_line_lists(cases)}\n ]\n}}\n")
    convert.write_file(args.golden, text.encode())
    print(json.dumps(facts))
    for case in cases:
        print(f"[{case['prompt']}]{case['text']}\n  (smallest margin {case['smallest_margin']})")


if __name__ == "__main__":
    main()
