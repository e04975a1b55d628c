package policy

import "strings"

// A nesting is a construct that may stand inside itself.
type nesting struct{ name, open, core, end string }

var nestings = []nesting{
	{"subshells", "( ", ":", " )"},
	{"blocks", "{ ", ":", "; }"},
	{"substitutions", "echo $(", "echo a", ")"},
	{"backquotes", "echo `", "echo a", "`"},
	{"quoted substitutions", `echo "$(`, "echo a", `)"`},
	{"process substitutions", "cat <(", "echo a", ")"},
	{"assigned substitutions", "x=$(", "echo a", ")"},
	{"arithmetic", "echo $((", "1", "))"},
	{"parentheses in arithmetic", "(", "1", ")"},
	{"unary minus", "- ", "1", ""},
	{"ternaries", "1?1:", "1", ""},
	{"subscripts", "a[", "1", "]"},
	{"defaults", "${x:-", "a", "}"},
	{"quoted defaults", `"${x:-`, "a", `}"`},
	{"cuts", "${x#", "a", "}"},
	{"replacements", "${x/a/", "a", "}"},
	{"slices", "${x:$((", "1", "))}"},
	{"indices", "${x[", "1", "]}"},
	{"braces", "{a,", "b", "}"},
	{"brace pairs", "{a,b{", "c,d", "}}"},
	{"ifs", "if true; then ", ":", "; fi"},
	{"elses", "if true; then :; else ", ":", "; fi"},
	{"conditions", "if ", ":", "; then :; fi"},
	{"whiles", "while true; do ", ":", "; done"},
	{"while conditions", "while ", ":", "; do :; done"},
	{"fors", "for i in a b; do ", "echo $i", "; done"},
	{"fors of words", "for i in $(", "echo a", "); do :; done"},
	{"c fors", "for ((i=0;i<2;i++)); do ", "echo $i", "; done"},
	{"selects", "select i in a b; do ", "echo $i", "; done"},
	{"cases", "case x in x) ", ":", ";; esac"},
	{"case words", "case $(", "echo a", ") in x) :;; esac"},
	{"functions", "f() { ", ":", "; }"},
	{"called functions", "f() { ", "echo a", "; }; f"},
	{"tests", "( ", "a", " )"},
	{"negated tests", "! ", "a", ""},
	{"test lists", "a && ( ", "a", " )"},
	{"times", "time ", ":", ""},
	{"negations", "! ", ":", ""},
	{"coprocesses", "coproc { ", ":", "; }"},
	{"here strings", `cat <<< "$(`, "echo a", `)"`},
	{"here documents", "cat <<E\n$(", "echo a", ")\nE\n"},
	{"redirected blocks", "{ ", ":", "; } > a"},
	{"pipes of blocks", "{ ", ":", "; } | cat"},
	{"and blocks", "{ true && ", ":", "; }"},
	{"or blocks", "{ true || ", ":", "; }"},
	{"arrays", "a=( $(", "echo a", ") )"},
	{"array defaults", "${a[@]:-", "a", "}"},
	{"extended globs", "@(a|", "b", ")"},
	{"wrappers env", "env ", "ls", ""},
	{"wrappers env set", "env A=b ", "ls", ""},
	{"wrappers xargs", "xargs ", "ls", ""},
	{"wrappers xargs -I", "xargs -I{} ", "ls {}", ""},
	{"wrappers timeout", "timeout 5 ", "ls", ""},
	{"wrappers command", "command ", "ls", ""},
	{"wrappers nice", "nice ", "ls", ""},
	{"wrappers sudo", "sudo ", "ls", ""},
	{"wrappers find", "find . -exec ", "ls", " ;"},
	{"wrappers git bisect", "git bisect run ", "ls", ""},
	{"wrappers uv", "uv run ", "ls", ""},
	{"find parentheses", "( ", "-name a", " )"},
	{"find nots", "! ", "-name a", ""},
	{"regexp groups", "(", "a", ")"},
	{"regexp repeats", "(", "a", "){9}"},
	{"let", `let "a=`, "1", `"`},
	{"declares", "declare a=$(", "echo a", ")"},
	{"background", "{ ", ":", "; } &"},
}

// around says what has to stand around a nesting for the shell to read it.
var around = map[string][2]string{
	"parentheses in arithmetic": {"echo $((", "))"}, "unary minus": {"echo $((", "))"}, "ternaries": {"echo $((", "))"},
	"subscripts": {"echo $((", "))"},
	"defaults":   {"echo ", ""}, "quoted defaults": {"echo ", ""}, "cuts": {"echo ", ""}, "replacements": {"echo ", ""},
	"slices":  {"echo ", ""},
	"indices": {"echo ", ""}, "array defaults": {"echo ", ""}, "braces": {"echo ", ""}, "brace pairs": {"echo ", ""},
	"extended globs": {"echo ", ""},
	"tests":          {"[[ ", " ]]"}, "negated tests": {"[[ ", " ]]"}, "test lists": {"[[ ", " ]]"},
	"find parentheses": {"find . '", "'"}, "find nots": {"find . '", "'"}, "regexp groups": {"find . -regex '", "'"},
	"regexp repeats": {"find . -regextype egrep -regex '", "'"},
}

// nested is a nesting, depth levels deep and at most limit bytes long.
func (n nesting) nested(depth, limit int) string {
	depth = min(depth, (limit-200)/(len(n.open)+len(n.end)))
	s := wrap(n.open, n.core, n.end, depth)
	a := around[n.name]
	if strings.HasPrefix(n.name, "find ") {
		s = strings.ReplaceAll(s, " ", "' '")
	}
	return a[0] + s + a[1]
}
