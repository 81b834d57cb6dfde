#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the shipped model, the converter and the reference decoder against each other.

  check.py --build DIR        (DIR holds refdecode, plaindecode and hostile)

- refdecode (double) gives the ids that torch (float32) gave, for every case of golden.json;
- every file kind that convert.py writes decodes to the same ids, and for kinds that keep the
  weights' values the logits are the same bits;
- random models of odd shapes do so too, tied and untied;
- plaindecode agrees on the ids;
- damaged files are refused with a cause, under the sanitizers.

Ends with "N passed, N failed".
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "..", "..", "models")
EXACT = ["gguf-bf16", "gguf-f32", "llama2c-v0", "llama2c-v1"]
ROUNDED = ["gguf-f16", "gguf-q8_0", "llama2c-v2"]
SHAPES = ["48,172,3,6,2,300,64", "32,40,1,4,4,259,16", "24,52,2,3,1,97,33", "64,96,2,2,1,512,128",
          "8,6,5,4,2,5,9", "128,260,2,8,2,1000,40"]


class Tally:
    """Counts the checks; a failed one says what it was."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, good, what):
        if good:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {what}", flush=True)
        return good


def run(*args):
    """A command's standard output; a failing command is an exception with its message."""
    done = subprocess.run([str(a) for a in args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise RuntimeError(f"{args[0]}: exit {done.returncode}: {done.stderr.decode()[:500]}")
    return done.stdout.decode()


def convert(*args):
    run(sys.executable, os.path.join(MODELS, "convert.py"), *args)


def decode(build, model, ids, count, dump=None):
    """refdecode's new tokens."""
    more = ["--dump-logits", dump] if dump else []
    out = run(os.path.join(build, "refdecode"), model, "--ids", ",".join(map(str, ids)),
              "--tokens", count, *more)
    return json.loads(out)["tokens"]


def common(a, b):
    """How many ids two sequences share from the start."""
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def check_golden(tally, build, folder, cases):
    """The shipped model in every kind, against torch."""
    source = os.path.join(MODELS, "scripture.gguf")
    paths = {kind: os.path.join(folder, kind) for kind in EXACT + ROUNDED}
    convert("--from", source, *[a for kind, path in paths.items() for a in ("--to", kind, path)])
    for kind, path in {"shipped": source, **paths}.items():
        shared = []
        for case in cases:
            got = decode(build, path, case["ids"], case["count"])
            shared.append(f"{common(got, case['tokens'])}/{len(case['tokens'])}")
            if kind not in ROUNDED[1:]:
                tally.check(got == case["tokens"],
                            f"{kind}, prompt {case['prompt']!r}: ids {shared[-1]} as torch's")
        print(f"{kind}: ids as torch's {' '.join(shared)}", flush=True)
    with open(source, "rb") as file, open(paths["gguf-bf16"], "rb") as again:
        tally.check(file.read() == again.read(), "converting to the shipped kind gives its bytes")
    for weights in ("bf16", "f32"):
        case = cases[0]
        out = json.loads(run(os.path.join(build, "plaindecode"), source, "--ids",
                             ",".join(map(str, case["ids"])), "--tokens", case["count"],
                             "--weights", weights))
        tally.check(out["tokens"] == case["tokens"], f"plaindecode {weights} decodes as torch")


def check_random(tally, build, folder):
    """Random shapes: kinds with exact values give the same bits, the others near logits."""
    for seed, shape in enumerate(SHAPES):
        more = ["--untied"] if seed % 2 else []
        context, vocab = int(shape.split(",")[6]), int(shape.split(",")[5])
        ids, logits = {}, {}
        for kind in EXACT + ROUNDED:
            path, dump = os.path.join(folder, "random"), os.path.join(folder, "logits")
            convert("--random", seed, "--shape", shape, *more, "--to", kind, path)
            ids[kind] = decode(build, path, [vocab - 1, 0, 1], context, dump)
            with open(dump, "rb") as file:
                logits[kind] = file.read()
        for kind in EXACT:
            tally.check(ids[kind] == ids[EXACT[0]] and logits[kind] == logits[EXACT[0]],
                        f"shape {shape}: {kind} gives the bits of {EXACT[0]}")
        tally.check(len(ids[EXACT[0]]) == context - 3, f"shape {shape}: decodes to the full context")
        tally.check(len(logits[EXACT[0]]) == 4 * vocab * (context - 1),
                    f"shape {shape}: logits of every position but the last appended")
        first = {k: struct.unpack(f"<{vocab}f", v[:4 * vocab]) for k, v in logits.items()}
        size = max(map(abs, first[EXACT[0]]))
        for kind in ROUNDED:
            worst = max(abs(a - b) for a, b in zip(first[kind], first[EXACT[0]]))
            tally.check(worst < 0.05 * size,
                        f"shape {shape}: {kind} is {worst / size:.3f} of the largest logit off")


def check_hostile(tally, build, folder, rounds):
    """Damaged files of every container, under the sanitizers."""
    for kind in ("llama2c-v0", "llama2c-v1", "llama2c-v2", "gguf-bf16", "gguf-q8_0"):
        path = os.path.join(folder, "hostile-" + kind)
        convert("--random", 5, "--shape", "32,64,2,4,2,40,16", "--to", kind, path)
        try:
            print(run(os.path.join(build, "hostile"), path, rounds).strip(), flush=True)
            tally.check(True, kind)
        except RuntimeError as error:
            tally.check(False, f"damaged {kind}: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--rounds", type=int, default=2000)
    args = parser.parse_args()
    tally = Tally()
    with open(os.path.join(MODELS, "golden.json"), encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    with tempfile.TemporaryDirectory() as folder:
        check_golden(tally, args.build, folder, cases)
        check_random(tally, args.build, folder)
        check_hostile(tally, args.build, folder, args.rounds)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return tally.failed != 0


if __name__ == "__main__":
    sys.exit(main())
