#!/bin/bash
# SPDX-License-Identifier: MIT
# Command line: help without a device, refusals with the right code.
. "$(dirname "$0")/lib.sh"
plan 38

help_of() { run 0 "$@" --help && says out "Usage: vrdu $*" && [ ! -s "$tmp/err" ]; }

# A selector that can never be opened: help must not try.
export VRDU_DEVICE=/nonexistent
for c in info decode prog; do
	check "$c --help opens no device" help_of $c
done
check "--help" run 0 --help
check "--version" eval 'run 0 --version && says out "vrdu "'
unset VRDU_DEVICE
check "no command" refused 2 "" nosuch
check "nothing at all" run 2
check "decode without a model" refused 2 "model file is needed" decode
check "two models" refused 2 "one model file" decode a b
check "unknown option" refused 2 "unknown" decode --frobnicate
check "unknown letter" refused 2 "unknown" decode -Z
check "value missing" refused 2 "needs a value" decode "$MODEL" --tokens
check "unknown mode" refused 2 "not one of layer, batch, loop, token-loop" decode "$MODEL" --mode=fast
check "tokens: text" refused 2 "not a number" decode "$MODEL" --tokens=ten
check "tokens: negative" refused 2 "not a number" decode "$MODEL" --tokens=-1
check "tokens: too many" refused 2 "not a number from 0 to" decode "$MODEL" --tokens=99999999999999999999
check "block 0" refused 2 "from 1 to" decode "$MODEL" --block=0
check "temperature" refused 2 "only 0 is supported" decode "$MODEL" --temperature=0.7
check "temperature text" refused 2 "only 0 is supported" decode "$MODEL" --temperature=warm
check "temperature 0.0" run 0 decode "$MODEL" --temperature=0.0 --backend=sim -n 1
check "prompt and ids" refused 2 "exclude each other" decode "$MODEL" --prompt=a --ids=1
check "ids: text" refused 2 "'x' is not a token" decode "$MODEL" --ids=1,x
check "ids: empty" refused 2 "'' is not a token" decode "$MODEL" --ids=
check "ids: hole" refused 2 "'' is not a token" decode "$MODEL" --ids=1,,2
check "ids: outside the vocabulary" refused 2 "not a token from 0 to" decode "$MODEL" --ids=1,99999
check "compare with logits" refused 2 "needs one" decode "$MODEL" --compare --dump-logits=x
check "json and logits on stdout" refused 2 "stdout" decode "$MODEL" --json --dump-logits=-
check "profile without sim" refused 2 "add --backend=sim" decode "$MODEL" --profile=tiny
check "threads without sim" refused 2 "add --backend=sim" decode "$MODEL" --threads=2
check "node and sim" refused 2 "exclude each other" decode "$MODEL" --backend=node --device=sim
check "sim and node" refused 2 "exclude each other" decode "$MODEL" --backend=sim --device=3
check "two profiles" refused 2 "already names" decode "$MODEL" --device=sim:tiny --profile=tiny
check "unknown profile" refused 2 "" info --backend=sim --profile=huge
check "no such node" refused 3 "" info --device=/dev/accel/accel99
check "not a node" eval '! run 0 info --device=/dev/null'
check "info operand" refused 2 "unexpected operand" info x
check "prog verb" refused 2 "unknown verb" prog frob x
check "prog build without --out" refused 2 "--out is needed" prog build "$MODEL"
finish
