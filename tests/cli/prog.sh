#!/bin/bash
# SPDX-License-Identifier: MIT
# vrdu prog: images of a model, their text form, the verifier's word.
. "$(dirname "$0")/lib.sh"
plan 12

check "build writes all images" eval 'run 0 prog build "$MODEL" --out="$tmp/img" &&
	[ "$(ls "$tmp/img" | tr "\n" " ")" = "embed.vrdu head.vrdu layer.vrdu looped.vrdu token-looped.vrdu " ]'
for i in embed layer head looped token-looped; do
	check "$i is accepted" eval "run 0 prog verify $tmp/img/$i.vrdu && says out accepted"
done
check "dump says what it is" eval 'run 0 prog dump "$tmp/img/looped.vrdu" && says out matmul && says out carry && says out loop'
cp "$tmp/img/layer.vrdu" "$tmp/bad"
printf x | dd of="$tmp/bad" bs=1 seek=2000 conv=notrunc status=none
check "a flipped byte is noticed" refused 1 "" prog verify "$tmp/bad"
head -c 100 "$tmp/img/layer.vrdu" >"$tmp/bad"
check "a cut image is noticed" refused 1 "" prog dump "$tmp/bad"
check "a fabric that is too small refuses" eval '! run 0 prog verify --profile=tiny "$tmp/img/token-looped.vrdu" &&
	says err "refused"'
check "unknown fabric" eval '! run 0 prog verify --profile=huge "$tmp/img/layer.vrdu"'
check "the same model gives the same bytes" eval 'run 0 prog build "$MODEL" --out="$tmp/img2" &&
	diff -r "$tmp/img" "$tmp/img2"'
finish
