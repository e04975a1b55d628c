package shell_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"hako/run"
)

// A generator writes lines of shell that are mostly well formed and mostly odd.
type generator struct{ *rand.Rand }

func (g generator) of(list ...string) string { return list[g.IntN(len(list))] }

func (g generator) name() string {
	return g.of("x", "y", "a", "m", "r", "i", "e", "ro", "1", "0", "10", "99999999999999999999", "@", "*", "#", "?", "-",
		"$", "!", "_", "IFS", "RANDOM",
		"PIPESTATUS", "FUNCNAME", "BASH_SOURCE", "DIRSTACK", "LINENO", "OPTIND", "unset")
}

func (g generator) text() string {
	return g.of("", "[", "]", "[]", "[0]", "[@", "a[", "a]", "a[]", "a[[", "a[@]", "a[-99]", "a[a]", "x", "y", "-1", "1",
		"08", "2#", "#", "1#1", "65#1", "64#@_", "0x", "0xg", "9223372036854775807",
		"-9223372036854775808", "99999999999999999999", "é", "\\", "\\x", "*", "?", "!(a)", "@(", "*(", "[!", "[^]]",
		"[[:alpha:]", "[a-", "[z-a]", "%", "%s%", "%*d", "%.*f", "%(", "%(%s)T", "%-", "%b\\", "\\c",
		" ", ":", "=", "a=b", "n=", "$x", "${", "$(", "`", "'", "{1..", "{a,b}", "~", "~x", "&", "\\&", ";", "\x01", "\xff",
		"a b  c", "1+", "1/0", "a=", "a[1]=2", "x++", "--x", "1?2", "1?2:", "(", "()", "i++ + ++i")
}

func (g generator) quoted() string { return "'" + strings.ReplaceAll(g.text(), "'", "") + "'" }

func (g generator) number() string {
	return g.of("0", "1", "-1", " -3", "99", "63", "64", "-64", "9223372036854775807", "-9223372036854775808", "2**62",
		"1<<63", "08", "x", "a", "a[0]", "a[-1]", "m[k]", "e", "y", "10#9", "36#z", "1,2", "x=3", "i+=1", "unset", "-x", "~0",
		"!1")
}

func (g generator) arithmetic(depth int) string {
	if depth == 0 {
		return g.number()
	}
	sub := func() string { return g.arithmetic(depth - 1) }
	switch g.IntN(6) {
	case 0:
		return "(" + sub() + ")"
	case 1:
		return sub() + "?" + sub() + ":" + sub()
	case 2:
		return g.of("-", "+", "!", "~", "++", "--") + sub()
	case 3:
		return "$" + g.name() + g.of("+", "") + sub()
	}
	return sub() + g.of("+", "-", "*", "/", "%", "**", "<<", ">>", "&", "|", "^", "&&", "||", ",", "==", "<", "=", "+=",
		"/=", "%=", "<<=", "**=") + sub()
}

func (g generator) subscript() string {
	return g.of("", "", "", "[@]", "[*]", "[0]", "[-1]", "[-9]", "[9999999999999]", "[x]", "[k]", "["+g.arithmetic(1)+"]",
		"['"+g.of("[", "]", "", "a b")+"']", "[$x]", "[${x}]")
}

// expansion returns ${…} with every operator there is.
func (g generator) expansion(depth int) string {
	word := g.quoted()
	if depth > 0 && g.IntN(3) == 0 {
		word = g.expansion(depth - 1)
	}
	pat := g.of(word, "*", "?", "[a-z]", "[", "+(a)", "!(a)", "*(", "\\", "")
	op := g.of("", ":-"+word, "-"+word, ":="+word, "="+word, ":+"+word, "+"+word, ":?"+word, "?"+word, "#"+pat, "##"+pat,
		"%"+pat, "%%"+pat, "/"+pat+"/"+word, "//"+pat+"/"+word, "/#"+pat+"/"+word, "/%"+pat+"/"+word,
		"/"+pat, "^", "^^", ",", ",,", "^"+pat, "^^"+pat, ",,"+pat, ":"+g.number(), ": "+g.number()+":"+g.number(),
		":"+g.arithmetic(1)+":"+g.arithmetic(1), "@"+g.of("Q", "E", "U", "L", "u", "A", "a", "K", "k", "P", "Z"), "*", "@")
	s := "${" + g.of("", "", "!", "#", "!!") + g.name() + g.subscript() + op + "}"
	if g.IntN(2) == 0 {
		return `"` + strings.ReplaceAll(s, `"`, "") + `"`
	}
	return s
}

func (g generator) line() string {
	x := g.expansion(2)
	name := g.of(g.quoted(), g.quoted(), g.name(), "a"+g.subscript(), "m"+g.subscript(), x)
	switch g.IntN(30) {
	case 0:
		return "echo $((" + g.arithmetic(3) + "))"
	case 1:
		return "let " + g.quoted() + " '" + g.arithmetic(2) + "'"
	case 2:
		return "y='" + g.arithmetic(2) + "'; echo $((y)) ${y[y]} ${x:y}"
	case 3:
		return "printf -v " + name + " " + g.quoted() + " " + x
	case 4:
		return "printf " + g.quoted() + " " + x + " " + g.quoted()
	case 5:
		return "read " + g.of("", "-r", "-a", "-n", "-N", "-d", "-u", "-t 0 -a", "-p") + " " + name + " <<< " + x
	case 6:
		return "mapfile " + g.of("", "-t", "-n", "-O", "-s", "-d", "-C") + " " + name + " <<< " + x
	case 7:
		return "declare " + g.of("", "-a", "-A", "-i", "-n", "-l", "-u", "-r", "-x", "-p", "-f", "+a", "-g") + " " + name +
			g.of("", "="+x, "=("+x+" "+x+")", "+="+x)
	case 8:
		return "unset " + g.of("", "-v", "-f", "-n") + " " + name
	case 9:
		return "[[ " + x + " " + g.of("==", "!=", "=~", "<", "-eq", "-lt", "-nt") + " " + g.expansion(1) + " ]]"
	case 10:
		return "[[ " + g.of("-v", "-R", "-z", "-e", "-o", "-t") + " " + name + " ]]; test " + g.of("-v", "-a", "!", "(",
			"-R") + " " + name + " " + g.of("", "-a", "=", "-eq", ")", "!") + " " + x
	case 11:
		return "case " + x + " in " + g.of("*", x, "[", "+(a)|!(b)") + ") echo;; esac"
	case 12:
		return "export " + name + "=" + x + "; local " + name
	case 13:
		return "for " + g.of("i", "r", "ro", "a") + " in " + x + "; do echo $i; break " + g.quoted() + "; done"
	case 14:
		return g.of("x", "a", "m", "i", "r") + g.subscript() + g.of("=", "+=") +
			g.of(x, "("+x+" [1]=2 ["+g.arithmetic(1)+"]="+x+")")
	case 15:
		return "eval " + g.quoted() + " " + x
	case 16:
		return "set -- " + x + "; shift " + g.quoted() + "; echo $1 ${@:" + g.number() + ":" + g.number() + "} ${*: -1}"
	case 17:
		return "getopts " + g.quoted() + " " + name + " " + x
	case 18:
		return "trap " + g.quoted() + " " + g.of("EXIT", "ERR", "DEBUG", "RETURN", g.quoted())
	case 19:
		return "echo {" + g.number() + ".." + g.of("3", g.quoted()) + g.of("", "..2", "..0", "..-9223372036854775808") +
			"} {" + x + "," + g.quoted() + "}"
	case 20:
		return "cat <<< " + x + " {" + g.of("x", "a[0]", "r") + "}<&0; exec {x}<&-"
	case 21:
		return "f() { local " + name + "=" + x + "; return " + g.quoted() + "; }; f " + x + "; " + x + "=1 f"
	case 22:
		return "echo " + g.of("-e", "-n", "-neE") + " " + x + " $" + g.quoted()
	case 23:
		return "pushd " + name + "; popd " + g.quoted() + "; dirs " + g.quoted() + "; cd " + x
	case 24:
		return "type " + name + "; command -v " + x + "; hash " + x + "; help " + g.quoted()
	case 25:
		return "(( " + g.arithmetic(3) + " )); for (( " + g.arithmetic(1) + "; 0; " + g.arithmetic(1) + " )); do :; done"
	case 26:
		return "select i in " + x + "; do break; done <<< " + g.quoted() + "; wait " + g.quoted() + "; kill " + g.quoted() +
			"; jobs " + g.quoted()
	case 27:
		return "shopt -s " + g.of("nullglob", "failglob", "globstar", "nocasematch", "dotglob", "lastpipe") + "; echo " + x +
			"* **/" + g.text() + "; set " + g.of("-u", "-e", "-x", "-f", "-o", g.quoted())
	}
	return "echo " + x + " " + g.expansion(2)
}

const prepared = `x=abc; y='[' ; a=(1 '[' '' "é x" x); a[7]=9; declare -A m=([k]=v ['[']=x ['a b']=1); declare -n r=x; declare -i i=5; e=; readonly ro=1; set -- p 'q r' '['; `

// unbroken runs a line and fails if the interpreter panicked in it.
func unbroken(t testing.TB, line string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var out bytes.Buffer
	start := time.Now()
	_, err := limited(32<<20, 100).Run(ctx, &run.Request{Script: prepared + "\n" + line, Stdout: &out, Stderr: &out,
		Stdin: strings.NewReader("one two\nthree\n")})
	if err != nil && strings.Contains(err.Error(), "it broke") || strings.Contains(out.String(), "it broke") {
		t.Errorf("%s\n%v\n%s", line, err, out.String())
	}
	if took := time.Since(start); took > 2*time.Second+late {
		t.Errorf("%s\ntook %v", line, took)
	}
}

// TestIndirect expands what a variable names, whatever that is.
func TestIndirect(t *testing.T) {
	for _, target := range []string{"[", "]", "[]", "[@]", "a[", "a[]", "a[[", "-", "x y", "1", "@", "x[", "x[@]", "$",
		"é", "=", "\\", "*"} {
		for _, op := range []string{"", ":-d", ":=d", ":+d", ":?d", "#a", "%a", "/a/b", "//a/b", "^^", ",,", ":1", ":0:1",
			"@Q", "@A", "@a", "@K", "@E", "@U", "[0]", "[@]", "*", "@"} {
			unbroken(t, fmt.Sprintf(
				"x=%q; echo ${!x%s} \"${!x%s}\"; echo ${#x%s}; y='${!x}'; [[ -v $x ]]; printf -v \"$x\" a; read \"$x\" <<< a; unset \"$x\"; declare \"$x\"=1", target, op, op, op))
		}
	}
	if got := say(t, newSession(), "x='['; echo ${!x}; echo after"); !strings.Contains(got, "[: invalid variable name") {
		t.Errorf("it printed %q", got)
	}
}

// TestEmptyQuotes has nothing between quotes that stand in other quotes.
func TestEmptyQuotes(t *testing.T) {
	if got := say(t, newSession(), `x=1; echo "${x:+''}" "${y:-''}"`); got != "'' ''\n" {
		t.Errorf("it printed %q", got)
	}
}

// TestGeneratedLines runs lines that nobody would write.
func TestGeneratedLines(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 500
	}
	for seed := range uint64(n) {
		unbroken(t, generator{rand.New(rand.NewPCG(seed, 1))}.line())
	}
}

// FuzzGeneratedLines goes on with other lines.
func FuzzGeneratedLines(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		g := generator{rand.New(rand.NewPCG(a, b))}
		unbroken(t, g.line()+"\n"+g.line())
	})
}
