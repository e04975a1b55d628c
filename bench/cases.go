package main

// A workload is one script that every shell runs. @ stands for the log.
type workload struct {
	name   string
	script string
	target float64 // wall time against bash, at most
	stream bool    // its memory must not depend on the size of the log
}

var cases = []workload{
	{"start: echo hi", `echo hi`, 5, false},
	{"cat f | wc -l", `cat @ | wc -l`, 2, true},
	{"wc -l f", `wc -l @`, 2, true},
	{"wc f", `wc @`, 2, true},
	{"head -n 1000", `head -n 1000 @`, 2, true},
	{"tail -n 1000", `tail -n 1000 @`, 2, true},
	{"tr a-z A-Z", `tr a-z A-Z < @ | tail -n 1`, 2, true},
	{"cut -d' ' -f1", `cut -d' ' -f1 @ | tail -n 1`, 2, true},
	{"cat f > file", `cat @ > out.txt`, 2, true},
	{"sed -n 500000,500010p", `sed -n 500000,500010p @`, 2, true},
	{"grep -c literal", `grep -c ERROR @`, 1.5, true},
	{"grep -c -i", `grep -c -i error @`, 1.5, true},
	{"grep -c -E a|b|c", `grep -c -E 'timeout|refused|denied' @`, 1.5, true},
	{"grep -c class", `grep -c 'status=5[0-9][0-9]' @`, 1.5, true},
	{"grep -c inner literal", `grep -c -E '[a-z]+ timeout [0-9]+' @`, 1.5, true},
	{"grep -c no literal", `grep -c -E '[0-9]{3}\.[0-9]{2}' @`, 1.5, true},
	{"sort | uniq -c | sort -rn", `sort @ | uniq -c | sort -rn | head`, 1.5, false},
	{"cut | sort | uniq -c", `cut -d' ' -f3 @ | sort | uniq -c`, 1.5, false},
	{"awk sum", `awk '{s+=$NF} END {print s}' @`, 2.5, true},
	{"awk count", `awk '{c[$3]++} END {for (k in c) print c[k], k}' @ | sort`, 2.5, true},
	{"sed s///", `sed 's/status=/code=/' @ | tail -n 1`, 2.5, true},
	{"loop: while [ ]", `i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo $i`, 1.5, false},
	{"loop: for (( ))", `s=0; for ((i=0;i<100000;i++)); do s=$((s+i)); done; echo $s`, 1.5, false},
	{"loop: case and expansion", `for ((i=0;i<100000;i++)); do case $i in *7) x=${i#1};; esac; done; echo $x`, 1.5, false},
	{"2000 x $(a | b | c)", `for ((i=0;i<2000;i++)); do x=$(echo abc:$i | tr a b | cut -d: -f1); done; echo $x`, 0.2,
		false},
}
