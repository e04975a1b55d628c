package policy

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// printsNumber knows commands that print whole numbers or nothing: what they
// print can be calculated with.
func printsNumber(name string, args []word) bool {
	switch name {
	case "stat":
		return len(args) > 1 && args[0].text == "-c" && inList(" %s %Y %X %Z %W %b %h %i %u %g ", args[1].text) &&
			plainOperands(args[2:])
	case "jq":
		for len(args) > 0 && inList(" -r -s -c -e ", args[0].text) {
			args = args[1:]
		}
		return len(args) > 0 && !args[0].late && len(args[0].text) < maxTried && countsLength().MatchString(args[0].text) &&
			plainOperands(args[1:])
	case "seq":
		return len(args) > 0 && !slices.ContainsFunc(args, func(w word) bool { return !isNumber(w) })
	case "expr":
		return len(args) == 3 && isNumber(args[0]) && isNumber(args[2]) && !args[1].late &&
			inList(" + - * / % ", args[1].text)
	case "awk":
		return len(args) > 0 && !args[0].late && strings.ReplaceAll(args[0].text, " ", "") == "END{printNR}" &&
			plainOperands(args[1:])
	case "git":
		return len(args) > 1 && args[0].text == "rev-list" && args[1].text == "--count" && plainOperands(args[2:])
	}
	return false
}

// plainOperands reports whether all words are names that are written out. A name
// that a pattern finds may be an option, or NR=x, which awk takes for an order.
func plainOperands(args []word) bool {
	return !slices.ContainsFunc(args, func(w word) bool {
		return w.late || strings.HasPrefix(w.text, "-") || strings.ContainsAny(w.text, "*?[(=")
	})
}

// countsLength is a path and a length at its end: nothing else can come out.
var countsLength = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\.[A-Za-z0-9_.\[\]]*( *\| *[a-z]+)? *\| *)?length$`)
})

// plainPackages reports whether go list is given packages alone: then it prints
// their names, and no option makes it print anything else.
func plainPackages(args []word) bool {
	return !slices.ContainsFunc(args, func(w word) bool { return w.late || strings.HasPrefix(w.text, "-") })
}

// isNumber reports whether a word is a number or stands for one.
func isNumber(w word) bool {
	return !w.loose && w.text != "" && strings.Trim(w.text, "0123456789") == ""
}
