echo "lines: $(wc -l < app.log)"
echo "errors by host:"
grep ' ERROR ' app.log | awk "{print \$3}" | sort | uniq -c | sort -rn
echo "slowest requests (ms):"
sed -n 's/.*latency=\([0-9]*\) .*path=\([^ ]*\).*/\1 \2/p' app.log | sort -rn | head -n 3
echo "注文エラー: $(grep -c '注文に失敗' app.log)"
