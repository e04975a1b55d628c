package tool

import "strings"

// sedReads refuses a sed script that could write a file, read another, or run a program, and one that it does not
// understand. In addition the command is run with --sandbox, so that sed's own parser decides last.
func sedReads(script string) error {
	r := &sedText{rest: script}
	for {
		r.rest = strings.TrimLeft(r.rest, " \t\n\r;{}")
		if r.rest == "" {
			return nil
		}
		if err := r.command(); err != nil {
			return err
		}
		if r.lost {
			return &refused{sedRule, "the sed script is not understood here",
				"write it more simply: addresses, then p, d, q, = or s/…/…/"}
		}
	}
}

// A sedText is the rest of a script.
type sedText struct {
	rest string
	lost bool // the script is not understood
}

func (r *sedText) command() error {
	r.addresses()
	if r.lost || r.rest == "" {
		r.lost = true
		return nil
	}
	name := r.rest[0]
	r.rest = r.rest[1:]
	switch name {
	case '{', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
	case '#':
		r.line()
	case 'a', 'i', 'c':
		// Implementations disagree on how a backslash continues the text.
		r.lost = strings.Contains(r.line(), `\`)
	case ':', 'b', 't', 'T':
		r.label()
	case 'l', 'q', 'Q':
		r.rest = strings.TrimLeft(r.rest, " \t0123456789")
	case 'y':
		r.delimited(2, false)
	case 's':
		r.delimited(2, true)
		return r.flags()
	case 'w', 'W', 'r', 'R', 'e':
		return sedRefused(string(name))
	default:
		r.lost = true
	}
	return nil
}

func sedRefused(command string) error {
	what := map[string]string{"w": "writes a file", "W": "writes a file", "r": "reads a file", "R": "reads a file",
		"e": "runs a program"}[command]
	return &refused{sedRule, "the sed command " + command + " cannot be used here: it " + what,
		"use sed to select and change lines: p, d, q, =, s/…/…/, y/…/…/"}
}

// addresses skips the addresses of a command.
func (r *sedText) addresses() {
	for range 8 {
		r.rest = strings.TrimLeft(r.rest, " \t0123456789$,!~+")
		switch {
		case strings.HasPrefix(r.rest, "/"):
		case strings.HasPrefix(r.rest, `\`):
			r.rest = r.rest[1:]
		default:
			return
		}
		r.delimited(1, true)
		r.rest = strings.TrimLeft(r.rest, "IM")
	}
	r.lost = true
}

// delimited skips a delimiter and n parts that end with it. The first part may be a pattern; a delimiter in its
// brackets is refused, because implementations of sed disagree on it.
func (r *sedText) delimited(n int, pattern bool) {
	if r.lost || r.rest == "" || strings.IndexByte("\n\\", r.rest[0]) >= 0 || r.rest[0] >= 0x80 {
		r.lost = true
		return
	}
	delim := r.rest[0]
	i := 1
	for ; n > 0 && i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '\\':
			i++
		case c == delim:
			n, pattern = n-1, false
		case c == '[' && pattern:
			i += r.bracket(r.rest[i:], delim) - 1
		}
	}
	if r.lost = r.lost || n > 0; !r.lost {
		r.rest = r.rest[i:]
	}
}

// bracket returns the length of the bracket expression s begins with, 1 if it has no end.
func (r *sedText) bracket(s string, delim byte) int {
	i := 1
	for _, c := range []byte("^]") { // at the start they are characters
		if i < len(s) && s[i] == c {
			i++
		}
	}
	for ; i < len(s) && s[i] != '\n'; i++ {
		if s[i] == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0 {
			if n := strings.Index(s[i+2:], s[i+1:i+2]+"]"); n >= 0 {
				i += n + 3
				continue
			}
		}
		if s[i] == ']' {
			r.lost = r.lost || strings.IndexByte(s[:i], delim) >= 0
			return i + 1
		}
	}
	return 1
}

// flags skips the flags of s/…/…/.
func (r *sedText) flags() error {
	for ; !r.lost && r.rest != ""; r.rest = r.rest[1:] {
		switch c := r.rest[0]; {
		case c == 'w' || c == 'e':
			return sedRefused(string(c))
		case strings.IndexByte(" \t\n\r;}#", c) >= 0:
			return nil
		case strings.IndexByte("gpiImM0123456789", c) < 0:
			r.lost = true
			return nil
		}
	}
	return nil
}

func (r *sedText) line() string {
	line, rest, _ := strings.Cut(r.rest, "\n")
	r.rest = rest
	return line
}

func (r *sedText) label() {
	r.rest = strings.TrimLeft(r.rest, " \t")
	i := strings.IndexAny(r.rest, ";\n \t}")
	if i < 0 {
		i = len(r.rest)
	}
	r.rest = r.rest[i:]
}
