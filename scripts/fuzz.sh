#!/bin/sh
# Runs every fuzz target for a short while, as many at a time as there are
# processors, each on one: fuzz.sh 2s
set -eu
time=${1:-2s}

# fuzz runs one target. The go tool sometimes calls the end of the time a failure
# ("context deadline exceeded") without any failing input; then it is run again.
fuzz() {
	for try in 1 2 3; do
		go test "./$1" -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 1s -parallel 1 >"$3" 2>&1 && return 0
		grep -q 'Failing input' "$3" && return 1
		grep -q 'context deadline exceeded' "$3" || return 1
	done
	return 1
}

targets() {
	for file in $(grep -rl '^func Fuzz' --include='*_test.go' internal); do
		sed -n "s|^func \(Fuzz[A-Za-z0-9_]*\)(.*|$(dirname "$file") \1|p" "$file"
	done
}

if [ $# -eq 3 ]; then # one of them, started below
	out=$(mktemp)
	trap 'rm -f "$out"' EXIT
	if fuzz "$2" "$3" "$out"; then
		echo "fuzz $2 $3"
		exit 0
	fi
	echo "fuzz $2 $3: failed"
	cat "$out"
	exit 255 # xargs starts no more
fi
targets | xargs -P "$(getconf _NPROCESSORS_ONLN)" -L 1 "$0" "$time"
