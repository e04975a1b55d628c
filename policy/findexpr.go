package policy

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// truth is the value of an expression in three-valued logic.
type truth uint8

const (
	no truth = iota
	maybe
	yes
)

// A search evaluates a find expression for one path.
type search struct {
	words []word // the expression
	at    int
	path  string // as find spells it
	dir   bool
	other bool // one of otherPaths
	cost  *costMeter

	compiled map[string]*regexp.Regexp // the expressions of all paths

	asked  bool         // a test asked for a name like this one
	acts   bool         // the expression says what to do
	pruned bool         // find does not go into it
	shown  bool         // find may print it
	given  map[int]bool // the commands that may be given it, by where their words begin
}

// maxTried bounds the words of an expression that is evaluated; a longer one may find anything.
const maxTried = 500

// searchGit evaluates which paths in .git a find may reach.
func (c *command) searchGit(args []word) found {
	var all found
	if len(args) > maxTried {
		return foundAnywhere(args)
	}
	n := 0
	for n < len(args) && !isFindExpression(args[n].text) || n < len(args) && hasWord(" -H -L -P ", args[n].text) {
		n++
	}
	starts := args[:n]
	if n == 0 {
		starts = literals(".")
	}
	for _, start := range starts {
		if c.p.checks.strict && c.mayHoldGit(start) {
			c.searchGitFrom(strings.TrimRight(start.text, "/"), args, n, &all)
		}
	}
	return all
}

func (c *command) searchGitFrom(start string, args []word, n int, all *found) {
	compiled := make(map[string]*regexp.Regexp)
	tried := append(slices.Clip(gitPaths()), otherPaths()...)
	c.cost.spend(len(tried) * searchCost(args[n:]))
	for i, p := range tried {
		s := search{words: args[n:], other: i >= len(gitPaths()), cost: c.cost, compiled: compiled}
		if !s.comesTo(start, p) || s.other && !s.asked {
			continue
		}
		if s.shown {
			all.shown += s.path + "\n"
		}
		for at := range s.given {
			if all.given == nil {
				all.given = make(map[int]string)
			}
			if all.given[n+at] == "" {
				all.given[n+at] = s.path
			}
		}
	}
}

// searchCost is the cost of evaluating an expression for one path. With -prune its parent directories are
// evaluated, too.
func searchCost(words []word) int {
	cost := costPath
	for _, w := range words {
		cost += 2*costWord + costText*len(w.text)
	}
	if hasAny(words, "-prune") {
		cost *= 4
	}
	return cost
}

// comesTo evaluates the expression for a path, unless find prunes a directory above it.
func (s *search) comesTo(start, p string) bool {
	parts := strings.Split(strings.TrimSuffix(p, "/"), "/")
	if most, ok := s.number("-maxdepth"); ok && len(parts) > most {
		return false
	}
	least, _ := s.number("-mindepth")
	stops := hasAny(s.words, "-prune") && !hasAny(s.words, "-depth", "-d", "-delete")
	for i := 0; stops && i < len(parts); i++ {
		s.try(strings.Join(append([]string{start}, parts[:i]...), "/"), true)
		if s.pruned && i >= least {
			return false
		}
	}
	s.try(start+"/"+strings.Join(parts, "/"), strings.HasSuffix(p, "/"))
	return len(parts) >= least
}

func (s *search) try(p string, dir bool) {
	s.path, s.dir, s.at = p, dir, 0
	s.asked, s.acts, s.pruned, s.shown, s.given = false, false, false, false, nil
	t := s.list(yes)
	s.shown = s.shown || !s.acts && t != no
}

// number returns the value of a global option.
func (s *search) number(option string) (int, bool) {
	for i, w := range s.words {
		if w.text == option && i+1 < len(s.words) {
			n, err := strconv.Atoi(s.words[i+1].text)
			return n, err == nil
		}
	}
	return 0, false
}

func (s *search) peek() string {
	if s.at < len(s.words) {
		return s.words[s.at].text
	}
	return ""
}

// take skips the next word if it is one of a list.
func (s *search) take(list string) bool {
	ok := hasWord(list, s.peek())
	if ok {
		s.at++
	}
	return ok
}

// list, either, both and one are the rules of find's grammar. on is whether the part is evaluated.
func (s *search) list(on truth) truth {
	t := s.either(on)
	for s.take(" , ") {
		t = s.either(on)
	}
	return t
}

func (s *search) either(on truth) truth {
	t := s.both(on)
	for s.take(" -o -or ") {
		t = max(t, s.both(min(on, yes-t)))
	}
	return t
}

func (s *search) both(on truth) truth {
	t := s.one(on)
	for s.at < len(s.words) && !hasWord(" -o -or , ) ", s.peek()) {
		s.take(" -a -and ")
		t = min(t, s.one(min(on, t)))
	}
	return t
}

func (s *search) one(on truth) truth {
	switch {
	case s.at >= len(s.words):
		return yes
	case s.take(" ! -not "):
		return yes - s.one(on)
	case s.take(" ( "):
		t := s.list(on)
		s.take(" ) ")
		return t
	}
	s.at++
	name := s.words[s.at-1].text
	if hasWord(" -exec -ok -execdir -okdir ", name) {
		return s.command(on)
	}
	value := word{value: value{late: true}}
	if findTakes(name) > 0 && s.at < len(s.words) {
		value = s.words[s.at]
		s.at++
	}
	return s.primary(name, value, on)
}

// command records that a command may be given the path.
func (s *search) command(on truth) truth {
	s.acts = true
	if on != no {
		if s.given == nil {
			s.given = make(map[int]bool)
		}
		s.given[s.at] = true
	}
	s.at = min(s.at+findEnd(s.words[s.at:])+1, len(s.words))
	return maybe
}

func (s *search) primary(name string, value word, on truth) truth {
	switch name {
	case "-name", "-iname":
		return s.matches(path.Base(s.path), value, name == "-iname")
	case "-path", "-ipath", "-wholename", "-iwholename":
		return s.matches(s.path, value, name[1] == 'i')
	case "-regex", "-iregex":
		return s.matchesRegexp(value, name[1] == 'i')
	case "-type":
		return s.isType(value)
	case "-prune":
		s.pruned = s.pruned || on == yes
		return yes
	case "-print", "-print0", "-printf", "-ls", "-delete":
		s.acts, s.shown = true, s.shown || on != no
		return yes
	case "-true", "-maxdepth", "-mindepth", "-depth", "-d", "-mount", "-xdev", "-noleaf", "-daystart", "-regextype",
		"-follow", "-warn", "-nowarn":
		return yes
	case "-false":
		return no
	}
	return maybe
}

func (s *search) isType(value word) truth {
	kind := "f"
	if s.dir {
		kind = "d"
	}
	switch {
	case value.late:
		return maybe
	case strings.Contains(value.text, kind):
		return yes
	}
	return no
}

// matches matches a text with a pattern. A pattern such as *.json does not ask for the names of otherPaths.
func (s *search) matches(text string, pattern word, fold bool) truth {
	p := pattern.text
	if pattern.late {
		return maybe
	}
	if s.other && strings.HasPrefix(p, "*.") {
		return no
	}
	ok, sure := globMatches(p, text, fold)
	if !sure {
		return maybe
	}
	if !ok && strings.Contains(p, "git/") && !strings.HasSuffix(p, "/*") {
		return maybe // it speaks of something else in there
	}
	if !ok {
		return no
	}
	s.asked = true
	return yes
}

func (s *search) matchesRegexp(pattern word, fold bool) truth {
	re := s.regexp(pattern.text, fold)
	if pattern.late || re == nil {
		return maybe
	}
	s.cost.spend(costMatch * len(pattern.text))
	if re.MatchString(s.path) {
		return yes
	}
	return no
}

// regexp returns an anchored expression, nil if it is not understood.
func (s *search) regexp(text string, fold bool) *regexp.Regexp {
	key := text
	if fold {
		key = "i" + text
	}
	re, known := s.compiled[key]
	if known {
		return re
	}
	re = s.cost.regexp(text, !hasAny(s.words, "posix-extended", "egrep", "posix-egrep"), fold)
	if re != nil {
		re = regexp.MustCompile("^(?:" + re.String() + ")$")
	}
	s.compiled[key] = re
	return re
}
