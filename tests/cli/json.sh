#!/bin/bash
# SPDX-License-Identifier: MIT
# JSON: one document, typed numbers, measured and modelled kept apart; counters that add up.
. "$(dirname "$0")/lib.sh"
plan 13

decode() { run 0 decode "$MODEL" --backend=sim --prompt="And God" -n 12 --json "$@"; }

check "info is one document" eval 'run 0 info --backend=sim --json && json ".schema == \"vrdu-info/1\""'
check "info has numbers" json '[.pcus, .pmus, .agcus, .pmu_bytes, .clock_hz, .hbm_bytes, .max_calls]
	| all(type == "number" and . > 0)'
check "info --list has entries with error objects or null" eval 'run 0 info --list --json &&
	json ".devices | length >= 2 and all(has(\"path\") and has(\"error\"))"'
check "decode is one document" eval 'decode && json ".schema == \"vrdu-decode/1\" and .mode == \"loop\""'
check "tokens are numbers, text is text" json '(.token_ids | length == 12 and all(type == "number"))
	and (.text | type == "string" and length > 0) and (.given_ids[0] == 1)'
check "counters are whole numbers" json '.counters | length > 10 and all(type == "number" and . == floor and . >= 0)'
check "times say what they are" json '.times | length >= 3 and
	all((.kind == "measured" and (.total_ns | type) == "number" and (has("total_ps") | not)) or
	    (.kind == "modelled" and (.total_ps | type) == "number" and (has("total_ns") | not)))'
check "wall time is measured, device time is modelled" json '.times.wall.kind == "measured" and
	.times.device.kind == "modelled" and .times.wall.total_ns > 0 and .times.device.total_ps > 0'
check "what was not asked for is null" json '.verify == null and .modes == null and .looping == null'
check "verify" eval 'decode --verify && json ".verify.ids_equal == true and .verify.logits_equal == true
	and .verify.first_difference == null and .verify.logit_rows == .counters.positions"'
check "compare: counters of each mode follow from its calls" eval 'decode --compare --block=64 && json "
	(.model.layers + 2) as \$n | (.counters.positions) as \$p | [.modes[].mode] == [\"layer\", \"batch\", \"loop\", \"token-loop\"]
	and .modes[0].counters.submissions == \$n * \$p and .modes[1].counters.submissions == \$p
	and .modes[1].counters.calls == \$n * \$p and .modes[2].counters.calls <= 3 * \$p
	and .modes[2].counters.submissions == \$p and .modes[3].counters.submissions == 1"'
check "compare: looping takes modelled time off" json '.modes[2].times.device.total_ps < .modes[1].times.device.total_ps
	and .modes[3].times.device.total_ps < .modes[2].times.device.total_ps'
check "explain" eval 'decode --explain && json "[.looping[] | select(.taken and .program == \"layer\")] | length >= 1
	and (.[0].arguments | any(.class == \"affine\" and (.stride_bytes | type) == \"number\"))"'
finish
