#!/bin/bash
# SPDX-License-Identifier: MIT
# All tests of the vrdu command, as TAP: tests/cli/run.sh [path of vrdu]
cd "$(dirname "$0")" || exit 1
[ -n "$1" ] && VRDU=$(realpath "$1") && export VRDU
status=0
for t in usage files decode json prog; do
	echo "# $t"
	bash ./$t.sh || status=1
done
exit $status
