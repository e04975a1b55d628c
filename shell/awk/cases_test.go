package awk

import (
	"os"
	"path/filepath"
	"testing"
)

func writeTestFiles(t *testing.T, dir string) {
	for name, text := range testFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

var oracleCases = []oracleCase{
	// patterns and actions
	{prog: `{print}`}, {prog: `1`}, {prog: `0`}, {prog: `NR==2`}, {prog: `/^M/`}, {prog: `!/^M/`}, {prog: `/Dan/,/Mark/`},
	{prog: `/Dan/,/Dan/ {print NR": "$0}`}, {prog: `NR==2,NR==4`}, {prog: `$3 > 0 {print $1, $2 * $3}`}, {prog: `$3 == 0`},
	{prog: `END{print NR, $0, NF}`}, {prog: `BEGIN{print "a"} END{print "b"}`}, {prog: `$2 >= 5 || $3 >= 20`},
	{prog: `!($2 < 4 && $3 < 20)`}, {prog: `BEGIN { OFS="-" } { $1=$1; print }`}, {prog: `{ $2 = ""; print }`},
	{prog: `{ $5 = "x"; print; print NF }`}, {prog: `{ NF = 2; print }`}, {prog: `{ NF = 4; print; $0 = "a b"; print NF }`},
	{prog: `{ print $NF, $(NF-1), $(1+1) }`}, {prog: `{ $3++; print $3, $0 }`}, {prog: `{ $0 = toupper($0); print $1 }`},
	{prog: `NR % 2 { next } { print }`}, {prog: `{ print > "/dev/stdout" }`}, {prog: `NR==3{exit 3} {print} END{print "end"}`},
	{prog: `BEGIN { exit 1 } END { print "still" }`}, {prog: `BEGIN { exit } END { exit 4 }`}, {prog: `{ nextfile } END { print NR }`},
	// numbers and strings
	{prog: `BEGIN { print 1e6, 1e5, 123456789, 0.1, 1/3, 1e300*10, 2^31, 2^53+1, 1e18, 1e19, -5 % 3, 5.5 % 2 }`},
	{prog: `BEGIN { print 100000 * 100000, 3.0, "3.0", "3.0"+0, 1e-5, 123456.789, 1234567.89 }`},
	{prog: `BEGIN { OFMT="%.2f"; x = 3.14159; print x, x ""; CONVFMT="%.3f"; print x "", 17 "" }`},
	{prog: `BEGIN { print 010, 0x1F, "0x1F"+0, "010"+0, 1e3, .5, 5. }`}, {prog: `BEGIN { print "1e3"+0, "1e"+0, "+5"+0, " 7 "+0, "abc"+0, ".5."+0 }`},
	{prog: `BEGIN { print 1==1.0, "1"==1, "a"<"b", 2<10, "2"<"10", "abc"<1 }`}, {prog: `{ print ($2 < $3), ($1 < $2), ($2 == 4) }`},
	{prog: "$1 == 1 { print NR }", input: "1\n1.0\n 1 \n+1\n01\n1x\n1e0\n0x1\n"}, {prog: `$1 == $2`, input: "1 1.0\na a\na b\n0x1 1\n"},
	{prog: `BEGIN { print length("hello"), length(12345), length(), length }`}, {prog: `{ print length, length($1) }`},
	{prog: `BEGIN { print -12 " " -24; print 1 " " 2, 1 2, 1+2 "3", "a" "b" "c" }`}, {prog: `BEGIN { print 2**3, 2^3^2, -2^2, 2^-1, !0, !1, !"", !"a", - -3 }`},
	{prog: `BEGIN { x = 5; print x++, x, ++x, x--, --x, x; x += 2; x *= 3; x -= 1; x /= 4; x %= 3; x ^= 2; print x }`},
	{prog: `BEGIN { print x+0, x "", length(x), (x == 0), (x == "") }`}, {prog: `BEGIN { a = b = 3; print a b; print a = 4, a }`},
	{prog: `BEGIN { print 1 > 2 ? "y" : "n" }`, args: []string{"--"}}, {prog: `BEGIN { print (1 > 2) ? "y" : "n"; print 1<2?"a":"b"?"c":"d" }`},
	{prog: `BEGIN { print 1 in a, (1,2) in a; a[1]; a[1,2]; print 1 in a, (1,2) in a, length(a) }`}, {prog: `BEGIN { if (!("x" in a)) print "no"; if (a["x"] == "") print "yes"; print length(a) }`},
	{prog: `BEGIN { print index("hello", "l"), index("x", ""), index("日本語", "語") }`}, {prog: `BEGIN { print substr("hello", 2, 3), substr("hello", 0, 2), substr("hello", -1, 3), substr("hello", 4), substr("hello", 10) "|", substr("hello", 1.5, 1.5) }`},
	{prog: `BEGIN { print substr("日本語テキスト", 2, 3), length("日本語"), toupper("éa"), tolower("ÀB") }`}, {prog: `BEGIN { print toupper("abcXYZ1"), tolower("ABCxyz1") }`},
	{prog: `{ print $2 }`, input: "東京\tタワー x\n"},
	{prog: `BEGIN { printf "%s %d %i %5d|%-5d|%05d|%+d|% d\n", "x", 3.9, -3.9, 42, 42, 42, 42, 42 }`}, {prog: `BEGIN { printf "%o %x %X %u %c %c %c|\n", 8, 255, 255, 7, 65, "hello", 960 }`},
	{prog: `BEGIN { printf "%e %E %f %F %g %G %.3e %10.2f|%-10.2f|\n", 1234.5, 1234.5, 1234.5, 1.5, 0.00001, 1e20, 5, 3.14159, 2.5 }`}, {prog: `BEGIN { printf "%5s|%-5s|%.2s|%5.1s|%*d|%-*d|%.*f\n", "abc", "abc", "abc", "abc", 6, 42, 6, 42, 2, 3.14159 }`},
	{prog: `BEGIN { printf "%%|%5%|%z|%d items\n", 3 }`}, {prog: `BEGIN { printf "%s\n" }`}, {prog: `BEGIN { printf "%d %d\n", "0x1A", "12abc" }`}, {prog: `BEGIN { printf "%5s|%-6s|%.2s|\n", "日本", "日本", "日本語" }`},
	{prog: `BEGIN { printf "%d %d %d\n", 2147483648, 1e18, -1e18; printf "%x %o\n", 4294967296, -1; printf "%#x %#o %#.3g\n", 255, 8, 1 }`}, {prog: `BEGIN { printf("%s-%s\n", "a", "b"); printf "no newline" }`}, {prog: `BEGIN { x = sprintf("%03d", 7); print x; print sprintf("%c", 256) }`},
	{prog: `BEGIN { printf "%.0f %.0f %.0f %.10g %g %g\n", 0.5, 1.5, 2.5, 1/3, 100000, 1000000 }`}, {prog: `BEGIN { print log(0), -log(0), int(3.9), int(-3.9), int("4x"), sqrt(16), exp(1), sin(1), cos(1), atan2(0,-1) }`},
	{prog: `{ printf "%c", $3 } END { print "" }`, input: "a b 65\na b 66\na b xyz\n"},
	// regular expressions
	{prog: `$1 ~ /^[MK]/ { print $1 }`}, {prog: `$1 !~ "a" { print $1 }`}, {prog: `$0 ~ $1`}, {prog: `/4\.[05]0/`}, {prog: `/a{2}|y$/`, input: "aa\nay\nabc\n"},
	{prog: `/a\/b/`, input: "a/b\nab\n"}, {prog: `/[/]/`, input: "a/b\nab\n"}, {prog: `/\t/`, input: "a\tb\nab\n"}, {prog: `/[[:digit:]]+[[:space:]][a-c]/`, input: "1 b\n12 d\n"}, {prog: `/[]a]/`, input: "]\nb\n"}, {prog: `/[\]x]/`, input: "]\ny\nx\n\\\n"}, {prog: `/[^\t ]+\\/`, input: "a\\\nb\n"},
	{prog: `/\<the\>/`, input: "the\nother\nin the end\n"}, {prog: `/\yx\y/ {print "w"} /\w+\s\w+/ {print "p"}`, input: "a x b\naxb\n"}, {prog: `/(ab)+c?$/`, input: "abab\nabac\nabc\n"}, {prog: `/a.c/`, input: "a語c\nabc\nac\n"}, {prog: `/^$/`, input: "a\n\nb\n"},
	{prog: `{ print match($0, /o+/), RSTART, RLENGTH }`, input: "foo\nbar\n語oo\n"}, {prog: `{ if (match($0, /([a-z]+)=([0-9]+)/, m)) print m[0], m[1], m[2], m[1,"start"], m[2,"length"] }`, input: "x id=42 y\nnone\n"},
	{prog: `BEGIN { s = "foo bar foo"; n = gsub(/foo/, "[&]", s); print n, s }`}, {prog: `BEGIN { s = "abc"; gsub(/x*/, "-", s); print s; t = "abc"; gsub(/b*/, "X", t); print t }`}, {prog: `BEGIN { s = "a.b.c"; gsub(".", "x", s); print s; t = "a.b.c"; gsub("\\.", "x", t); print t }`},
	{prog: `BEGIN { s = "hello"; gsub(/l/, "\\&", s); print s; t = "hello"; sub(/l/, "\\\\&", t); print t }`}, {prog: `{ gsub(/[0-9]+/, "<&>"); print }`}, {prog: `{ n = gsub(/0/, "o", $2); print n, $0 }`}, {prog: `BEGIN { s = "日本語"; gsub(/本/, "x", s); print s }`},
	{prog: `BEGIN { print gensub(/(a)(b)/, "\\2\\1", "g", "abab"), gensub(/a/, "x", 2, "aaa"), gensub(/a/, "[&]", 1, "bab"), gensub(/(.)/, "\\0\\0", "G", "ab") }`}, {prog: `{ print gensub(/[aeiou]/, "*", "g") }`}, {prog: `BEGIN { r = "^[0-9]+$"; print ("123" ~ r), ("12a" ~ r), "a+b" ~ /a\+b/, "ab" ~ "a" "b" }`},
	{prog: `BEGIN { IGNORECASE=1 } /beth|MARK/ { print; print ("ABC" == "abc"), "ABC" ~ "b" }`, args: []string{}}, {prog: `BEGIN { print "a.b" ~ /a\.b/, "axb" ~ "a\\.b", "a{1}" ~ /a{1}/, "a{" ~ /a{/, "+" ~ /+/, "x*" ~ /^x\*$/ }`},
	{prog: `BEGIN { s = "aaa"; print sub(/a/, "b", s), s; print sub(/z/, "b", s), s; print gsub(/^a/, "x", s), s; $0 = "q q"; gsub("q", "r"); print $1 }`}, {prog: `BEGIN { s = "path/to/x"; gsub("/", "\\", s); print s; n = split("a|b|c", p, "|"); print n, p[2] }`},
	// arrays
	{prog: `{ n[$3]++ } END { PROCINFO["sorted_in"] = "@ind_num_asc"; for (k in n) print k, n[k] }`}, {prog: `{ a[NR] = $1 } END { for (i = NR; i > 0; i--) print a[i] }`}, {prog: `BEGIN { a["x"] = 1; delete a["x"]; print length(a); a[1]; a[2]; delete a; print length(a) }`},
	{prog: `BEGIN { a[1,2] = 3; for (k in a) { split(k, p, SUBSEP); print p[1], p[2] } if ((1,2) in a) print "in" }`}, {prog: `BEGIN { a[01] = "x"; print a[1], a["01"] "|", a["1"]; a[0.1+0.2] = 5; for (k in a) n++; print n }`},
	{prog: `BEGIN { n = split("c b a", x); asort(x); for (i = 1; i <= n; i++) printf "%s ", x[i]; print n }`}, {prog: `BEGIN { a["z"]=1; a["y"]=2; n = asorti(a, b); for (i=1;i<=n;i++) print b[i] }`}, {prog: `BEGIN { split("10 9 2 b a 1", x); n = asort(x, y); for (i=1;i<=n;i++) printf "%s ", y[i]; print x[1] }`}, {prog: `BEGIN { split("3 1 2", x); n = asort(x, y, "@val_num_desc"); print y[1], y[2], y[3] }`},
	{prog: `BEGIN { n = split("a:b:c", p, ":"); print n, p[1], p[3]; n = split("", p); print n, length(p); n = split("abc", p, ""); print n, p[2]; n = split(" a  b ", p); print n, p[1]; n = split(" a b ", p, / /); print n }`}, {prog: `BEGIN { n = split("a1b22c", p, /[0-9]+/, s); print n, p[3], s[1], s[2] }`}, {prog: `BEGIN { n = patsplit("a1b22c", p, /[0-9]+/, s); print n, p[2], s[0], s[1], s[2] }`},
	{prog: `BEGIN { PROCINFO["sorted_in"] = "@val_num_desc"; a["x"]=3; a["y"]=10; a["z"]=7; for (k in a) print k, a[k] }`}, {prog: `BEGIN { PROCINFO["sorted_in"] = "@ind_str_desc"; a["x"]; a["y"]; for (k in a) print k }`}, {prog: `BEGIN { a[10]; a[9]; for (k in a) if (k < 5) print k; print ENVIRON["HOME"], ENVIRON["N"] < 5 }`},
	{prog: `function fill(t, n) { for (i = 1; i <= n; i++) t[i] = i*i } BEGIN { fill(sq, 5); print sq[5], length(sq) }`}, {prog: `function f(a) { a["k"] = 1 } BEGIN { f(x); print x["k"] }`}, {prog: `function g(n, loc) { loc[n] = n; return length(loc) } BEGIN { print g(1), g(2) }`},
	// functions and control flow
	{prog: `function fact(n) { return n <= 1 ? 1 : n * fact(n-1) } BEGIN { print fact(10), fact(20) }`}, {prog: `function f(x) { x = 5 } BEGIN { y = 1; f(y); print y; print f(1) "|" }`}, {prog: "function f(a,\n b)\n{\n return a+b\n}\nBEGIN { print f(1,\n2) }"},
	{prog: `function a(x) { return b(x) + 1 } function b(y) { return y * 2 } BEGIN { print a(3), a(b(2)) }`}, {prog: `function p(s) { printf "<%s>", s; return s } BEGIN { print p(1), p(2) }`}, {prog: `function f() { exit 5 } BEGIN { f(); print "no" } END { print "end" }`}, {prog: `function f() { next } { if (NR == 2) f(); print NR }`},
	{prog: `BEGIN { while (i < 3) { i++; if (i == 2) continue; print i } do { j++ } while (j < 5); print j; for (;;) { if (++k > 3) break }; print k }`}, {prog: `BEGIN { for (i = 0; i < 3; i++) for (j = 0; j < 2; j++) { if (j == 1) break; print i, j } }`}, {prog: "BEGIN { if (1) print \"a\"; else print \"b\"\nif (0) print \"c\"\nelse if (1) { print \"d\" } else print \"e\" }"},
	{prog: "BEGIN { switch (\"b\") { case \"a\": print 1; break\ncase /b/: print 2\ncase 3: print 3; break\ndefault: print 4 } switch (3) { case \"s\": print \"s\"; break; case 3: print \"n\" } }"}, {prog: `BEGIN { x["a"]; for (k in x) delete x[k]; print length(x) } # comment`}, {prog: "BEGIN { print 1,\n 2 ; print 3 \\\n, 4 }"}, {prog: "BEGIN { a = 1 &&\n 0; b = 1 ||\n 0; print a, b }"},
	{prog: `BEGIN{print substr("x",1)}END{}`}, {prog: `BEGIN { if (x = 5) print x; if (!y) print "n"; y = !y; print y, !y "" }`}, {prog: `BEGIN { $3 = "c"; print NF; print; $0 = "a b c d"; NF -= 1; print; print $5 "" NF }`}, {prog: `BEGIN { $0 = "3 4"; print $1 * $2, $1^2, -$1, !$1, $1 $2, $$1 "|" }`}, {prog: `BEGIN { i = 1; $0 = "a b c"; print $i++, i; print $++i }`}, {prog: `{ a = a $1; b = b "," NR } END { print a, b }`},
	// getline and input
	{prog: `BEGIN { while ((getline line < "a.txt") > 0) print "got", line; close("a.txt"); getline < "a.txt"; print $0, NR }`}, {prog: `NR == 1 { getline; print; getline x; print x, NR, $0 }`}, {prog: `BEGIN { print getline < "none", (getline x < "none"), ERRNO }`}, {prog: `BEGIN { while (getline > 0) n++; print n, NR } END { print NR, $0 }`}, {prog: `BEGIN { "date" }`},
	{prog: `{ print FILENAME, FNR, NR }`, args: []string{"--", "a.txt", "b.csv"}}, {prog: `NR == FNR { a[$1]; next } $1 in a`, args: []string{"--", "a.txt", "a.txt"}}, {prog: `{ print x, $0 }`, args: []string{"--", "x=1", "a.txt", "x=2", "a.txt"}}, {prog: `{ print }`, args: []string{"--", "none"}}, {prog: `{ print FILENAME "|" }`}, {prog: `{ print FILENAME }`, args: []string{"--", "-"}}, {prog: `{ print } END { print NR }`, args: []string{"--", "none", "a.txt"}},
	{prog: `BEGINFILE { print "in", FILENAME } ENDFILE { print "out", FNR } END { print NR }`, args: []string{"--", "a.txt", "empty", "b.csv"}}, {prog: `BEGIN { for (i = 0; i < ARGC; i++) print i, ARGV[i]; exit }`, args: []string{"--", "a", "b=c"}}, {prog: `BEGIN { ARGV[1] = ""; ARGV[ARGC++] = "a.txt" } { print }`, args: []string{"--", "none"}},
	{prog: `BEGIN { RS = "" } { print NR ": " $1 "|" $NF "|" NF }`, input: "\n\na b\nc d\n\n\n\ne f\ng\n\n"}, {prog: `BEGIN { RS = ""; FS = "\n" } { print $1 "-" $2 }`, input: "a b\nc\n\nd\ne f\n"}, {prog: `BEGIN { RS = ""; FS = ":" } { print NF; print $2 }`, input: "a:b\nc:d\n\nx:y\n"}, {prog: `BEGIN { RS = ";" } { print NR, $0 }`, input: "a;b;c\n"}, {prog: `BEGIN { RS = "[0-9]+" } { print $0 "," RT }`, input: "a1b22c\n"}, {prog: `BEGIN { RS = "\r\n" } { print $0 "|" }`, input: "a\r\nb\r\n"}, {prog: `BEGIN { RS = "\n|," ; ORS = ";" } 1`, input: "a,b\nc\n"}, {prog: `{ print; RS = "," }`, input: "a b\nc,d,e\n"}, {prog: `END { print NR }`, input: "a\nb"},
	{prog: `{ print $2 }`, input: "a:b:c\n", args: []string{"-F:"}}, {prog: `{ print $2 }`, input: "a|b|c\n", args: []string{"-F|"}}, {prog: `{ print $2 }`, input: "a.b.c\n", args: []string{"-F."}}, {prog: `{ print $2 }`, input: "a\tb c\n", args: []string{`-F\t`}}, {prog: `{ print NF, $2 }`, input: "a, b,c\n", args: []string{"-F, *"}}, {prog: `{ print NF, $3 }`, input: "a  b\n", args: []string{"-F[ ]"}}, {prog: `{ print NF ":" $2 }`, input: "a--b\n", args: []string{"-F-"}}, {prog: `{ $1 = $1; print }`, input: " a  b \n", args: []string{"OFS=:"}}, {prog: `{ print NF }`, input: "\n \na\n,\n", args: []string{"-F,"}}, {prog: `{print $1}`, input: "a1b\n", args: []string{"-F[0-9]"}}, {prog: `{ print NF, $2 }`, input: "a b\n", args: []string{"FS="}},
	{prog: `BEGIN { FPAT = "([^,]+)|(\"[^\"]+\")" } { print NF ": " $2 }`, input: "a,\"b,c\",d\n1,2\n"}, {prog: `BEGIN { FIELDWIDTHS = "2 3 *" } { print $1 "|" $2 "|" $3 }`, input: "abcdefgh\nab\n"}, {prog: `{ FS = ":"; print $1 }`, input: "a:b c\nd:e f\n"}, {prog: `BEGIN { FS = "," ; OFS = "\t" } { $1 = $1 } 1`, input: "a,b,c\n"}, {prog: `{ print v + 1, v }`, args: []string{"v=3x"}}, {prog: `BEGIN { print v == 10, v < 9 }`, args: []string{"v=1e1"}}, {prog: `BEGIN { print v }`, args: []string{`v=a\tb\\n`}},
	{prog: `{ print NF ":" $1 "|" $2 "|" $NF }`, input: "a b:c\n:a::b:\n\nx\n", args: []string{"-F[ :]"}}, {prog: `{ print NF ":" $1 "|" $2 "|" $NF }`, input: "a, ;b\n,a,,b,,\n\nx\n", args: []string{"-F[,; ]+"}}, {prog: `{ print NF ":" $2 }`, input: "  a   b\nx y\n", args: []string{"-F +"}}, {prog: `{ print NF ":" $2 }`, input: "a.+b\n", args: []string{"-F[.+]"}}, {prog: `{ print NF ":" $2 }`, input: "a-b^c]d\n", args: []string{"-F[]^-]"}},
	// odds and ends
	{prog: `BEGIN { print and(12, 10), or(12, 10), xor(12, 10), lshift(1, 4), rshift(16, 2), compl(0) }`}, {prog: `BEGIN { print strtonum("0x1F"), strtonum("017"), strtonum("12.5"), strtonum(9) }`}, {prog: `BEGIN { print strftime("%Y-%m-%d %H:%M:%S %j %a %B %U %u %% %e", 86400 * 45), mktime("2024 02 30 00 00 00"), mktime("x") }`}, {prog: `BEGIN { print typeof(x), typeof(1), typeof("a"), isarray(x) }`}, {prog: `BEGIN { srand(42); x = rand(); print srand(42) , x == rand(), x < 1, x >= 0 }`},
	{prog: `BEGIN { "x" ~ /(/ }`}, {prog: `BEGIN { x = 0; print 1 / x }`}, {prog: `{ print NR % x }`}, {prog: `{ print 1 / ($3 - $3) }`}, {prog: `BEGIN { f(1) }`}, {prog: `BEGIN { x[1] = 1; print x }`}, {prog: `BEGIN { print "a\.b", "\x41\102\/\"" }`}, {prog: `BEGIN { $(-1) = "x" }`}, {prog: `{ print`}, {prog: `BEGIN { print 1 +* 2 }`}, {prog: `BEGIN { getline x < "a.txt"; print x; print -0, 1e0, "A" < "a", ("é" > "z") }`},
	{prog: `BEGIN { print toupper(substr("abc", 1, 1)) substr("abc", 2); print 1==1 ? "t" : "f"; print "x" > "/dev/stdout"; print("p", "q") }`}, {prog: `BEGIN{while(i++<3){if(i==2)continue;s=s i};print s;print length("a" "b")}`}, {prog: `BEGIN { a["x"] = "y"; b = a["x"] = "z"; print b; print (1)(2); print 5 " items"; x = "A"; x = x x x; print x; print 1,2 , 3 }`}, {prog: `BEGIN { print index("foobar", "bar") ? "found" : "none"; print !x + 1, 1 - -1, 2 - 1, "a" - 1; print 10 % 3 * 2, 2 * 3 % 4, 7 - 2 - 1 }`}, {prog: `BEGIN { printf "%s %s %s\n", 1e6, 1234567.5, 0.1 + 0.2; print 1e6 "", 1234567.5 "", 3e-7 "" }`}, {prog: `$1 == "Mark", 0 { print NR }`}, {prog: `{ sum[$1 ~ /^M/] += $3 } END { print sum[0], sum[1] }`}, {prog: `{ if ($3 > max) { max = $3; who = $1 } } END { print max, who }`}, {prog: `{ w += NF; c += length($0) + 1 } END { print NR, w, c }`}, {prog: `!seen[$2]++`}, {prog: `{ for (i = NF; i > 0; i--) printf "%s%s", $i, (i > 1 ? OFS : ORS) }`}, {prog: `{ l[NR] = $0 } END { for (i = NR; i; i--) print l[i] }`},
}
