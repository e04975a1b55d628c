package shell_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Variables that set how many random lines are compared with bash, and the seed.
const (
	randomLines = "HAKO_RANDOM_LINES"
	randomSeed  = "HAKO_RANDOM_SEED"
)

// TestRandomLines compares random lines with bash: what they print and their status.
// Each line runs in a subshell, many lines in one script. The lines are the same every
// time; HAKO_RANDOM_SEED gives others.
func TestRandomLines(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		if os.Getenv("HAKO_REQUIRE_TOOLS") != "" {
			t.Fatal("bash is required and not there")
		}
		t.Skip("needs bash")
	}
	count, seed := uint64(2000), uint64(1)
	if !testing.Short() {
		count = 20000
	}
	for name, n := range map[string]*uint64{randomLines: &count, randomSeed: &seed} {
		if text := os.Getenv(name); text != "" {
			if *n, err = strconv.ParseUint(text, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("seed %d", seed)
	g := lineGenerator{rand.New(rand.NewPCG(seed, 1))}
	different := 0
	for done := uint64(0); done < count && different < 20; done += lineBatch {
		lines := make([]string, lineBatch)
		for i := range lines {
			lines[i] = g.line()
		}
		script := lineScript(lines)
		want, got := lineResults(askBash(t, bash, script, "hako")), lineResults(askHako(t, script, false))
		for i, line := range lines {
			if got[i] == "" {
				break // the line before has ended the script
			}
			if want[i] != got[i] {
				different++
				t.Errorf("%s\nbash %q\nhako %q", line, want[i], got[i])
			}
		}
	}
}

const lineBatch = 200

// lineScript runs each line in a subshell and prints its status behind a mark.
func lineScript(lines []string) string {
	var b strings.Builder
	b.WriteString("shopt -s extglob; echo one > f1; echo two > f2; mkdir d\n")
	for i, line := range lines {
		fmt.Fprintf(&b, "( %s\n) 2>/dev/null\nprintf '\\n@%d %%d@\\n' $?\n", line, i)
	}
	return b.String()
}

// lineResults cuts the output of such a script into those of its lines.
func lineResults(out string) []string {
	results := make([]string, lineBatch)
	for i := range results {
		mark := fmt.Sprintf("\n@%d ", i)
		text, rest, ok := strings.Cut(out, mark)
		if !ok {
			results[i] = "ended early: " + out
			break
		}
		status, rest, _ := strings.Cut(rest, "@\n")
		results[i], out = text+"["+status+"]", rest
	}
	return results
}

// A lineGenerator writes well-formed lines of bash.
type lineGenerator struct{ *rand.Rand }

func (g lineGenerator) of(list ...string) string { return list[g.IntN(len(list))] }

// few joins a few things.
func (g lineGenerator) few(least, most int, sep string, one func() string) string {
	parts := make([]string, least+g.IntN(most-least+1))
	for i := range parts {
		parts[i] = one()
	}
	return strings.Join(parts, sep)
}

func (g lineGenerator) line() string {
	set := g.setup()
	switch g.IntN(9) {
	case 0:
		return set + "[[ " + g.condition(3) + " ]]"
	case 5:
		return set + g.caseLine()
	case 6:
		return set + g.arrays()
	case 7:
		return g.functions()
	case 8:
		return set + "test " + g.testWords() + "; echo $?; [ " + g.testWords() + " ]; echo $?"
	case 1:
		return g.of("", "", "set -e; ", "set -o pipefail; ", "set -eo pipefail; ") + g.list(3) + "; echo end $?"
	case 2:
		return set + "printf '<%s>' " + g.few(1, 3, " ", g.word)
	case 3:
		return "printf " + g.format() + " " + g.few(0, 4, " ", g.printArg)
	case 4:
		return set + g.splitting()
	}
	return "x=7 y=-3 z=0; a=(4 5 6); echo $(( " + g.arithmetic(4) + " )) $x $y $z"
}

// setup sets the variables that expansions use.
func (g lineGenerator) setup() string {
	return "x=" + g.value() + " y=" + g.value() + "; unset n; e=; a=(" + g.few(0, 3, " ", g.value) + "); set -- " +
		g.few(0, 3, " ", g.value) + "; " + g.of("", "", "", "IFS=:; ", "IFS=' :'; ", "IFS=; ", "IFS=x; ", "unset IFS; ")
}

func (g lineGenerator) value() string {
	return g.of("abc", "a", "''", "'a b'", "' a  b '", "a:b", "':a::b:'", "'*'", "'f*'", "xyx", "foobar", "'a\\b'",
		"12",
		"'日本'", "Hello", "'f?'", "/usr/lib/x.so", "a.b.c", "'$y'", "'\"q\"'", "-n", "'a|b'")
}

func (g lineGenerator) condition(depth int) string {
	sub := func() string { return g.condition(depth - 1) }
	if depth == 0 {
		return g.term()
	}
	switch g.IntN(7) {
	case 0:
		return "( " + sub() + " )"
	case 1:
		return "! " + g.condition(0)
	case 2, 3:
		return sub() + " && " + sub()
	case 4, 5:
		return sub() + " || " + sub()
	}
	return g.term()
}

func (g lineGenerator) term() string {
	operand := func() string { return g.of("$x", "$y", "\"$x\"", "abc", "a", "''", "$n", "$1", "${a[0]}", "12") }
	switch g.IntN(6) {
	case 0:
		return operand() + " " + g.of("==", "!=", "=") + " " + g.pattern()
	case 1:
		return operand() + " " + g.of("<", ">", "==", "!=") + " " + operand()
	case 2:
		return g.integer() + " " + g.of("-eq", "-ne", "-lt", "-le", "-gt", "-ge") + " " + g.integer()
	case 3:
		return g.of("-z", "-n") + " " + operand()
	case 4:
		return g.of("-f", "-e", "-d", "-s") + " " + g.of("f1", "f2", "d", "nothing", "$x")
	}
	return g.of("-v x", "-v n", "-v a[0]", "f1 -ef f1", "f1 -ef f2", "$x =~ ^a", "$x =~ (b+)c?", "$y =~ [0-9]+$",
		"$x =~ \"a.c\"")
}

func (g lineGenerator) pattern() string {
	return g.of("a*", "*", "?", "[a-c]*", "[!a]*", "*b*", "\"$x\"", "$x", "$y*", "'a*'", "@(a|abc)", "!(a)", "+(a|b|c)",
		"*(x)", "?(a)bc", "a?c", "[[:alpha:]]*", "*.so", "*[0-9]", "@($x|q)", "@(\"$y\"|z)*", "\\*")
}

func (g lineGenerator) integer() string {
	return g.of("0", "1", "-1", "7", "10", "12", "3", "$x+1", "16#f")
}

func (g lineGenerator) list(depth int) string {
	if depth == 0 {
		return g.of("true", "false", "echo a", "echo b", "(exit 3)", "! true", "! false", "{ false; }", "(false)",
			"test 1 = 2", "echo c | cat", "false | true", "true | false", ":", "echo $?", "eval false",
			"f() { false; }")
	}
	sub := func() string { return g.list(depth - 1) }
	switch g.IntN(9) {
	case 0:
		return "{ " + sub() + "; }"
	case 1:
		return "( " + sub() + " )"
	case 2:
		return "if " + sub() + "; then " + sub() + "; else " + sub() + "; fi"
	case 3:
		return "for i in 1 2; do " + sub() + "; done"
	case 4:
		return sub() + "; " + sub()
	case 5:
		return "x=$( " + sub() + " ); echo \"$x\" $?"
	case 6:
		return sub() + " && " + sub()
	case 7:
		return sub() + " || " + sub()
	}
	return "while " + g.list(0) + "; do " + sub() + "; break; done"
}

func (g lineGenerator) word() string {
	w := g.of("", "", "p", "'q'") + g.expansion() + g.of("", "", "s", "$y")
	if g.IntN(2) == 0 {
		return "\"" + strings.ReplaceAll(w, "'", "") + "\""
	}
	return w
}

func (g lineGenerator) expansion() string {
	name := g.of("x", "x", "y", "n", "e", "1", "2", "a[0]", "a[1]", "a[@]", "a[*]", "@", "*")
	cut := g.of("x", "y", "n", "1", "a[0]", "@", "*") // bash joins ${a[@]#x} where IFS is empty, which is a bug
	inner := g.of("w", "", "w v", "$y", "${y}", "'q r'", "\\*")
	pat := g.of("a", "*", "?", "[a-c]", "a*", "*b", "$y", "\"$y\"", "b", "/*", "*/", "*.", ".*", "@(a|b)", "+([a-z])",
		":")
	switch g.IntN(12) {
	case 0:
		return "${" + name + g.of(":-", "-", ":+", "+") + inner + "}"
	case 1:
		return "${" + cut + g.of("#", "##", "%", "%%") + pat + "}"
	case 2: // no slash in the pattern: the replacement would begin with one, and match files of the machine
		return "${" + name + g.of("/", "//", "/#", "/%") + strings.ReplaceAll(pat, "/", "") + "/" + g.of("", "R", "<&>", "$y", "\\&") + "}"
	case 3:
		return "${" + name + g.of(":0", ":1", ":1:1", ": -1", ":0:2", ": -2:1", ":9") + "}"
	case 4:
		return "${#" + g.of("x", "y", "e", "a[@]", "a[0]", "@", "*", "1") + "}"
	case 5:
		return "${" + name + g.of("^", "^^", ",", ",,", "^^[a-c]") + "}"
	case 6:
		return "$(" + g.of("echo $x", "echo \"$x\"", "printf '%s\\n\\n' \"$y\"", "echo a; false") + ")"
	case 7:
		return "${" + g.of("!r", "x@Q", "y@U", "y@L", "y@u", "a[@]@Q") + "}"
	case 8:
		return "{" + g.few(2, 3, ",", func() string { return g.of("1", "b", "$x", "") }) + "}"
	case 9:
		return "$(( " + g.arithmetic(1) + " ))"
	}
	return "${" + name + "}"
}

func (g lineGenerator) caseLine() string {
	item := func() string {
		return g.few(1, 2, "|", func() string { return g.pattern() }) + ") echo " + g.of("1", "2", "$x") + g.of(";;",
			";;", ";&", ";;&")
	}
	return "case " + g.of("$x", "\"$x\"", "$1", "abc", "${a[0]}", "$x$y") + " in " + g.few(1, 4, " ", item) +
		" *) echo other;; esac"
}

func (g lineGenerator) arrays() string {
	show := "; declare -p b 2>/dev/null; echo ${#b[@]} \"${!b[@]}\" \"${b[*]}\""
	index := func() string { return g.of("0", "1", "2", "-1", "5", "1+1", "${#b[@]}", "k") }
	kind := g.of("b=(", "b=(", "declare -a b=(", "declare -A b=(")
	var init string
	if kind == "declare -A b=(" {
		init = kind + g.few(0, 3, " ", func() string { return "[k" + g.of("", "1", "2") + "]=" + g.value() }) + ")"
		show = "; echo ${#b[@]} \"${b[k]}\" \"${b[k1]}\""
	} else {
		init = kind + g.few(0, 3, " ", func() string { return g.of("", "["+g.of("3", "1", "0")+"]=") + g.value() }) +
			")"
	}
	step := func() string {
		switch g.IntN(7) {
		case 0:
			return "b[" + index() + "]=" + g.value()
		case 1:
			return "b+=(" + g.of("[k3]=q", "[7]=r") + ")"
		case 2:
			return "unset 'b[" + g.of("0", "1", "k", "-1") + "]'"
		case 3:
			return "b[" + index() + "]+=" + g.value()
		case 4:
			return "printf '<%s>' \"${b[@]" + g.of(":1", ":0:2", "#a", "%b", "/a/R", "^^", ": -1") + "}\""
		case 5:
			return "for i in \"${" + g.of("b", "!b") +
				"[@]}\"; do printf '%s,' \"$i\"; done | tr , '\\n' | sort | tr '\\n' ,"
		}
		return "[[ -v b[" + index() + "] ]]; echo $?"
	}
	return init + "; " + g.few(1, 3, "; ", step) + show
}

func (g lineGenerator) functions() string {
	body := func() string {
		return g.of("local x=2; echo $x", "x=5; return 3", "echo $# $1 \"$*\"", "shift; echo $1", "return",
			"local y; y=$1; echo ${y:-none}",
			"false", "set -- p q; echo $2", "echo ${FUNCNAME[0]} ${#FUNCNAME[@]}",
			"for i; do echo $i; [[ $i == b ]] && return 4; done",
			"local -i n=3+4; n+=1; echo $n", "eval 'x=$1'; echo $x", "g=1; unset x; echo ${x-unset}",
			"local IFS=:; echo \"$*\"")
	}
	call := func() string {
		return g.of("f", "f a b", "f 'a b' c", "f \"$x\"", "x=9 f", "f $x || echo failed $?", "echo $(f a)",
			"f | cat", "! f", "(f; echo $x)")
	}
	return "x=1; f() { " + g.few(1, 3, "; ", body) + "; }; " + g.few(1, 3, "; ", call) + "; echo $? $x $#"
}

func (g lineGenerator) testWords() string {
	operand := func() string { return g.of("\"$x\"", "abc", "a", "''", "\"$n\"", "12", "-n", "\"$1\"") }
	one := func() string {
		switch g.IntN(5) {
		case 0:
			return operand() + " " + g.of("=", "!=", "==") + " " + operand()
		case 1:
			return g.of("1", "12", "-3") + " " + g.of("-eq", "-ne", "-lt", "-le", "-gt", "-ge") + " " + g.of("1", "7",
				"-3")
		case 2:
			return g.of("-z", "-n") + " " + operand()
		case 3:
			return g.of("-f", "-e", "-d", "-s", "-r") + " " + g.of("f1", "d", "nothing")
		}
		return operand()
	}
	switch g.IntN(5) {
	case 0:
		return "! " + one()
	case 1:
		return one() + " " + g.of("-a", "-o") + " " + one()
	case 2:
		return "\\( " + one() + " \\)"
	}
	return one()
}

func (g lineGenerator) format() string {
	return "'" + g.few(1, 3, g.of("", " ", "|"), func() string {
		return "%" + g.of("", "-", "0", "+", " ", "#") + g.of("", "5", "12", "1") + g.of("", "", ".2", ".0") +
			g.of("d", "s", "x", "o", "c", "i", "u", "X", "f", "e", "g", "b", "q")
	}) + g.of("", "\\n", "\\t|", "%%") + "'"
}

func (g lineGenerator) printArg() string {
	return g.of("1", "0", "-5", "255", "3.14159", "abc", "'a b'", "''", "\"'A\"", "0x1f", "010", "100000", "'a\\tb'",
		"1e3", "日本")
}

func (g lineGenerator) splitting() string {
	list := func() string {
		return g.of("$@", "$*", "\"$@\"", "\"$*\"", "$x", "\"$x\"", "${a[@]}", "\"${a[@]}\"", "${a[*]}",
			"\"${a[*]}\"", "p$@s", "p\"$@\"s", "$x$y", "$e", "\"$e\"", "$e$x", "\"\"$x")
	}
	switch g.IntN(4) {
	case 0:
		return "printf '<%s>' " + g.few(1, 3, " ", list)
	case 1:
		return "for i in " + g.few(1, 2, " ", list) + "; do echo \"[$i]\"; done"
	case 2:
		return "read " + g.of("", "-r ") + g.of("p", "p q", "p q r") + " <<< " + g.of("$x", "\"$x\"", "'a b c'",
			"':a::b'", "'  a  '", "'a\\ b c'", "'a:b:c:'") + "; printf '<%s>' \"$p\" \"$q\" \"$r\""
	}
	return "b=(" + g.few(1, 3, " ", list) + "); printf '<%s>' ${#b[@]} \"${b[@]}\""
}

func (g lineGenerator) arithmetic(depth int) string {
	if depth == 0 {
		return g.of("0", "1", "2", "7", "x", "y", "z", "a[1]", "a", "010", "0x1f", "2#101", "$x", "-1", "100", "a[x-6]")
	}
	sub := func() string { return g.arithmetic(depth - 1) }
	switch g.IntN(9) {
	case 0:
		return "(" + sub() + ")"
	case 1:
		return "(" + sub() + " ? " + sub() + " : " + sub() + ")"
	case 2:
		return g.of("-", "+", "!", "~") + "(" + sub() + ")"
	case 3:
		return "(" + g.of("x++", "++y", "z--", "--x", "x=3", "y+=2", "z*=3", "a[0]+=1", "x<<=1") + ")"
	case 4:
		return g.arithmetic(0)
	}
	return sub() + " " + g.of("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "&&", "||", ",", "==", "!=", "<",
		"<=", ">") + " " + sub()
}
