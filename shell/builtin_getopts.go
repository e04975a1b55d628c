package shell

import (
	"strconv"
	"strings"
)

// getopts reads the next option of the words.
func (p *proc) getopts(args []string) error {
	if len(args) < 2 {
		return ErrUsage
	}
	spec, name, words := args[0], args[1], args[2:]
	if len(args) == 2 {
		words = p.params
	}
	ind, _ := p.get("OPTIND")
	i, _ := strconv.Atoi(ind)
	if i < 1 {
		i = 1
	}
	if i != p.getoptAt {
		p.getoptAt, p.getopt = i, 0
	}
	return p.nextOption(spec, name, words, i)
}

func (p *proc) nextOption(spec, name string, words []string, i int) error {
	quiet := strings.HasPrefix(spec, ":")
	end := func(i int) error {
		p.assign("OPTIND", strconv.Itoa(i))
		p.assign(name, "?")
		p.getopt, p.getoptAt = 0, i
		return Status(1)
	}
	if i > len(words) || len(words[i-1]) < 2 || words[i-1][0] != '-' {
		return end(i)
	}
	word := words[i-1]
	if word == "--" {
		return end(i + 1)
	}
	at := p.getopt + 1
	c := word[at : at+1]
	rest := word[at+1:]
	p.getopt++
	if rest == "" {
		i, p.getopt = i+1, 0
	}
	pos := strings.Index(strings.TrimPrefix(spec, ":"), c)
	takes := pos >= 0 && strings.HasPrefix(strings.TrimPrefix(spec, ":")[pos+1:], ":")
	switch {
	case pos < 0 || c == ":":
		p.optionError(quiet, name, "?", c, "illegal option -- "+c)
	case !takes:
		p.assign(name, c)
		p.vars.unset("OPTARG")
	case rest != "":
		p.assign(name, c)
		p.assign("OPTARG", rest)
		i, p.getopt = i+1, 0
	case i > len(words):
		p.optionError(quiet, name, ":", c, "option requires an argument -- "+c)
	default:
		p.assign(name, c)
		p.assign("OPTARG", words[i-1])
		i++
	}
	p.getoptAt = i
	p.assign("OPTIND", strconv.Itoa(i))
	return nil
}

func (p *proc) optionError(quiet bool, name, mark, c, msg string) {
	if quiet {
		p.assign(name, mark)
		p.assign("OPTARG", c)
		return
	}
	p.errorf("getopts: %s", msg)
	p.assign(name, "?")
	p.vars.unset("OPTARG")
}
