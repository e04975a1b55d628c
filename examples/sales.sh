# Sales by product, as a table and as JSON.
#   hako sh -i examples/sales.csv -o /tmp/sales.json examples/sales.sh
set -euo pipefail

awk -F, 'NR > 1 { sum[$2] += $3 * $4 } END { for (p in sum) print p "," sum[p] }' "$1" |
	sort -t, -k2,2nr > by-product.csv

column -t -s, by-product.csv
jq -R -s 'split("\n") | map(select(. != "") | split(",") | {"商品": .[0], "売上": (.[1] | tonumber)})' by-product.csv > "$2"
echo "合計: $(jq 'map(.["売上"]) | add' "$2")"
