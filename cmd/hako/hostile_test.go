//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What every script must keep to, whatever it tries.
const (
	mostTime   = 5 * time.Second
	mostMemory = 512 << 20
)

// A hostile script and how it ends.
type hostile struct {
	script string
	by     string // the limits that end it, besides time; empty: it may end as it likes
}

// hostileScripts are tried one by one in a process of their own.
var hostileScripts = map[string][]hostile{
	"recursion": {
		{`f() { f; }; f`, "depth"},
		{`f() { (f); }; f`, "depth"},
		{`f() { f | f; }; f`, "depth memory"},
		{`f() { f | cat; }; f`, "depth"},
		{`f() { x=$(f); }; f`, "depth"},
		{`f() { eval f; }; f`, "depth"},
		{`x='eval "$x"'; eval "$x"`, "depth"},
		{`echo 'sh s.sh' > s.sh; sh s.sh`, "depth"},
		{`echo '. ./s.sh' > s.sh; . ./s.sh`, "depth"},
		{`export x='sh -c "$x"'; sh -c "$x"`, "depth"},
		{`sh -c 'sh -c "sh -c \"while :; do :; done\""'`, "loops"},
		{`trap 'exit' EXIT; trap 'trap "f" EXIT; f' ERR; f() { f2; }; f2() { false; f; }; f`, "depth"},
		{`trap 'false' ERR; trap 'trap "exit 3" EXIT; exit' EXIT; false; f() { trap f RETURN; f; }; f`, "depth"},
		{`declare -n a=b; declare -n b=a; a=1; echo $a ${!a}; b[1]=2; unset a`, ""},
		{`declare -n a=a; a=1; echo "$a"`, ""},
		{`x='x'; y='$((x))'; echo $((x)); a='b[a]'; b[0]='a'; echo $((a))`, ""},
		{`x='x+1'; echo $((x))`, ""},
		{`alias a=a b=c c=b; shopt -s expand_aliases; a; b`, ""},
		{`find / -exec sh -c 'find / -exec sh -c "find /" \;' \;`, ""},
		{`mkdir -p d/d/d; find . -exec find . -exec find . -exec find . \; \; \;`, ""},
		{`echo x | xargs sh -c 'echo x | xargs sh -c "echo x | xargs echo"'`, ""},
		{`f() { echo x | xargs -I{} sh -c 'echo {}'; f; }; f`, "depth"},
		{`awk 'function f(x) { return f(x+1) } BEGIN { f(1) }'`, ""},
		{`jq -n 'def f: f + 1; f'`, ""},
		{`jq -n 'def f: [f]; f'`, ""},
		{`bc <<< 'define f(x) { return f(x+1) } f(1)'`, ""},
		{`dc -e '[lax]sa lax'`, ""},
		{`f() { local a=(1 2 3); f "$@" x; }; f`, "depth"},
	},
	"loops": {
		{`while true; do :; done`, "loops"},
		{`while true; do echo x > /dev/null; done`, "loops"},
		{`until false; do x=$((x+1)); done`, "loops"},
		{`for ((;;)); do :; done`, "loops"},
		{`for i in {1..300000000}; do :; done`, "memory loops"},
		{`sleep 100000`, "time"},
		{`for i in 1 2 3; do sleep 1000 & done; wait`, ""},
		{`:(){ :|:& };:`, ""},
		{`awk 'BEGIN{while(1);}'`, "time"},
		{`echo a | sed ':a;ba'`, "time"},
		{`jq -n 'def f: f; f'`, ""},
		{`jq -n 'last(repeat(1))'`, "memory"},
		{`jq -n '[limit(1; range(1e18))|select(false)], first(range(1e18)|select(false))'`, "time"},
		{`bc <<< 'while (1) { x = x + 1 }'`, "time"},
		{`dc -e '[lbx]sb lbx'`, "depth"},
		{`seq 1 2000000000 | tail -1`, "time"},
		{`seq 1 0.0000001 2`, ""},
		{`cat /dev/zero`, "output"},
		{`cat /dev/urandom | tr -d '\n' | wc -l`, "time"},
		{`head -c 10000000000 /dev/zero | gzip | wc -c`, "time"},
		{`od /dev/zero`, "output"},
		{`yes | while read x; do y+=$x; done`, "loops memory"},
		{`while read x; do :; done < /dev/zero`, "memory"},
		{`read -N 100000000000 x < /dev/zero`, "memory"},
		{`read -t 100000 x`, ""},
		{`exec 3< /dev/zero; cat <&3 | cat <&3 | cat <&3`, "output"},
		{`factor 170141183460469231731687303715884105727`, ""},
		{`factor 340282366920938463463374607431768211456123456789012345678901`, ""},
		{`timeout 100 sleep 100`, "time"},
		{`yes | grep -v y`, "time"},
		{`yes | awk '{n++}'`, "time"},
		{`tail -f /dev/null`, ""},
		{`while getopts ab x; do OPTIND=1; done; set -- -a -b; while getopts ab x; do OPTIND=1; done`, "loops"},
		{`select x in a b c; do :; done < <(yes 1)`, ""},
		{`yes 1 | select x in a b c; do :; done`, "loops output"},
	},
	"strings": {
		{`x=a; while true; do x=$x$x; done`, "memory"},
		{`x=a; while :; do x+=$x; done`, "memory"},
		{`x=1; while :; do x=$(echo $x$x); done`, "memory"},
		{`x=$(yes)`, "memory"},
		{`read x < /dev/zero`, "memory"},
		{`printf %2000000000d 1`, ""},
		{`printf '%.2000000000d' 1`, ""},
		{`printf '%*d' 2000000000 1`, ""},
		{`printf -v x '%1000000000s' a; echo ${#x}`, ""},
		{`printf '%s' $(seq 1000000) | wc -c; while :; do printf -v x '%s%s' "$x" aaaaaaaa; done`, "memory loops"},
		{`x=$(printf '%0100000d' 1); y=${x//0/$x}; echo ${#y}`, "memory"},
		{`x=$(printf '%01000d' 1); for i in 1 2 3 4 5; do x=${x//0/$x}; done`, "memory"},
		{`x=$(head -c 50000000 /dev/zero | tr '\0' a); for i in 1 2 3 4 5 6 7 8 9; do eval y$i='$x'; done`, "memory"},
		{`x=$(head -c 20000000 /dev/zero | tr '\0' a); : ${a:=$x$x} ${b:=$a$a} ${c:=$b$b} ${d:=$c$c} ${e:=$d$d}`, "memory"},
		{`x=$(head -c 3000000 /dev/zero | tr '\0' a); echo "${x^^}" "${x@Q}" "${x//a/\\a}" | wc -c`, ""},
		{`x=$(head -c 1000000 /dev/zero | tr '\0' ß); x=${x^^}; y=${x,,}; echo ${#y}`, ""},
		{`x=$(yes 'İßǅﬃ' | head -n 100000 | tr -d '\n'); y=${x^^}${x,,}; echo ${#y}; echo "$x" | tr a-z A-Z | wc -c`, ""},
		{`x=$(head -c 100000 /dev/zero | tr '\0' a); for i in 1 2 3 4; do cat <<< "$x$x$x$x" | wc -c; done; while :; do x=$(cat <<< "$x$x"); done`, "memory"},
		{"x=$(head -c 1000000 /dev/zero | tr '\\0' a)\nwhile :; do x=$(cat <<E\n$x$x$x$x\nE\n); done", "memory"},
		{`x=$(head -c 1000000 /dev/zero | tr '\0' a); while :; do echo "$x$x$x$x" > f; mapfile -t y < f; x=${y[0]}; done`,
			"memory file_size"},
		{`awk 'BEGIN{x="a";while(1)x=x x}'`, "memory"},
		{`awk 'BEGIN{while(1)a[i++]=i}'`, "memory"},
		{`awk 'BEGIN{printf "%2000000000d",1}'`, ""},
		{`awk 'BEGIN{x=sprintf("%200000000d",1); while(1) y[n++]=x x}'`, "memory"},
		{`awk 'BEGIN{x=sprintf("%10000000d",1); gsub(/ /, x, x); print length(x)}'`, "memory"},
		{`awk 'BEGIN{x="a"; while(1) {$0=x; x=$0 $0; $100000000=1}}'`, ""},
		{`yes a | tr -d '\n' | awk '{print length($0)}'`, "memory"},
		{`yes a | tr -d '\n' | sed s/a/b/`, "memory"},
		{`yes a | tr -d '\n' | grep -o b`, "memory"},
		{`yes a | tr -d '\n' | rev`, "memory"},
		{`echo a | sed ':a;s/a/aa/;ta'`, "memory"},
		{`echo a | sed ':a;s/$/xxxxxxxx/;ta'`, "memory"},
		{`echo a | sed ':a;s/.*/&&/;ta'`, "memory"},
		{`echo a | sed ':a;G;h;ba'`, "memory"},
		{`jq -n '[range(1e9)]'`, "memory"},
		{`jq -n 'reduce range(100) as $i ("a"; .+.)'`, "memory"},
		{`jq -n '"a"*1e10'`, ""},
		{`jq -n '[limit(100000000; repeat("aaaaaaaaaaaaaaaaaaaa"))]'`, "memory"},
		{`jq -n 'reduce range(40) as $i ([1]; .+.) | length'`, "memory"},
		{`jq -n 'reduce range(1000000) as $i (.; [.])' | wc -c`, ""},
		{`jq -n '"a" | until(false; .+.)'`, "memory"},
		{`jq -n '[[range(1000)]|combinations(100)]'`, ""},
		{`bc <<< '9^9^9'`, ""},
		{`echo 2 1000000000 ^ p | dc`, ""},
		{`bc <<< 'scale=100000000; 1/3'`, ""},
		{`bc -l <<< 'scale=1000000; e(1)'`, ""},
		{`expr 99999999999999999999 '*' 99999999999999999999; echo $((9**9**9**9)) $((1<<9999)) $((-9223372036854775808/-1)) $((2**63%-1))`, ""},
		{`x=9; for i in $(seq 60); do x=$((x*x*x)); done; echo $((x)); y=9; while :; do y=$(expr $y '*' $y) || break; done`,
			""},
		{`set -- $(seq 1 10000000); echo $#`, "memory"},
		{`eval "$(yes 'echo hi;' | head -100000)"`, ""},
		{`eval "$(yes 'x+=$x$x;' | head -100000)"`, ""},
		{`yes | tr '\n' ' ' | xargs -n1000000 echo | wc -c`, "memory"},
	},
	"braces": {
		{`echo {1..300000000}`, "memory"},
		{`echo {1..300000000..3} | wc -c`, "memory"},
		{`echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b} | wc -c`, "memory"},
		{`echo {{1..1000},{1..1000}}{{1..1000},{1..1000}}{1..1000} | wc -c`, "memory"},
		{`for x in {1..100000}{1..100000}; do :; done`, "memory"},
		{`x=({1..9999999}{a..z}); echo ${#x[@]}`, "memory"},
		{`echo {-9223372036854775808..9223372036854775807}`, "memory"},
		{`echo {0000000000000000000001..99999999999999}`, "memory"},
		{"echo " + strings.Repeat("{a,", 5000) + "b" + strings.Repeat("}", 5000) + " | wc -c", ""},
		{"echo " + strings.Repeat("{", 40000) + strings.Repeat("}", 40000) + " | wc -c", ""},
		{"echo " + strings.Repeat("{a,b}", 4000) + " | wc -c", "memory"},
		{"echo " + strings.Repeat("{a,b}", 15000) + " | wc -c", ""},
	},
	"nesting": {
		{strings.Repeat("(", 20000) + "echo a" + strings.Repeat(")", 20000), ""},
		{strings.Repeat("( ", 20000) + "echo a" + strings.Repeat(" )", 20000), ""},
		{strings.Repeat("{ ", 20000) + "echo a" + strings.Repeat("; }", 20000), ""},
		{strings.Repeat("if true; then ", 6000) + "echo a" + strings.Repeat("; fi", 6000), ""},
		{strings.Repeat("while true; do ", 6000) + "break" + strings.Repeat("; done", 6000), ""},
		{"echo " + strings.Repeat("$(echo ", 12000) + "a" + strings.Repeat(")", 12000), ""},
		{"echo " + strings.Repeat("${x:-", 20000) + "a" + strings.Repeat("}", 20000), ""},
		{`echo "` + strings.Repeat("${x:-\"", 12000) + "a" + strings.Repeat("\"}", 12000) + `"`, ""},
		{"echo $((" + strings.Repeat("(", 50000) + "1" + strings.Repeat(")", 50000) + "))", ""},
		{"echo $((" + strings.Repeat("-", 90000) + "1))", ""},
		{"echo $((1" + strings.Repeat("?1:1", 20000) + "))", ""},
		{"echo $((1" + strings.Repeat("+1", 40000) + "))", ""},
		{"x='" + strings.Repeat("(", 50000) + "1" + strings.Repeat(")", 50000) + "'; echo $((x))", ""},
		{"[[ " + strings.Repeat("( ", 20000) + "a" + strings.Repeat(" )", 20000) + " ]]", ""},
		{"[[ " + strings.Repeat("! ", 40000) + "a ]]", ""},
		{"[ " + strings.Repeat("! ", 40000) + "a ]", ""},
		{"[ " + strings.Repeat("'(' ", 10000) + "a" + strings.Repeat(" ')'", 10000) + " ]", ""},
		{strings.Repeat("! ", 40000) + "true", ""},
		{"true" + strings.Repeat(" && true", 10000), ""},
		{"echo a" + strings.Repeat(" | cat", 10000), ""}, // the parser refuses it
		{"echo a" + strings.Repeat(" | cat", 1000), "stages"},
		{"case a in " + strings.Repeat("a) case a in ", 5000) + "a) echo;;" + strings.Repeat("esac;;", 5000) + " esac", ""},
		{strings.Repeat("f() { ", 12000) + "a" + strings.Repeat("; }", 12000), ""},
		{strings.Repeat("cat <<E\n", 10000), ""},
		{"cat <<E\n" + strings.Repeat("$(cat <<F\n", 5000) + "a" + strings.Repeat("\nF\n)", 5000) + "\nE", ""},
		{strings.Repeat("`", 100000), ""},
		{"eval " + strings.Repeat("eval ", 20000) + "echo a", ""},
		{`x=a; for i in $(seq 15); do x="( $x$x )"; done; eval "$x"`, ""},
		{`x=a; for i in $(seq 20000); do x="($x)"; done; eval "$x"; eval "echo \$(($x))"`, ""},
		{`x=1; for i in $(seq 20000); do x="[$x]"; done; echo "$x" | jq -c . | wc -c`, ""},
		{`x=1; for i in $(seq 20000); do x="($x)"; done; echo "$x" | bc; expr "$x" : "$x"; awk "BEGIN{print $x}"; jq -n "$x"; echo a | grep -E "$x"; echo a | sed -E "s/$x/b/"; [[ a =~ $x ]]`, ""},
		{"x=" + strings.Repeat("a", 90000) + "; alias $x=$x; declare -n $x=$x; export $x=1; eval $x=2; unset $x", ""},
	},
	"files": {
		{`i=0; while :; do i=$((i+1)); yes | head -c 1000000 > f$i; done`, "memory files"},
		{`for i in $(seq 1 9000); do head -c 1048576 /dev/zero > f$i; done`, "memory files"},
		{`for i in $(seq 1 200000); do : > f$i; done`, "files"},
		{`while :; do mkdir d && cd d; done`, "files loops depth memory"},
		{`while :; do mktemp; done > /dev/null`, "files"},
		{`split -b 1 /dev/zero`, "files memory"},
		{`yes | split -l 1 -a 5`, "files memory"},
		{`yes | csplit - '/y/' '{*}'`, "files memory"},
		{`tee a b c d < /dev/zero`, "memory output file_size"},
		{`yes > f`, "memory file_size"},
		{`while :; do cat f f >> g; cat g >> f; echo a >> f; done`, "memory file_size loops"},
		{`echo a > f; cat f f f f > g; while cat g g g g > h; do cat h h h h > g || break; done`, "memory file_size loops"},
		{`truncate -s 100T f; dd if=/dev/zero of=f bs=1000000000000 count=1; dd if=/dev/zero of=f seek=1000000000000 count=1`,
			""},
		{`ln -s a b; ln -s b a; cat a; find . -follow; ls -R; cp -rL . ../c; cd a; rm -r a; stat a; echo x > b; realpath a; du -L .; tar cf x.tar -h .; ls -L a`, ""},
		{`ln -s . d; find -L . | head -c 100; ls -RL . | head -c 1000; cat d/d/d/d/d/d/d/d/x; grep -r x . ; grep -R x .; du -L .; cp -rL d e; tree -l | head -n 5; echo d/*/*/*/*/*/*`, ""},
		{`i=0; while [ $i -lt 5000 ]; do ln -s l$((i+1)) l$i; i=$((i+1)); done; cat l0`, ""},
		{`mkdir x; cp -r x x/y; cp -r . x/z; mv x x/y; tar cf x/a.tar x; zip -r x/a.zip x`, ""},
		{`echo ../../*/../../*/../../*/../../*/../../*/../../*`, ""},
		{`echo ../../{*,../*}/{../*,*}/{../../*,*}/../../*/../../*/../../* | wc -c`, ""},
		{`mkdir -p d/{a,b,c,d}/{a,b,c,d}/{a,b,c,d}/{a,b,c,d}; shopt -s globstar; echo **/**/**/**/**/**/* | wc -c`, ""},
		{`mkdir -p {a,b,c,d,e,f,g,h}/{a,b,c,d,e,f,g,h}/{a,b,c,d,e,f,g,h}; echo */../*/../*/../*/../*/../*/../*/../*/../*/../* | wc -c`, "memory"},
		{`yes x | gzip > z.gz`, "memory file_size"},
		{`head -c 200000000 /dev/zero | gzip > z.gz; zcat z.gz | wc -c; gzip -dk z.gz; zcat z.gz > y; x=$(zcat z.gz | tr '\0' a)`, "memory file_size"},
		{`head -c 100000000 /dev/zero | gzip | gzip | gzip > z.gz; zcat z.gz | zcat | zcat | tr -d x | sort`, ""},
		{`head -c 9000000 /dev/zero > f; for i in 1 2 3 4 5; do tar czf t.tgz f; rm f; mkdir -p d$i; (cd d$i; tar xzf ../t.tgz); cp d$i/f f; done; tar czf all.tgz d*; for i in $(seq 99); do mkdir e$i; tar xzf all.tgz -C e$i; done`, "memory file_size"},
		{`head -c 9000000 /dev/zero > f; zip z.zip f; for i in $(seq 99); do mkdir d$i; unzip -q z.zip -d d$i; done`,
			"memory file_size"},
		{`exec 3<&0; for i in $(seq 1 100000); do exec {x}< /dev/null; done`, ""},
		{`for i in $(seq 1 250); do eval "exec $i<>f$i"; done; for i in $(seq 1 100); do (cat f1 | cat | cat | cat) ; done; echo ok`, ""},
		{`exec 999999999< /dev/null; exec 99999999999999999999> f; echo a >&99999; cat <&77`, ""},
		{`x=$(seq 100000); for i in 1 2 3; do echo "$x" | xargs -n1 echo > /dev/null; done; echo "$x" | xargs -I{} echo {}{}{} > /dev/null`, ""},
		{`seq 100000000 | xargs -n1 sh -c 'echo $0' > /dev/null`, "depth"},
		{`xargs -n1 echo < /dev/zero`, "memory"},
		{`yes | tee >(cat) | cat`, ""},
		{`cat <(yes) | head -1`, ""},
	},
	"patterns": {
		{`grep -E '(a{1000}){1000}' /dev/null`, ""},
		{`grep -E '((((a{100}){100}){100}){100})' /dev/null; echo aaaa | grep -E '(a*)*b'`, ""},
		{`x=$(printf '%050000d' 0); echo "$x" | grep -E '(0|00|000)*1'; echo "$x" | grep -E '((0*)*)*1'; echo "$x" | sed -E 's/(0*)*1/x/' | wc -c`, ""},
		{`x=$(printf '%05000d' 0); echo "$x" | grep '\(0*\)*\1\1\1x'; echo "$x" | sed 's/\(0*\)\(0*\)\(0*\)\(0*\)\1\2\3\4x//' | wc -c`, ""},
		{`x=$(printf '%05000d' 0); echo "$x" | grep -P '(?=(0+)+1)(0+)+1'`, ""},
		{`x=$(printf '%0100000d' 0); [[ $x =~ (0*)*1 ]]; [[ $x =~ (0|00)*(0|000)*1 ]]; echo $?`, ""},
		{`x=$(printf '%0100000d' 0); y=${x//*0*0*0*/}; y=${x//*0*0*0*1/}; echo ${#y}`, ""},
		{`x=$(printf '%0100000d' 0); y=${x##*0*0*0*0*1}; y=${x%%1*0*0*0}; y=${x/*0*0*0*0*1*/}; echo ${#y}`, ""},
		{`x=$(printf '%03000d' 0); case $x in *0*0*0*0*0*0*0*0*0*0*0*0*0*0*0*1) ;; esac; [[ $x == *(*(*(0)))1 ]]; [[ $x == +(+(+(0|00)))1 ]]; echo $?`, ""},
		{`x=$(printf '%03000d' 0); [[ $x == !(!(!(0))) ]]; [[ $x == !(!(!(*0*0*))) ]]; y=${x//!(!(!(0)))/}; y=${x//@(0|00|*(0))/}; echo ${#y}`, ""},
		{`x=$(printf '%020000d' 0); y=${x//+(0)1/}; y=${x//*(0|+(0))1/}; y=${x//?(*0)1/}; echo ${#y}`, ""},
		{"x=aaaaaaaaaaaaaaaaaaaaaaaa; case $x in " + strings.Repeat("!(", 2000) + "a" + strings.Repeat(")", 2000) +
			") ;; esac", ""},
		{"x=aaaaaaaaaaaaaaaaaaaaaaaa; case $x in " + strings.Repeat("*(", 2000) + "a" + strings.Repeat(")", 2000) +
			"b) ;; esac", ""},
		{"echo aaaa | grep -E '" + strings.Repeat("(", 20000) + "a" + strings.Repeat(")", 20000) + "'", ""},
		{"echo aaaa | grep -E '" + strings.Repeat("(a|", 20000) + "a" + strings.Repeat(")", 20000) + "'", ""},
		{"echo aaaa | grep -E '" + strings.Repeat("a?", 5000) + strings.Repeat("a", 5000) + "'", ""},
		{"echo aaaa | sed -E 's/" + strings.Repeat("(a*)*", 3000) + "/x/'", ""},
		{"ls " + strings.Repeat("*/", 5000), ""},
		{"ls " + strings.Repeat("[a-z", 5000) + "; ls " + strings.Repeat("[!", 5000) + "]", ""},
		{`awk 'BEGIN { x = sprintf("%0100000d", 0); print match(x, /(0*)*1/), gsub(/(0|00)*1?/, "x", x) }'`, ""},
		{`awk 'BEGIN { x = "(a*)*"; for (i = 0; i < 20; i++) x = "(" x x ")*"; print "aaaa" ~ x }'`, ""},
		{`jq -n '"\("a"*50000)" | test("(a*)*b"), test("(a|aa)+$b")'`, ""},
		{`jq -n '("a"*30000) | [match("a*?"; "g")] | length'`, ""},
		{`find / -regex '.*.*.*.*.*.*.*.*.*x' -o -name '*a*a*a*a*a*a*a*b'`, ""},
		{`x=$(printf '%0200000d' 0); IFS=0; set -- $x; echo $# ; read -a y <<< "$x"; echo ${#y[@]}; echo "${y[*]}" | wc -c`,
			""},
		{`diff <(seq 100000) <(seq 100000 -1 1)`, ""},
		{`seq 100000 > a; seq 100000 -1 1 > b; diff a b | wc -l; comm a b | wc -l; shuf a > c; diff a c | wc -l`, ""},
	},
	"arrays": {
		{`a=(); while :; do a+=(x); done`, "memory loops"},
		{`declare -A a; i=0; while :; do a[$i]=x; i=$((i+1)); done`, "memory loops"},
		{`a[9223372036854775807]=1; a[1000000000000]=2; echo ${#a[@]} "${!a[@]}"; a+=(3)`, ""},
		{`a=([2000000000]=x); b=("${a[@]}"); echo ${a[-1]} ${#a[@]}; echo "${a[@]:0:1}" "${a[@]: -1}"`, ""},
		{`a=(1 2 3); while :; do a=("${a[@]}" "${a[@]}"); done`, "memory"},
		{`a=({1..100000}); b="${a[*]}"; for i in 1 2 3 4 5; do a+=("${a[@]}"); done; echo "${#a[@]}" "${a[*]/1/2}" | wc -c`,
			""},
		{`set -- a b c; while :; do set -- "$@" "$@"; done`, "memory"},
		{`mapfile a < <(yes)`, ""},
		{`yes | mapfile a`, "memory"},
		{`yes | head -n 1000000 | { mapfile -t a; echo ${#a[@]}; }`, ""},
		{`mapfile -O 9999999999 a < /dev/null; mapfile -n 99999999999 -d '' a < /dev/zero`, "memory"},
		{`yes | sort`, "memory"},
		{`yes | sort -u`, "memory"},
		{`yes | uniq`, "time"},
		{`yes | tac`, "memory"},
		{`tac /dev/zero`, "memory"},
		{`yes | shuf`, "memory"},
		{`shuf -i 1-1000000000`, ""},
		{`shuf -i 1-1000000000 -n 5; shuf -r -i 1-10 | wc -l`, "time"},
		{`yes | tail -n 1000000000`, "memory"},
		{`yes | tail -c 1000000000`, "memory"},
		{`yes | head -n -1000000000`, "memory"},
		{`yes | column -t`, "memory"},
		{`yes | jq -R -s .`, "memory"},
		{`yes 1 | jq -s .`, "memory"},
		{`yes '[' | tr -d '\n' | jq .`, ""},
		{`yes -- '- a' | yq .`, "memory"},
		{`x='a: &a [x,x,x,x,x,x,x,x,x]'; for i in b c d e f g h i j k l; do x+=$'\n'"$i: &$i [*$p${p:-a},*$p${p:-a},*$p${p:-a},*$p${p:-a},*$p${p:-a},*$p${p:-a},*$p${p:-a},*$p${p:-a}]"; p=; prev=$i; done; echo "$x" | yq . | wc -c`, ""},
		{"printf 'a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f]\nh: &h [*g,*g,*g,*g,*g,*g,*g,*g]\ni: [*h,*h,*h,*h,*h,*h,*h,*h]\n' | yq . | wc -c", ""},
		{`yes | paste - - - - | pr 2>/dev/null; yes | paste -s`, "memory output"},
		{`yes | fold -w 1000000000; fold -w 1 /dev/zero`, "output"},
		{`yes ' ' | tr -d '\n' | fmt`, "memory"},
		{`yes | nl | expand -t 1000000000`, "output"},
		{`printf '\t\t\t\t' | expand -t 1000000000 | wc -c; printf '%s\n' a b | nl -w 1000000000 | wc -c; echo a | pr -w 1000000000 2>/dev/null; seq -w 1 100000000000000000000000000000000000000 | head -n 1; seq -f '%1000000000.0f' 1 2 | wc -c`, ""},
		{`echo a | column -c 1000000000000; ls -w 1000000000; echo x | xxd -c 1000000000; echo x | od -w1000000000 | wc -c; base64 -w 1000000000 <<< x`, ""},
		{`date -d @99999999999999999999; date -d '99999999999 years'; date +%1000000000d; touch -d @999999999999999999 f; date -d "$(yes 'next day' | head -n 10000)"`, ""},
		{`join <(yes) <(yes)`, ""},
		{`yes a | head -n 5000 > f; join f f | wc -l`, ""},
		{`seq 300000 | awk '{a[NR]=$0 $0 $0} END {for (i in a) for (j in a) n++; print n}'`, "memory"},
	},
}

// TestHostileScripts runs every script in a process of its own, which must end
// in time, small, with an error that names the limit, and in one piece.
func TestHostileScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("long: takes a minute")
	}
	for _, area := range sortedKeys(hostileScripts) {
		t.Run(area, func(t *testing.T) {
			t.Parallel()
			for _, h := range hostileScripts[area] {
				t.Run(headline(h.script), func(t *testing.T) { h.try(t) })
			}
		})
	}
}

func sortedKeys(m map[string][]hostile) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func headline(s string) string {
	if len(s) > 60 {
		s = s[:60]
	}
	return s
}

var (
	namesLimit = regexp.MustCompile(`limit (\w+)=|limit of \d+ (nested calls)`)
	crashed    = regexp.MustCompile(`goroutine \d+ \[|fatal error:|panic:|runtime error`)
)

func (h hostile) try(t *testing.T) {
	began := time.Now()
	stderr, state := hakoChild(t, h.script)
	took, peak := time.Since(began), peakMemory(state)
	t.Logf("%v, %d MB, %v, %s", took.Round(time.Millisecond), peak>>20, state, lastLine(stderr))
	if took > mostTime {
		t.Errorf("took %v", took)
	}
	if peak > mostMemory {
		t.Errorf("took %d MB", peak>>20)
	}
	if !state.Exited() || crashed.MatchString(stderr) {
		t.Errorf("%v: %.2000s", state, stderr)
	}
	limit := ""
	if m := namesLimit.FindStringSubmatch(stderr); m != nil {
		limit = m[1] + m[2]
	}
	code := state.ExitCode()
	switch stopped := code == 6 || code == 7; {
	case stopped && limit == "":
		t.Errorf("stopped without naming the limit: %.500s", stderr)
	case h.by != "" && limit != "time" && !strings.Contains(" "+h.by+" ", " "+limit+" "):
		t.Errorf("ended by %q with status %d, not by one of %q: %.500s", limit, code, h.by, stderr)
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return headline(lines[len(lines)-1])
}

// hakoChild runs a script by "hako sh" in a child process and throws its output away.
func hakoChild(t *testing.T, script string) (string, *os.ProcessState) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "script.sh")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*mostTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "sh", "--no-config", "--audit", filepath.Join(dir, "audit.jsonl"),
		"--limit", "time=1500ms", file)
	cmd.Env = append(os.Environ(), asHako+"=1")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run()
	return stderr.String(), cmd.ProcessState
}

func peakMemory(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}
