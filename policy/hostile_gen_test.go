package policy

import (
	"fmt"
	"strings"
)

// fill repeats a piece until it has at most size bytes.
func fill(piece string, size int) string { return strings.Repeat(piece, max(0, size)/len(piece)) }

// numbered repeats a format with a counter in it until it has at most size bytes.
func numbered(format string, size int) string {
	var b strings.Builder
	for i := 0; ; i++ {
		line := fmt.Sprintf(format, i)
		if b.Len()+len(line) > size {
			return b.String()
		}
		b.WriteString(line)
	}
}

// wrap puts an opening and a closing text around a core, depth times.
func wrap(open, core, end string, depth int) string {
	return strings.Repeat(open, depth) + core + strings.Repeat(end, depth)
}

// quotedIn nests a script in itself: each level quotes the one before it.
func quotedIn(command, core string, depth, limit int) string {
	for range depth {
		next := command + " " + quoteAll([]string{core})
		if len(next) > limit {
			break
		}
		core = next
	}
	return core
}

// A generated script is one that is made to be hard to judge.
type generated struct {
	name string
	src  func() string
}

// nestedScripts are all nestings, shallow to very deep.
func nestedScripts(mega int) (out []generated) {
	for _, n := range nestings {
		for _, depth := range []int{2, 10, 15, 20, 50, 200, 450, 1000, 20000, maxScript} {
			out = append(out, generated{fmt.Sprintf("nested %s %d", n.name, depth),
				func() string { return n.nested(depth, mega) }})
		}
	}
	for _, command := range []string{"eval", "sh -c", "bash -c", "trap", "env sh -c", "xargs sh -c", "find . -exec sh -c",
		"timeout 5 bash -c"} {
		for _, depth := range []int{2, 5, 8, 12, 16, 20} {
			out = append(out, generated{fmt.Sprintf("nested %s %d", command, depth),
				func() string { return quotedIn(command, "ls", depth, mega) }})
		}
	}
	return out
}

// wideScripts are long rather than deep, or follow themselves.
func wideScripts(mega int) []generated {
	calls := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "f%d() { f%d a; f%d b; f%d c; }\n", i, (i+1)%n, (i+2)%n, (i+3)%n)
		}
		return b.String() + "f0 x\n"
	}
	names := func(n, fan int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "v%d=0", i)
			for j := range fan {
				fmt.Fprintf(&b, "+v%d", (i+j+1)%n)
			}
			b.WriteByte('\n')
		}
		return b.String()
	}
	many := strings.Repeat("n+", 1000) + "3"
	return []generated{
		{"self", func() string { return "n=n+n+n+n+n+n+n+n+3; echo $((n))" }},
		{"self two", func() string { return "n=n+n; echo $((n))" }},
		{"self wide", func() string { return "n=" + many + "; echo $((n))" }},
		{"self wide twice", func() string {
			return "n=" + many + "; m=" + strings.ReplaceAll(many, "n", "m+n") +
				"; echo $((m))"
		}},
		{"self in words", func() string { return "n=n+n+n+n+n+n+n+n+3; echo " + fill("$((n)) ", mega-100) }},
		{"self sum", func() string { return "n=n+n+n+n+n+n+n+n+3; echo $((" + fill("n+", mega-100) + "1))" }},
		{"self let", func() string { return "n=n+n+n+n+n+n+n+n+3; let " + fill("n=n+n ", mega-100) }},
		{"self array", func() string { return "a=(" + fill("a+a ", mega-100) + "); echo $((a[0]))" }},
		{"self array used", func() string {
			return "n=n+n+n+n+n+n+n+n+3; a=(" + fill("n ", mega*4/10) + "); echo " + fill("$((a[0])) ", mega*4/10)
		}},
		{"self declare", func() string { return "n=n+n+n+n+n+n+n+n+3; " + fill("declare -i m=n; ", mega-100) }},
		{"self integer", func() string {
			return "declare -i n; n=n+n+n+n+n+n+n+n+3; " + fill("n=n+n+n+n+n+n+n+n+3; ",
				mega-100)
		}},
		{"self test", func() string { return "n=n+n+n+n+n+n+n+n+3; " + fill("[[ n -eq n ]]; ", mega-100) }},
		{"self indirect", func() string { return "n=n+n+n+n+n+n+n+n+3; echo " + fill("${!n} ", mega-100) }},
		{"self refused", func() string { return "n='n+n+n+n+n+a[$(x)]'; echo $((n))" }},
		{"self refused often", func() string { return "n='n+n+n+n+n+a[$(x)]'; echo " + fill("$((n)) ", mega-100) }},
		{"self sets", func() string { return "n='PATH=n+n+n+n+n'; echo " + fill("$((n)) ", mega-100) }},
		{"names mutual", func() string { return names(200, 8) + "echo $((v0))" }},
		{"names mutual wide", func() string { return names(200, 200) + "echo $((v0))" }},
		{"names mutual often", func() string { return names(200, 8) + "echo " + fill("$((v0)) ", mega/2) }},
		{"names chain", func() string { return numbered("v%d=v$x; ", mega/2) + "echo $((v0))" }},
		{"indirect chain", func() string { return fill("a=b; b=c; c=a; echo ${!a} ${!b} ${!c}\n", mega) }},
		{"long value", func() string { return "x=" + fill("a", 2000) + "; echo " + fill("$x", mega-3000) }},
		{"long value words", func() string { return "x='" + fill("a ", 2000) + "'; echo " + fill("$x ", mega-3000) }},
		{"long value commands", func() string { return "x='" + fill("a ", 2000) + "'; " + fill("echo $x; ", mega-3000) }},
		{"long value late", func() string { return "x=$(ls)" + fill("a", 2000) + "; " + fill("echo $x$x$x$x; ", mega-3000) }},
		{"long value loops", func() string {
			return "x=" + fill("a", 2000) + "; for i in 1 2 3 4 5 6 7 8; do " + fill("echo $x$x$x$x; ", mega-3000) + "done"
		}},
		{"doubling", func() string { return "x=aaaaaaaa; " + fill("x=$x$x; ", mega-100) }},
		{"appending", func() string { return "x=aaaaaaaa; " + fill("x+=$x; ", mega-100) }},
		{"appending plain", func() string { return fill("x+=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; ", mega-100) }},
		{"cutting", func() string { return "x=" + fill("ab", 2000) + "; " + fill("y=${x//a/b}; ", mega-3000) }},
		{"cutting patterns", func() string { return "x=" + fill("a", 2000) + "; " + fill("y=${x%%*a*a*a*b}; ", mega-3000) }},
		{"cutting one pattern", func() string { return "x=" + fill("a", 2000) + "; y=${x%%" + fill("*a", 2000) + "b}" }},
		{"cutting big replace", func() string { return "x=" + fill("a", 2000) + "; y=${x//a/" + fill("b", mega-3000) + "}" }},
		{"case change", func() string { return "x=" + fill("a", 2000) + "; " + fill("y=${x^^}; ", mega-3000) }},
		{"array words", func() string { return "a=(" + fill("x ", mega*4/10) + "); echo " + fill(`"${a[@]}" `, mega*4/10) }},
		{"array commands", func() string {
			return "a=(" + fill("x ", mega*4/10) + "); " + fill(`echo "${a[@]}"; `,
				mega*4/10)
		}},
		{"array assigns", func() string { return fill("a=(b c d e f g h); ", mega) }},
		{"array self", func() string { return "a=(b c); " + fill(`a=("${a[@]}" "${a[@]}"); `, mega-100) }},
		{"array numbers", func() string { return "a=(" + fill("1 ", mega*4/10) + "); " + fill("((a[1])); ", mega*4/10) }},
		{"set self", func() string { return "set -- a b; " + fill(`set -- "$@" "$@"; `, mega-100) }},
		{"set words", func() string { return "set -- " + fill("a ", mega/2) + "; " + fill(`echo "$@"; `, mega/2-100) }},
		{"set joined", func() string { return "set -- " + fill("a ", mega/2) + "; " + fill(`x="$*"; `, mega/2-100) }},
		{"set shift", func() string { return "set -- " + fill("a ", mega/2) + "; " + fill(`shift; `, mega/2-100) }},
		{"set branches", func() string {
			return "set -- " + fill("a ", mega/2) + "; " + fill(`if a; then shift; fi; `, mega/2-100)
		}},
		{"function arguments", func() string { return "f() { f \"$@\" \"$@\"; }; f " + fill("a ", mega/2) }},
		{"function calls", func() string { return "f() { echo $1; }; " + fill("f a; ", mega-100) }},
		{"function calls wide", func() string {
			return "f() { echo \"$@\"; }; " + fill("f "+fill("a ", 500)+"; ",
				mega-100)
		}},
		{"functions many", func() string { return numbered("f%d() { echo a; }; ", mega) }},
		{"functions many called", func() string { return numbered("f%[1]d() { echo a; }; f%[1]d; ", mega) }},
		{"functions mutual", func() string { return calls(3) }},
		{"functions mutual many", func() string { return calls(200) }},
		{"functions mutual more", func() string { return calls(20000) }},
		{"function fib", func() string { return "f() { f $1 a; f $1 b; f $1 c; }; f x" }},
		{"function counts", func() string { return "f() { f $(($1-1)); f $(($1-2)); }; f 9" }},
		{"function locals", func() string {
			return "f() { " + numbered("local v%d=1; ", mega/2) + "}; " +
				fill("f; ", mega/2-100)
		}},
		{"function redefined", func() string { return fill("f() { f; }; f; ", mega) }},
		{"function background", func() string { return "f() { f & f & }; f" }},
		{"variables", func() string { return numbered("v%d=x; true | true && true\n", mega) }},
		{"variables loop", func() string { return "for i in a b c; do " + numbered("v%d=x; ", mega-100) + "done" }},
		{"variables branches", func() string {
			return numbered("v%d=x; ", 2000) + fill("if a; then v1=y; else v2=z; fi; ",
				mega-3000)
		}},
		{"variables subshells", func() string { return numbered("v%d=x; ", 2000) + fill("(v1=y); ", mega-3000) }},
		{"variables pipes", func() string { return numbered("v%d=x; ", 2000) + fill("v1=y | v2=z; ", mega-3000) }},
		{"variables cases", func() string {
			return numbered("v%d=x; ", 2000) + "case x in " + fill("a) v1=y;; ", mega-3000) + "esac"
		}},
		{"variables substitutions",
			func() string { return numbered("v%d=x; ", 2000) + "echo " + fill("$(v1=y)", mega-3000) }},
		{"variables redirects", func() string { return numbered("v%d=x; ", 2000) + fill("v1=y > a; ", mega-3000) }},
		{"variables jobs", func() string { return numbered("v%d=x; ", 2000) + fill("v1=y & ", mega-3000) }},
		{"assignments", func() string { return fill("x=1; ", mega) }},
		{"assignments one command", func() string { return fill("x=1 ", mega) }},
		{"assignments prefix", func() string { return fill("x=1 ", mega-10) + "ls" }},
		{"assignments loop", func() string { return "while a; do " + fill("x=1; ", mega-100) + "done" }},
		{"loops nested", func() string { return wrap("for i in 1 2 3 4 5 6 7 8; do ", "echo $i", "; done", 40) }},
		{"loops nested body", func() string {
			return wrap("for i in 1 2 3 4 5 6 7 8; do ", fill("echo $i; ", mega/2),
				"done; ", 5)
		}},
		{"loops nested while", func() string { return wrap("while a; do x=$x$y; ", "y=$x", "; done", 300) }},
		{"loops many", func() string { return fill("for i in a b c; do echo $i; done; ", mega) }},
		{"loops many items", func() string { return "for i in " + fill("a ", mega-100) + "; do echo $i; done" }},
		{"loops items body", func() string {
			return "for i in 1 2 3 4 5 6 7 8 9; do " + fill("echo $i; ", mega-100) +
				"done"
		}},
		{"plain lines", func() string { return fill("echo one two three; cp source.txt target.txt # x\n", mega) }},
		{"array elements", func() string { return "a=(" + fill("x ", mega-20) + "); ${a[@]}" }},
		{"plain short", func() string { return fill("a;", mega) }},
		{"plain newline", func() string { return fill("a\n", mega) }},
		{"plain words", func() string { return "echo " + fill("a ", mega-10) }},
		{"plain word", func() string { return "echo " + fill("a", mega-10) }},
		{"plain allowed", func() string { return fill("ls;", mega) }},
		{"plain colon", func() string { return fill(":;", mega) }},
		{"list and", func() string { return "true" + fill("&&true", mega-10) }},
		{"list or", func() string { return ":" + fill("||:", mega-10) }},
		{"list pipe", func() string { return ":" + fill("|:", mega-10) }},
		{"list background", func() string { return fill(":&", mega) }},
		{"list cd", func() string { return "cd a" + fill("||cd b", mega-10) }},
		{"cds", func() string { return numbered("cd d%d || true; ", mega) }},
		{"cds deep", func() string { return fill("cd aaaaaaaaaaaaaaaa && ", mega-10) + "ls" }},
		{"parameters", func() string { return "echo " + fill("$a", mega-10) }},
		{"parameters braces", func() string { return "echo " + fill("${a}", mega-10) }},
		{"parameters defaults", func() string { return "echo " + fill("${a:-b}", mega-10) }},
		{"parameters quoted", func() string { return "echo \"" + fill("$a", mega-10) + "\"" }},
		{"parameters words", func() string { return "echo " + fill("$a ", mega-10) }},
		{"parameters digits", func() string { return "echo " + fill("$1", mega-10) }},
		{"parameters heredoc", func() string { return "cat <<E\n" + fill("$a", mega-20) + "\nE\n" }},
		{"substitutions", func() string { return "echo " + fill("$(a)", mega-10) }},
		{"substitutions empty", func() string { return "echo " + fill("$()", mega-10) }},
		{"substitutions backquotes", func() string { return "echo " + fill("`a`", mega-10) }},
		{"substitutions echo", func() string { return "x=" + fill("$(echo a)", mega-10) }},
		{"substitutions arithmetic", func() string { return "echo " + fill("$((1))", mega-10) }},
		{"sum", func() string { return "echo $((1" + fill("+1", mega-20) + "))" }},
		{"sum names", func() string { return "echo $((a" + fill("+a", mega-20) + "))" }},
		{"sum powers", func() string { return "echo $((1" + fill("**1", mega-20) + "))" }},
		{"sum commas", func() string { return "((" + fill("a=1,", mega-20) + "1))" }},
		{"quotes single", func() string { return "echo " + fill("''", mega-10) }},
		{"quotes double", func() string { return "echo " + fill(`""`, mega-10) }},
		{"quotes dollar", func() string { return "echo " + fill(`$''`, mega-10) }},
		{"quotes words", func() string { return "echo " + fill(`"" `, mega-10) }},
		{"quotes escapes", func() string { return "echo " + fill(`\a`, mega-10) }},
		{"quotes ansi", func() string { return "echo $'" + fill(`\x41`, mega-20) + "'" }},
		{"braces pairs", func() string { return "echo " + fill("{a,b}", mega-10) }},
		{"braces pairs few", func() string { return fill("echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b};", mega) }},
		{"braces many", func() string { return "echo " + fill(strings.Repeat("{a,b}", 100)+" ", mega-10) }},
		{"braces commas", func() string { return "echo {" + fill("a,", mega-10) + "b}" }},
		{"braces words", func() string { return "echo " + fill("{a,b} ", mega-10) }},
		{"braces words wide", func() string { return "echo " + fill("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b} ", mega-10) }},
		{"braces sequence", func() string { return "echo {1..300000000}" }},
		{"braces sequences", func() string { return "echo " + fill("{1..9}", mega-10) }},
		{"braces sequences few", func() string { return "echo " + fill("{1..9}{1..9}{1..9}{1..9} ", mega-10) }},
		{"braces open", func() string { return "echo " + fill("{", mega-10) }},
		{"braces open few", func() string { return "echo " + fill(strings.Repeat("{", 999)+" ", mega-10) }},
		{"braces deep few", func() string { return "echo " + fill(wrap("{a,", "b", "}", 300)+" ", mega-10) }},
		{"redirects", func() string { return ":" + fill(">a", mega-10) }},
		{"redirects in", func() string { return ":" + fill("<a", mega-10) }},
		{"redirects up", func() string { return ":" + fill(">../a", mega-10) }},
		{"redirects descriptors", func() string { return ":" + fill(" 2>&1", mega-10) }},
		{"redirects here strings", func() string { return ":" + fill("<<<a", mega-10) }},
		{"redirects late", func() string { return ":" + fill(">$a", mega-10) }},
		{"redirects commands", func() string { return fill(":>a;", mega) }},
		{"heredoc", func() string {
			return "cat <<'E'\n" + fill("some ordinary words of a text, and more\n", mega-20) + "E\n"
		}},
		{"heredoc open", func() string {
			return "cat <<E\n" + fill("some ordinary words of a text, and more\n", mega-20) +
				"E\n"
		}},
		{"heredoc lines", func() string { return "cat <<E\n" + fill("a\n", mega-20) + "E\n" }},
		{"heredocs", func() string { return fill("cat <<E\na\nE\n", mega) }},
		{"heredocs one line", func() string { return fill("cat <<E;", mega/2) + "\n" + fill("E\n", mega/2) }},
		{"heredoc to commands", func() string {
			return "{ " + fill("xargs ls; ", mega/2) + "} <<E\n" +
				fill("a\n", mega/2-100) + "E\n"
		}},
		{"heredoc read", func() string {
			return "{ " + fill("read x; ", mega/2) + "} <<E\n" + fill("1\n", mega/2-100) +
				"E\n"
		}},
		{"heredoc filters", func() string {
			return "cat <<E | sort" + fill(" | sort", mega/2) + "\n" + fill("a\n", mega/2-100) + "E\n"
		}},
		{"heredoc grep", func() string {
			return "cat <<E | grep a" + fill(" | grep a", mega/2) + "\n" + fill("a\n", mega/2-100) + "E\n"
		}},
		{"heredoc xargs -I", func() string {
			return "xargs -I{} ls " + fill("{} ", mega*8/10) + "<<E\n" + fill("a\n", 100) +
				"E\n"
		}},
		{"heredoc xargs -I long", func() string {
			return "xargs -I{} ls " + fill("{}", mega*8/10) + "<<E\n" + fill(fill("b", 500)+"\n", 30000) + "E\n"
		}},
		{"if elifs", func() string { return "if a; then :" + fill("; elif a; then :", mega-100) + "; fi" }},
		{"ifs", func() string { return fill("if a; then :; fi; ", mega) }},
		{"cases", func() string { return "case a in " + fill("a) :;; ", mega-20) + "esac" }},
		{"case patterns", func() string { return "case a in " + fill("a|", mega-30) + "b) :;; esac" }},
		{"cases falling", func() string { return "case a in " + fill("a) x=$x;;& ", mega-30) + "esac" }},
		{"tests", func() string { return fill("[[ a ]];", mega) }},
		{"test list", func() string { return "[[ a" + fill(" && a", mega-20) + " ]]" }},
		{"tests files", func() string { return fill("[[ -e a ]];", mega) }},
		{"tests numbers", func() string { return fill("[[ a -eq b ]];", mega) }},
		{"test brackets", func() string { return "[[ $x == " + fill("[", mega-30) + " ]]" }},
		{"subshells", func() string { return fill("(:);", mega) }},
		{"blocks", func() string { return fill("{ :;};", mega) }},
		{"jobs", func() string { return fill("(:)& ", mega) }},
		{"jobs that write", func() string { return "touch a & " + fill(":& ", mega-20) }},
		{"comments", func() string { return fill("#a\n", mega) }},
		{"comments with words", func() string { return fill("# some words of text\n", mega) }},
		{"blanks", func() string { return fill("\n", mega) }},
		{"backslashes", func() string { return fill("\\\n", mega) }},
		{"carriage returns", func() string { return fill("a\r\n", mega) }},
		{"zero bytes", func() string { return fill("a\x00", mega) }},
		{"high bytes", func() string { return fill("\xff ", mega) }},
		{"wide letters", func() string { return fill("あ;", mega) }},
		{"broken sums", func() string { return fill("echo $((3 $op 4))\n", mega) }},
		{"broken subscripts", func() string { return fill("m[a.b]=1\n", mega) }},
		{"broken at the end", func() string { return fill("echo a\n", mega-100) + "echo $((3 $op 4))\n)" }},
		{"awk", func() string { return "awk '" + fill("{print $1}", mega-20) + "'" }},
		{"awk strings", func() string { return "awk '{print \"" + fill("a ", mega-30) + "\"}'" }},
		{"awk slashes", func() string { return "awk '" + fill("/", mega-20) + "'" }},
		{"awk brackets", func() string { return "awk '" + fill("/[", mega-20) + "'" }},
		{"awk classes", func() string { return "awk '" + fill("/[[:", mega-20) + "'" }},
		{"awk at", func() string { return "awk '" + fill("@ ", mega-20) + "'" }},
		{"awk at spaces", func() string { return "awk '@" + fill(" ", mega-20) + "'" }},
		{"awk at names", func() string { return "awk '" + fill("@a", mega-20) + "'" }},
		{"awk names", func() string { return "awk '@" + fill("a", mega-20) + "'" }},
		{"awk pipes", func() string { return "awk '" + fill("a||b ", mega-20) + "'" }},
		{"awk outputs", func() string { return "awk '" + fill(`{print > "a"}`, mega-20) + "'" }},
		{"awk tells", func() string { return "awk '" + fill(`{print | "ls"}`, mega-20) + "'" }},
		{"awk many", func() string { return fill("awk '{print $1}' a;", mega) }},
		{"awk -v", func() string { return "awk " + fill("-v a=b ", mega-20) + "1" }},
		{"sed", func() string { return "sed '" + fill("s/a/b/;", mega-20) + "'" }},
		{"sed -e", func() string { return "sed " + fill("-e p ", mega-20) }},
		{"sed braces", func() string { return "sed '" + fill("{", mega-20) + "'" }},
		{"sed brackets", func() string { return "sed 's/" + fill("[[.", mega-20) + "'" }},
		{"sed brackets many", func() string { return "sed '" + fill("s/[[.a/b/;", mega-20) + "'" }},
		{"sed files", func() string { return "sed '" + fill("w a\n", mega-20) + "'" }},
		{"sed tells", func() string { return "sed '" + fill("1e ls\n", mega-20) + "'" }},
		{"sed labels", func() string { return "sed '" + fill("b a\n", mega-20) + "'" }},
		{"sed text", func() string { return "sed '" + fill("a b\\\n", mega-20) + "'" }},
		{"find exec", func() string { return "find . " + fill(`-exec ls {} \; `, mega-20) }},
		{"find exec some", func() string { return "find . " + strings.Repeat(`-exec ls {} \; `, 100) }},
		{"find exec somes", func() string { return fill("find . "+strings.Repeat(`-exec ls {} \; `, 100)+"\n", mega) }},
		{"find exec open", func() string { return "find . " + fill(`-exec ls `, mega-20) }},
		{"find exec long", func() string { return "find . -exec ls " + fill("{} ", mega-30) + `\;` }},
		{"find nested", func() string { return "find . " + fill("-exec find . ", mega-30) + `\;` }},
		{"find nested exec", func() string { return "find . -exec find . " + strings.Repeat("-exec ls {} ", 150) + `\;` }},
		{"find names", func() string { return "find . " + fill("-name a ", mega-20) }},
		{"find names some", func() string {
			return fill("find . "+strings.Repeat("-o -name a ", 150)+"-exec ls {} +\n",
				mega)
		}},
		{"find pattern", func() string { return "find . -name '" + fill("*a", mega-30) + "'" }},
		{"find patterns", func() string {
			return "find . " + strings.Repeat("-path '"+fill("*a", 2000)+"b' ", 200) + "-exec ls {} +"
		}},
		{"find patterns more", func() string {
			return fill("find . "+strings.Repeat("-o -path '"+fill("*[a-z]*", 200)+"b' ", 100)+"-exec ls {} +\n", mega)
		}},
		{"find regexps", func() string {
			return fill("find . "+strings.Repeat("-o -regex '(((a{9}){9}){9})' ", 70)+"-exec ls {} +\n", mega)
		}},
		{"find regexps prune", func() string {
			return fill("find . "+strings.Repeat("-o -regex '.*a.*b.*c' -prune ", 70)+"-exec ls {} +\n", mega)
		}},
		{"find starts", func() string { return "find " + fill("./a ", mega-20) }},
		{"find dots", func() string { return "find " + strings.Repeat(". ", 400) + "-exec ls {} +" }},
		{"find output", func() string { return fill("x=$(find . -name a); ", mega) }},
		{"grep many", func() string { return fill("grep -r a . | xargs ls;", mega) }},
		{"grep -e", func() string { return "grep " + fill("-e a ", mega-20) }},
		{"grep pattern", func() string { return "ls | grep '" + fill("(a|b)*", mega-20) + "' | xargs ls" }},
		{"grep sifted", func() string { return "ls -a" + strings.Repeat(" | grep -v '(a{9}){9}'", 200) + " | xargs rm" }},
		{"grep sifted many", func() string { return fill("ls -a | grep -v a | xargs ls;", mega) }},
		{"options", func() string { return "ls " + fill("-a ", mega-10) }},
		{"options long", func() string { return "ls " + fill("--all ", mega-10) }},
		{"options cluster", func() string { return "ls -" + fill("a", mega-10) }},
		{"options unknown", func() string { return fill("ls --zzzzzz;", mega) }},
		{"options chmod", func() string { return "chmod " + fill("-v ", mega-20) + "777 a" }},
		{"options late", func() string { return "chmod " + fill("$x ", mega-20) }},
		{"options git", func() string { return "git " + fill("-C a ", mega-20) + "status" }},
		{"options git one", func() string { return fill("git -C a status;", mega) }},
		{"paths", func() string { return "cat " + fill("a/", mega-10) }},
		{"paths up", func() string { return "cat " + fill("../", mega-10) }},
		{"paths up inside", func() string { return "cat " + fill("a/../", mega-10) }},
		{"paths many", func() string { return "cat " + fill("a/b ", mega-10) }},
		{"paths globs", func() string { return "cat " + fill(".*/", mega-10) }},
		{"paths stars", func() string { return "cat ." + fill("*", mega-10) }},
		{"paths stars many", func() string { return "cat " + fill(".*****/ ", mega-10) }},
		{"paths commas", func() string { return "npm " + fill("a,", mega-10) }},
		{"paths equals", func() string { return "npm " + fill("./a=./b,", mega-10) }},
		{"names unknown", func() string { return numbered("nonesuch%d;", mega) }},
		{"names misspelt", func() string { return fill("grpe;", mega) }},
		{"names long", func() string { return fill(fill("n", 60)+";", mega) }},
		{"printf", func() string { return "x=$(printf '%s' " + fill("a ", mega-30) + ")" }},
		{"printf long", func() string { return "x=$(printf '" + fill("%s", mega/2) + "' " + fill("a ", mega/2-30) + ")" }},
		{"printf empty", func() string { return "x=$(printf '%s' " + fill("'' ", mega-30) + ")" }},
		{"echo", func() string { return "x=$(echo " + fill("a ", mega-30) + ")" }},
		{"echo feed", func() string { return fill("echo a b c | xargs ls;", mega) }},
		{"echo feed -I", func() string {
			return "echo " + strings.Repeat("a ", 64) + "| xargs -I{} " +
				fill("ls {} ", mega*5/10)
		}},
		{"xargs -I nested", func() string {
			return strings.Repeat("echo a b c d e f g h | xargs -I{} ", 1) + strings.Repeat("xargs -I{} ", 14) + "ls {}"
		}},
		{"xargs -I nested all", func() string {
			return "echo " + strings.Repeat("a ", 60) + "| " + strings.Repeat("xargs -I{} ", 15) + "ls {}"
		}},
		{"xargs -I nested often", func() string {
			return fill("echo "+strings.Repeat("a ", 8)+"| "+strings.Repeat("xargs -I{} ", 5)+"ls {}\n", mega)
		}},
		{"xargs -I sh", func() string {
			return "echo " + strings.Repeat("a ", 60) + "| xargs -I{} sh -c '" + fill("ls {}; ", mega*8/10) + "'"
		}},
		{"xargs -I growing", func() string {
			return "echo " + fill("b", 50000) + "| xargs -I{} xargs -I" + "b ls " + fill("{} ", mega*5/10)
		}},
		{"eval twice", func() string { return "eval eval " + fill("'echo a;' ", mega-20) }},
		{"eval long", func() string { return "eval '" + fill("echo a;", mega-20) + "'" }},
		{"eval many", func() string { return fill("eval 'echo a';", mega) }},
		{"eval loops", func() string { return "for i in 1 2 3 4 5 6 7 8; do eval '" + fill("echo a;", mega-90) + "'; done" }},
		{"eval value", func() string { return "x='" + fill("echo a; ", 2000) + "'; " + fill(`eval "$x"; `, mega-3000) }},
		{"eval value nested", func() string {
			return "x='" + fill("echo a; ", 2000) + `'; y='eval "$x"; eval "$x"'; ` + fill(`eval "$x$x$x$x$x$x$x$x"; `,
				mega-3000)
		}},
		{"eval function", func() string { return "f() { eval 'eval \"eval ls\"'; }; " + fill("f; ", mega-100) }},
		{"sh many", func() string { return fill("sh -c 'echo a';", mega) }},
		{"sh xargs", func() string { return fill("sh -c 'xargs ls';", mega) }},
		{"sh broken", func() string { return fill("sh -c 'echo $((1 $a 2))';", mega) }},
		{"sh broken long", func() string { return "sh -c '" + fill("echo $((1 $a 2));", mega-20) + "'" }},
		{"trap many", func() string { return fill("trap 'echo a' EXIT;", mega) }},
		{"traps loop", func() string {
			return "for i in 1 2 3 4 5 6 7 8; do " + fill("trap 'echo $i' EXIT;", mega-100) + "done"
		}},
		{"make told", func() string { return "make " + fill("CC='ls a' ", mega-20) }},
		{"make told long", func() string { return "make CC='" + fill("ls a;", mega-20) + "'" }},
		{"go told", func() string { return "go test " + fill("-exec 'ls a' ", mega-20) }},
		{"git told", func() string { return "git rebase " + fill("-x 'ls a' ", mega-20) }},
		{"git aliases", func() string { return "git " + fill("-c alias.a='!ls' ", mega-20) + "a" }},
		{"tar told", func() string { return "tar " + fill("--to-command 'ls a' ", mega-20) }},
		{"fd told", func() string { return "fd " + fill("-x ls ; ", mega-20) }},
		{"fd nested", func() string { return "fd " + fill("-x fd ", mega-20) }},
		{"env set", func() string { return "env " + fill("A=b ", mega-20) + "ls" }},
		{"env make", func() string { return "env " + fill("MAKEFLAGS=b ", mega-20) + "make" }},
		{"jq", func() string { return "jq '" + fill(".a|", mega-20) + "length'" }},
		{"jq length", func() string { return "x=$(jq -r '" + fill(".", mega-30) + "' a)" }},
		{"json", func() string { return "npx jest --config '" + fill(`{"a":"./b"},`, mega-40) + "'" }},
		{"aliases", func() string { return fill("alias a='b c';", mega) }},
		{"alias one", func() string { return "alias " + fill("a='b c' ", mega-20) }},
		{"exports", func() string { return fill("export A=b;", mega) }},
		{"export one", func() string { return "export " + fill("A=b ", mega-20) }},
		{"declare one", func() string { return "declare -i " + fill("a=b ", mega-20) }},
		{"declare options", func() string { return "declare " + fill("-i ", mega/2) + fill("a=b ", mega/2-20) }},
		{"unset many", func() string { return numbered("f%d() { :; }; ", 5000) + "unset " + fill("$a ", mega-6000) }},
		{"unset loop", func() string { return numbered("f%d() { :; }; ", 5000) + fill("unset $a; ", mega-6000) }},
		{"ints", func() string { return "declare -i " + numbered("v%d ", 5000) + "; " + fill("v1=v2+v3; ", mega-6000) }},
		{"prompt", func() string { return "x='$(ls)'; echo " + fill("${x@P} ", mega-20) }},
		{"evaluated long", func() string { return "x='" + fill("a+", 2000) + "1'; " + fill("((x)); ", mega-3000) }},
		{"evaluated refused", func() string { return "x='" + fill("a", 2000) + "$(ls)'; " + fill("((x)); ", mega-3000) }},
		{"evaluated refused loops", func() string {
			return "x='" + fill("a", 2000) + "$(ls)'; " + wrap("for i in 1 2 3 4 5 6 7 8; do ", fill("((x)); ", mega*5/10),
				"done;", 3)
		}},
		{"denied loops", func() string {
			return wrap("for i in 1 2 3 4 5 6 7 8; do ", "nonesuch "+fill("a ", mega*5/10)+";", "done;", 3)
		}},
		{"denied functions", func() string {
			return "f() { nonesuch " + fill("a ", 2000) + "; }; " +
				fill("f; ", mega-3000)
		}},
		{"denied long", func() string { return fill("nonesuch "+fill("a", 2000)+";", mega) }},
		{"late printed", func() string { return fill("ls $x"+fill("$y", 1000)+";", mega) }},
		{"late printed loops", func() string {
			return wrap("for i in 1 2 3 4 5 6 7 8; do ", "ls $x"+fill("$y ", mega*8/10)+";", "done;", 3)
		}},
		{"late substitutions", func() string { return "ls " + wrap("$(echo $x ", "a", ")", 400) }},
		{"late substitutions quoted", func() string { return "ls " + wrap("\"$(echo $x ", "a", ")\"", 200) }},
	}
}
