package shell

import (
	"fmt"
	"strconv"
	"strings"
)

// mapping is what the options of mapfile ask for.
type mapping struct {
	delim       byte
	trim        bool
	fd          int
	limit, skip int
	at          int64 // where the next line goes
	keep        bool  // -O: what is there already stays
	callback    string
	every       int // lines from one call of it to the next
}

// mapfile reads lines into an array.
func (p *proc) mapfile(args []string) error {
	m := mapping{delim: '\n', every: 5000}
	names, err := m.parse(args)
	if err != nil {
		p.errorf("mapfile: %v", err)
		return Status(2)
	}
	name := firstOr(names, "MAPFILE")
	if !isName(name) {
		p.errorf("mapfile: `%s': not a valid identifier", name)
		return Status(1)
	}
	base, _ := p.resolve(name)
	v := p.vars.own(base)
	switch {
	case v.attrs&readonly != 0:
		return fmt.Errorf("%s: readonly variable", base)
	case v.kind == assoc:
		return fmt.Errorf("%s: not an indexed array", base)
	case !m.keep:
		v.clear()
		v.set = false
	}
	v.toList()
	v.set = true
	return p.fillLines(v, &m)
}

func (m *mapping) parse(args []string) ([]string, error) {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		word := args[0][1:]
		args = args[1:]
		if word == "-" {
			break
		}
		for strings.HasPrefix(word, "t") {
			m.trim, word = true, word[1:]
		}
		if word == "" {
			continue
		}
		value := word[1:]
		if value == "" {
			if len(args) == 0 {
				return nil, fmt.Errorf("-%c: option requires an argument", word[0])
			}
			value, args = args[0], args[1:]
		}
		if err := m.option(word[0], value); err != nil {
			return nil, err
		}
	}
	return args, nil
}

func (m *mapping) option(c byte, value string) error {
	n := 0
	if strings.IndexByte("nOsuc", c) >= 0 {
		var err error
		if n, err = strconv.Atoi(value); err != nil || n < 0 {
			return fmt.Errorf("%s: invalid number", value)
		}
	}
	switch c {
	case 'd':
		m.delim = 0
		if value != "" {
			m.delim = value[0]
		}
	case 'n':
		m.limit = n
	case 'O':
		m.at, m.keep = int64(n), true
	case 's':
		m.skip = n
	case 'u':
		m.fd = n
	case 'C':
		m.callback = value
	case 'c':
		m.every = max(n, 1)
	default:
		return fmt.Errorf("-%c: invalid option", c)
	}
	return nil
}

func (p *proc) fillLines(v *variable, m *mapping) error {
	for n := 0; m.limit == 0 || n < m.limit+m.skip; n++ {
		line, ok := p.readLine(m.fd, m.delim, m.trim)
		if !ok {
			break
		}
		if !p.spend(len(line) + 32) {
			return p.bad
		}
		if n < m.skip {
			continue
		}
		if m.callback != "" && (n-m.skip+1)%m.every == 0 {
			p.eval(m.callback + " " + itoa(m.at) + " " + p.quoteAlways(line))
			if p.flow != next {
				return asStatus(p.status)
			}
		}
		if err := p.vars.resize(v, v.size+int64(len(line))+48); err != nil {
			return err
		}
		v.list.put(m.at, line)
		m.at++
	}
	return p.ses.Limiter.Err()
}
