# SPDX-License-Identifier: MIT
# lib.sh - what the scripts of this project share.  Source it; it defines functions only.
# shellcheck shell=bash

# The repository's root, wherever the caller stands.
vrdu_root() {
	(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
}

say() {
	printf '%s\n' "$*" >&2
}

# die CAUSE [CURE]: one error message, then out.
die() {
	say "$(basename "$0"): error: $1"
	[ -z "${2:-}" ] || say "$(basename "$0"): cure: $2"
	exit 1
}

# Call this before as_root, whose output may go to a file.
need_root() {
	[ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null 2>&1 ||
		die "$1 needs root, and this user is not root and has no sudo" "run it as root"
}

# The privilege to install: nothing for root, sudo otherwise.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo -- "$@"
	fi
}

have_package() {
	[ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null)" = "ii " ]
}

# Debian's package lists may never have been fetched (fresh container): fetch them once.
# Candidates are asked for as "apt-cache policy NAME"; no answer means no list.
apt_knows() {
	[ -n "$(apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \([^(].*\)/\1/p')" ]
}

apt_update() {
	local log
	need_root "apt-get update"
	log=$(mktemp)
	say "$(basename "$0"): fetching Debian's package lists (apt-get update)"
	if ! as_root apt-get -q update >"$log" 2>&1; then
		tail -n 5 "$log" >&2
		rm -f "$log"
		die "apt-get update failed (its last lines stand above)" \
			"check the network and /etc/apt/sources.list*, then run this again"
	fi
	# One source of several that cannot be reached is a warning to apt; the reader decides.
	grep -E '^(W|E|Err)' "$log" | sort -u | head -n 5 >&2 || true
	rm -f "$log"
}
