#!/bin/sh
# Installs what the tests or benchmarks compare hako with. On Debian as root it
# installs by itself; elsewhere it says what is missing and goes on, and the
# tests that need it are skipped or fail aloud.
set -eu

need=""
want() { # want COMMAND PACKAGE
	command -v "$1" >/dev/null 2>&1 || need="$need $2"
}

want bash bash
want gawk gawk
want busybox busybox-static # what tiny.sh makes an image of, and a peer of the benchmarks
if [ "$1" = bench ]; then
	want bwrap bubblewrap # what the sandbox's start is compared with
else
	want git git
	want python3 python3
	want make make
	want ps procps
	want gcc gcc # the race detector
	want jq jq
	want bc bc
	want dc dc
	want zip zip
	want unzip unzip
	want xxd xxd
	want hexdump bsdextrautils
	want file file
	want patch patch
	want tree tree
	want tmux tmux # what a person sees of a question
	want chromium chromium # the pages of the console
	want npm npm # what scripts/mcptools.sh installs
	want man man-db # the manual pages
	want groff groff-base
	want zsh zsh # the completions
	want fish fish
	want uuencode sharutils
	want xz xz-utils
	want bzip2 bzip2
	want fc-list fontconfig
	[ -n "$(fc-list :lang=ja 2>/dev/null)" ] || need="$need fonts-ipafont-gothic" # whether Japanese words fit the pages
fi

[ -n "$need" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing:$need"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	# shellcheck disable=SC2086 # a list of words
	apt-get install -y -qq --no-install-recommends $need >/dev/null
	exit 0
fi
echo "missing:$need (install these packages, then run again)" >&2
