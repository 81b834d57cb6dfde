#!/bin/bash
# SPDX-License-Identifier: MIT
# vrdu decode on the simulated device: golden text, modes, verification, files.
. "$(dirname "$0")/lib.sh"
golden=$top/models/golden.json
cases=$(jq '.cases | length' "$golden")
plan $((cases + 25))

# golden N: ids, tokens and text of a golden case, with the mode that N picks.
golden() {
	local n=$1 modes=(layer batch loop token-loop) prompt count
	prompt=$(jq -r ".cases[$n].prompt" "$golden")
	count=$(jq ".cases[$n].count" "$golden")
	run 0 decode "$MODEL" --backend=sim --mode="${modes[$((n % 4))]}" --prompt="$prompt" -n "$count" \
		--json || return 1
	jq ".cases[$n]" "$golden" >"$tmp/case"
	jq -e --slurpfile g "$tmp/case" '.given_ids == $g[0].ids and .token_ids == $g[0].tokens' \
		"$tmp/out"
}

# same_text MODE: the text of a mode is that of mode layer.
same_text() {
	run 0 decode "$MODEL" --backend=sim --mode="$1" --prompt="In the beginning" -n 40 --block=7 &&
		cmp "$tmp/out" "$tmp/layer.txt"
}

verified() {
	run 0 decode "$MODEL" --backend=sim --mode="$1" --prompt="And God" -n 30 --block=8 --verify &&
		says err "verified: mode $1 gives the tokens and the logits of"
}

# logits MODE: the file has positions x vocabulary floats, the same in each mode.
logits() {
	run 0 decode "$MODEL" --backend=sim --mode="$1" --ids=1,299,1011 -n 6 --block=3 \
		--dump-logits="$tmp/$1.f32" || return 1
	[ "$(stat -c %s "$tmp/$1.f32")" = $((8 * 1024 * 4)) ] && cmp "$tmp/$1.f32" "$tmp/layer.f32"
}

# as_f32 KIND: another file kind that loses nothing decodes to the same tokens.
as_f32() {
	$CONVERT --from "$MODEL" --to "$1" "$tmp/model.$1" &&
		run 0 decode "$tmp/model.$1" --backend=sim --ids=1,299,1011 -n 20 &&
		cmp "$tmp/out" "$tmp/ids.txt"
}

for ((n = 0; n < cases; n++)); do
	check "golden text $n" golden $n
done
"$VRDU" decode "$MODEL" --backend=sim --mode=layer --prompt="In the beginning" -n 40 >"$tmp/layer.txt" 2>&1
for m in batch loop token-loop; do
	check "$m gives the text of layer" same_text $m
done
for m in batch loop token-loop; do
	check "--verify of $m" verified $m
done
"$VRDU" decode "$MODEL" --backend=sim --mode=layer --ids=1,299,1011 -n 6 --dump-logits="$tmp/layer.f32" \
	>/dev/null 2>&1
for m in batch loop token-loop; do
	check "--dump-logits of $m" logits $m
done
$CONVERT --from "$MODEL" --to llama2c-v0 "$tmp/v0" && $CONVERT --from "$MODEL" --to tokenizer.bin "$tmp/t" &&
	"$VRDU" decode "$tmp/v0" --backend=sim --ids=1,299,1011 -n 20 >"$tmp/ids.txt" 2>&1
check "without a tokenizer the ids are printed" eval 'grep -qE "^[0-9]+( [0-9]+){19}$" "$tmp/ids.txt"'
check "llama2c-v1 decodes as llama2c-v0" as_f32 llama2c-v1
check "gguf-f32 decodes to the tokens of llama2c-v0" eval '$CONVERT --from "$MODEL" --to gguf-f32 "$tmp/f32" &&
	run 0 decode "$tmp/f32" --backend=sim --ids=1,299,1011 -n 20 --json &&
	[ "$(jq -r ".token_ids | join(\" \")" "$tmp/out")" = "$(cat "$tmp/ids.txt")" ]'
check "--tokenizer" eval 'run 0 decode "$tmp/v0" --backend=sim --tokenizer="$tmp/t" -n 40 \
	--prompt="In the beginning" && cmp "$tmp/out" "$tmp/layer.txt"'
cp "$tmp/t" "$tmp/tokenizer.bin"
check "tokenizer.bin beside the model" eval 'run 0 decode "$tmp/v0" --backend=sim -n 40 \
	--prompt="In the beginning" && cmp "$tmp/out" "$tmp/layer.txt"'
check "tile size and fabric change nothing" eval 'run 0 decode "$MODEL" --device=sim:tiny --tile-rows=5 -n 40 \
	--prompt="In the beginning" && cmp "$tmp/out" "$tmp/layer.txt"'
check "the context bounds the sequence" eval 'run 0 decode "$MODEL" --backend=sim --mode=token-loop -n 9999 --json &&
	json "(.given_ids + .token_ids | length) == .model.context"'
check "--tokens=0 computes the given ones" eval 'run 0 decode "$MODEL" --backend=sim --ids=1,2,3 -n 0 --json &&
	json ".token_ids == [] and .counters.positions == 3"'
# A copy of the model in which " LORD" ends a sequence: the third word of the golden text.
key=tokenizer.ggml.eos_token_id
at=$(grep -obUaF "$key" "$MODEL" | cut -d: -f1)
cp "$MODEL" "$tmp/eos" && printf '\x5e\x01\x00\x00' | dd of="$tmp/eos" bs=1 seek=$((at + ${#key} + 4)) conv=notrunc \
	status=none
for m in layer batch loop token-loop; do
	check "--stop-eos stops $m" eval 'run 0 decode "$tmp/eos" --backend=sim --mode=$m --stop-eos --verify --json \
		--prompt="In the beginning" && json ".token_ids == [271, 261, 350] and .verify.logits_equal"'
done
check "--quiet says nothing" eval 'run 0 decode "$MODEL" --backend=sim -q --verify && [ ! -s "$tmp/err" ]'
check "--explain names loop and arguments" eval 'run 0 decode "$MODEL" --backend=sim --explain -n 3 &&
	says err "beginning with layer" && says err "affine" && says err "carried" && says err "invariant"'
check "--compare has a row per mode" eval 'run 0 decode "$MODEL" --backend=sim --compare -n 8 &&
	[ "$(grep -cE "^(layer|batch|loop|token-loop) .*(reference|same bits)$" "$tmp/out")" = 4 ] &&
	says out measured && says out modelled'
check "a full disk is a failure" eval '[ ! -e /dev/full ] || { "$VRDU" decode "$MODEL" --backend=sim -n 3 \
	>/dev/full 2>/dev/null; [ $? = 1 ]; }'
finish
