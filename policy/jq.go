package policy

import (
	"strings"

	"hako/internal/lazyregexp"
)

var jqLoads = lazyregexp.New(`(^|[^.A-Za-z0-9_$])(import|include|modulemeta|input_line_number_file)\b`)

// judgeJq judges jq: the filter may not load modules.
func (c *command) judgeJq(args []word) *finding {
	filter, data := false, false
	for i := 0; i < len(args); i++ {
		t := args[i].text
		switch {
		case t == "--arg" || t == "--argjson":
			i += 2
		case (t == "--slurpfile" || t == "--rawfile" || t == "--argfile") && i+2 < len(args):
			if f := c.file(args[i+2], false); f != nil {
				return f
			}
			i += 2
		case t == "--indent":
			i++
		case t == "--args" || t == "--jsonargs":
			data = true // further operands are texts
		case t == "-" || !strings.HasPrefix(t, "-"):
			if f := c.judgeJqOperand(args[i], filter); f != nil && !(data && filter) {
				return f
			}
			filter = true
		default:
			if f := c.judgeJqOption(t); f != nil {
				return f
			}
		}
	}
	return nil
}

func (c *command) judgeJqOperand(w word, filterSeen bool) *finding {
	if filterSeen {
		return c.file(w, false)
	}
	if jqLoads.Get().MatchString(w.text) {
		return refusal("jq: import", "a filter that loads modules reads other files", "put everything into the filter itself")
	}
	return nil
}

func (c *command) judgeJqOption(t string) *finding {
	if strings.HasPrefix(t, "--") {
		if !hasWord(wordList("jq-options"), t) {
			return c.refuseOption(t, "the option is not on the list of options known to be safe", "leave "+t+" out")
		}
		return nil
	}
	if bad := strings.Trim(t[1:], "nRscrjaSCMeh"); bad != "" {
		return c.refuseOption("-"+bad[:1], "the option is not on the list of options known to be safe",
			"leave it out, and write the filter as an argument")
	}
	return nil
}

func (c *command) judgeYq(args []word) *finding {
	inPlace := hasAny(args, "--inplace", "--in-place") || hasShortOption(args, "i")
	for _, w := range args {
		if strings.HasPrefix(w.text, "/") || goesUp(w.text) && w.text != ".." || w.loose {
			if f := c.file(w, true); f != nil {
				return f
			}
		}
		if inPlace && c.p.opts.Root != "" && !strings.HasPrefix(w.text, "-") {
			if f := c.refuseProtected(w); f != nil {
				return f
			}
		}
	}
	return nil
}
