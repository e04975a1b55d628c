#!/bin/sh
# Runs every fuzz target for a short while: fuzz.sh 4s
set -eu
time=${1:-4s}
for file in $(grep -rl '^func Fuzz' --include='*_test.go' internal); do
	dir=$(dirname "$file")
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		echo "fuzz $dir $target"
		go test "./$dir" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1s >/tmp/hako-fuzz.$$ 2>&1 || {
			cat /tmp/hako-fuzz.$$
			rm -f /tmp/hako-fuzz.$$
			exit 1
		}
	done
done
rm -f /tmp/hako-fuzz.$$
