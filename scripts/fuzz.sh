#!/bin/sh
# Runs every fuzz target for a short while: fuzz.sh 2s
set -eu
time=${1:-2s}
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# fuzz runs one target. The go tool sometimes calls the end of the time a failure
# ("context deadline exceeded") without any failing input; then it is run again.
fuzz() {
	for try in 1 2 3; do
		go test "./$1" -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 1s >"$out" 2>&1 && return 0
		grep -q 'Failing input' "$out" && return 1
		grep -q 'context deadline exceeded' "$out" || return 1
	done
	return 1
}

for file in $(grep -rl '^func Fuzz' --include='*_test.go' internal); do
	dir=$(dirname "$file")
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		echo "fuzz $dir $target"
		fuzz "$dir" "$target" || {
			cat "$out"
			exit 1
		}
	done
done
