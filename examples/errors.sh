# Which hosts report errors, and how slow are they?
#   hako sh -i examples/app.log examples/errors.sh
set -euo pipefail

log=$1
echo "lines: $(wc -l < "$log"), errors: $(grep -c ' ERROR ' "$log")"

declare -A worst
while read -r _ level host rest; do
	[[ $level == ERROR && $rest =~ latency=([0-9]+) ]] || continue
	ms=${BASH_REMATCH[1]}
	(( ms > ${worst[$host]:-0} )) && worst[$host]=$ms
done < "$log"

for host in "${!worst[@]}"; do
	printf '%-6s %5d ms\n' "$host" "${worst[$host]}"
done | sort
