# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shared by the tests of the vrdu command: TAP, temporary folder, checks.
#
# A test file sources this, calls plan N, and then check "name" command… N times.
# $VRDU is the command under test, $MODEL a model with an embedded tokenizer.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
VRDU=${VRDU:-$top/build/tools/vrdu.static}
MODEL=${MODEL:-$top/models/scripture.gguf}
CONVERT="python3 $top/models/convert.py"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
number=0
failures=0
unset VRDU_DEVICE

plan() { echo "1..$1"; }

# check NAME COMMAND…: one result; what the command printed is shown when it fails.
check() {
	local name=$1
	shift
	number=$((number + 1))
	if "$@" >"$tmp/check.log" 2>&1; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		sed 's/^/# /' "$tmp/check.log"
		failures=$((failures + 1))
	fi
}

# run CODE ARGUMENTS…: vrdu must exit with CODE; its output is in $tmp/out and $tmp/err.
run() {
	local want=$1 got
	shift
	"$VRDU" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	[ "$got" = "$want" ] && return 0
	echo "exit code $got instead of $want: vrdu $*"
	head -5 "$tmp/out" "$tmp/err"
	return 1
}

# says FILE TEXT: FILE ("out" or "err") has TEXT.
says() {
	grep -qF -- "$2" "$tmp/$1" && return 0
	echo "$1 does not say '$2' but:"
	head -5 "$tmp/$1"
	return 1
}

# refused CODE TEXT ARGUMENTS…: exit code, TEXT on stderr in one or two lines, nothing on stdout.
refused() {
	local code=$1 text=$2
	shift 2
	run "$code" "$@" && says err "$text" && [ ! -s "$tmp/out" ] &&
		[ "$(wc -l <"$tmp/err")" -le 2 ] && return 0
	echo "vrdu $*"
	return 1
}

# json FILTER: the output is exactly one document and FILTER is true of it.
json() {
	[ "$(jq -s length "$tmp/out" 2>&1)" = 1 ] && jq -e "$1" "$tmp/out" >"$tmp/jq.log" 2>&1 &&
		return 0
	echo "not true of the document: $1"
	cat "$tmp/jq.log"
	head -20 "$tmp/out"
	return 1
}

finish() { [ "$failures" = 0 ]; }
