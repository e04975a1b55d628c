#!/bin/sh
# Runs every fuzz target for a short while, as many packages at a time as there
# are processors, each on one: fuzz.sh 2s
set -eu
time=${1:-2s}

# fuzz runs one target. The go tool sometimes calls the end of the time a failure
# ("context deadline exceeded") without any failing input; then it is run again.
fuzz() {
	for try in 1 2 3; do
		"$1" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$time" -test.fuzzminimizetime 1s -test.parallel 1 -test.fuzzcachedir "$cache" >"$3" 2>&1 && return 0
		grep -q 'Failing input' "$3" && return 1
		grep -q 'context deadline exceeded' "$3" || return 1
	done
	return 1
}

targets() { sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$1"/*_test.go; }

# all runs the targets of one package, which is built once for them.
all() {
	go test -c -fuzz=Fuzz -o "$work/fuzz.test" "./$1"
	cache=$(go env GOCACHE)/fuzz/$(go list "./$1")
	cd "$1"
	for target in $(targets .); do
		if ! fuzz "$work/fuzz.test" "$target" "$work/out"; then
			echo "fuzz $1 $target: failed"
			cat "$work/out"
			exit 255 # xargs starts no more
		fi
		echo "fuzz $1 $target"
	done
}

if [ $# -eq 2 ]; then # one package, started below
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	all "$2" || exit 255
	exit 0
fi
grep -rl '^func Fuzz' --include='*_test.go' . | sed 's,^\./,,' | xargs -n 1 dirname | sort -u | xargs -P "$(getconf _NPROCESSORS_ONLN)" -L 1 "$0" "$time"
