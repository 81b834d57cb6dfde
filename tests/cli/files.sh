#!/bin/bash
# SPDX-License-Identifier: MIT
# Files that are not what they should be: one sentence, the right code, nothing on stdout.
. "$(dirname "$0")/lib.sh"
plan 17

sim=(--backend=sim -n 2)
$CONVERT --random 3 --shape 16,24,2,2,1,40,8 --to llama2c-v0 "$tmp/v0"
$CONVERT --random 3 --shape 16,24,2,2,1,40,8 --to gguf-f32 "$tmp/gguf"
$CONVERT --random 3 --shape 16,24,2,2,1,40,8 --to tokenizer.bin "$tmp/tok"

bytes() { printf '%b' "$1"; }

# patched FILE OFFSET BYTES: a copy with some bytes replaced, named $tmp/bad.
patched() {
	cp "$1" "$tmp/bad" && bytes "$3" | dd of="$tmp/bad" bs=1 seek="$2" conv=notrunc status=none
}

check "missing model" refused 1 "No such file" decode "$tmp/none" "${sim[@]}"
check "a folder" refused 1 "not a regular file" decode "$tmp" "${sim[@]}"
: >"$tmp/empty"
check "empty model" refused 1 "empty" decode "$tmp/empty" "${sim[@]}"
check "a text" refused 1 "no known magic number" decode "$0" "${sim[@]}"
head -c 500 "$tmp/v0" >"$tmp/bad"
check "truncated llama2.c" refused 1 "truncated" decode "$tmp/bad" "${sim[@]}"
head -c 2000 "$tmp/gguf" >"$tmp/bad"
check "truncated GGUF" refused 1 "truncated" decode "$tmp/bad" "${sim[@]}"
patched "$tmp/v0" 8 '\xff\xff\xff\x7f'
check "absurd number of layers" refused 1 "n_layers is 2147483647, must be 1 to 1024" decode "$tmp/bad" "${sim[@]}"
patched "$tmp/v0" 12 '\x03\x00\x00\x00'
check "heads that do not divide" refused 1 "not a multiple of n_heads" decode "$tmp/bad" "${sim[@]}"
patched "$tmp/gguf" 4 '\x02'
check "GGUF of another version" refused 1 "version is 2" decode "$tmp/bad" "${sim[@]}"
patched "$tmp/gguf" 8 '\xff\xff\xff\xff\xff\xff\xff\xff'
check "GGUF with 2^64 tensors" refused 1 "tensors, at most" decode "$tmp/bad" "${sim[@]}"
mkdir "$tmp/alone" && cp "$tmp/v0" "$tmp/alone/model"
check "prompt without a tokenizer names the cure" refused 1 "--tokenizer=FILE" \
	decode "$tmp/alone/model" "${sim[@]}" --prompt=hello
check "missing tokenizer" refused 1 "No such file" decode "$tmp/v0" "${sim[@]}" --tokenizer="$tmp/none"
head -c 100 "$tmp/tok" >"$tmp/bad"
check "truncated tokenizer" refused 1 "truncated" decode "$tmp/v0" "${sim[@]}" --tokenizer="$tmp/bad"
(cat "$tmp/tok"; printf xxxxxxxxxxxxxxx) >"$tmp/bad"
check "tokenizer of another model" refused 1 "larger vocabulary" decode "$tmp/v0" "${sim[@]}" --tokenizer="$tmp/bad"
check "prompt longer than the context" refused 1 "the context holds 8" decode "$tmp/v0" "${sim[@]}" \
	--tokenizer="$tmp/tok" --prompt="$(printf 'abcdefgh%.0s' {1..9})"
check "more ids than the context" refused 2 "the model's context holds 8" decode "$tmp/v0" "${sim[@]}" --ids=1,1,1,1,1,1,1,1,1
check "logits into no folder" eval 'run 1 decode "$tmp/v0" --backend=sim -n 2 --dump-logits="$tmp/no/such" &&
	says err "cannot create"'
finish
