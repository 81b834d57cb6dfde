#!/bin/sh
# SPDX-License-Identifier: MIT
# decode.sh [expect]: decode the shipped model in every mode, and compare tokens and all modelled
# times. With "expect": write what the simulator says to $EXPECT (on the host, natively). Without:
# the node must say the same, to the token and the picosecond (in the virtual machine). Prints TAP.
VRDU=${VRDU:-/t/vrdu}
MODEL=${MODEL:-/t/model}
EXPECT=${EXPECT:-/t/expect}
modes="layer batch loop token-loop"

summary() { # JSON file: the lines that must not depend on the machine
	awk '/"token_ids"/ { p = 1 } p { print } /\]/ { p = 0 }
		/"device_(calls|runs|iterations|firings|hbm_)/ { print } /"total_ps"/ { print }' "$1"
}

decode() { # mode, backend
	"$VRDU" decode "$MODEL" --backend "$2" --mode "$1" --tokens 24 --block 12 \
		--prompt "And God said" --json -q
}

if [ "$1" = expect ]; then
	out=$EXPECT
	: > "$out"
	for mode in $modes; do
		decode "$mode" sim > "$out.json" || exit 1
		echo "mode $mode" >> "$out"
		summary "$out.json" >> "$out"
	done
	rm -f "$out.json"
	exit 0
fi

n=0
bad=0
result() { # exit code, what
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n $2"
	else
		echo "not ok $n $2"
		bad=1
	fi
}
echo "1..6"
for mode in $modes; do
	decode "$mode" node > /tmp/node.json
	result $? "decode --mode $mode"
	echo "mode $mode" >> /tmp/got
	summary /tmp/node.json >> /tmp/got
done
diff "$EXPECT" /tmp/got > /tmp/diff
result $? "tokens, counts and modelled times equal the simulator's"
head -n 20 /tmp/diff | sed 's/^/# /'
"$VRDU" decode "$MODEL" --backend node --mode token-loop --tokens 16 --verify -q > /tmp/out 2>&1
result $? "decode --verify"
exit $bad
