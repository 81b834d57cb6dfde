#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare the simulator with a plain decoder loop, in one run, in turn.

usage: ratios.py BENCH_DECODE PLAINDECODE MODEL SMALL_MODEL

Prints, as medians of several rounds: CPU time per token of each mode and its ratio to a plain
`gcc -O3 -march=native` loop on the same file; what of it is not arithmetic, per layer; and the
cost of a decoder-layer call with the smallest shapes. All of it is measured.
"""

import json
import statistics
import subprocess
import sys

ROUNDS = 5


def output(*command):
    """Standard output of a command."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    """Entry point."""
    if len(sys.argv) != 5:
        print(__doc__, file=sys.stderr)
        return 2
    bench, plain, model, small = sys.argv[1:]
    plain_ns, modes = [], {}
    for _ in range(ROUNDS):
        plain_ns.append(json.loads(output(plain, model, "--ids", "1", "--tokens", "64"))
                        ["ns_per_token"]["median"])
        for line in output(bench, model).splitlines():
            row = json.loads(line)
            modes.setdefault(row["mode"], []).append(row)
    small_rows = [json.loads(line) for line in output(bench, small).splitlines()]
    base = statistics.median(plain_ns)
    print(f"plain loop, gcc -O3 -march=native     {base:9.0f} ns/token measured")
    for mode, rows in modes.items():
        whole = statistics.median(r["whole_ns_per_token"] for r in rows)
        text = f"sim, {mode:12} {whole:29.0f} ns/token measured, {whole / base:5.2f} of the plain loop"
        if "clock_only_ns_per_layer" in rows[0]:
            layer = statistics.median(r["clock_only_ns_per_layer"] for r in rows)
            text += f"; besides arithmetic {layer:5.0f} ns per layer"
        print(text)
    for row in small_rows:
        if row["mode"] == "layer":
            calls = row["layers"] + 2
            print(f"smallest shapes, per call {row['whole_ns_per_token'] / calls:21.0f} ns measured, "
                  "arithmetic, submission and wait included")
    return 0


if __name__ == "__main__":
    sys.exit(main())
