package shell

// split adds text that is cut into fields at the characters of IFS.
func (e *expander) split(s string) {
	if s == "" {
		return
	}
	ifs := e.p.ifs()
	blank := e.blank
	e.blank = false
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && ifs[s[j]] == 0 {
			j++
		}
		if j > i {
			e.unquoted(s[i:j])
			i = j
			continue
		}
		start, hard := i, false
		for i < len(s) && ifs[s[i]] != 0 {
			if ifs[s[i]] == hardSep {
				if hard {
					break
				}
				hard = true
			}
			i++
		}
		if hard && !(start == 0 && blank) { // a blank before it is the same separator
			e.any = true
		}
		e.end()
		e.blank = !hard && i == len(s)
		if len(e.out)&1023 == 0 && !e.room() {
			return
		}
	}
}

// room checks that the list of fields may grow on.
func (e *expander) room() bool {
	n := int64(0)
	if k := len(e.out); k > 0 {
		n = int64(k) * int64(len(e.out[k-1])+48)
	}
	if err := e.p.ses.Limiter.Fits(n); err != nil {
		e.p.bad = err
		return false
	}
	return e.p.tick()
}

const (
	softSep = 1
	hardSep = 2
)

var defaultIFS = [256]uint8{' ': softSep, '\t': softSep, '\n': softSep}

// ifs returns which bytes separate fields.
func (p *proc) ifs() *[256]uint8 {
	s, ok := p.get("IFS")
	if !ok || s == " \t\n" {
		return &defaultIFS
	}
	t := new([256]uint8)
	for i := range len(s) {
		t[s[i]] = hardSep
		if defaultIFS[s[i]] != 0 {
			t[s[i]] = softSep
		}
	}
	return t
}

// joiner returns what stands between the elements of "$*".
func (p *proc) joiner() string {
	s, ok := p.get("IFS")
	if !ok {
		return " "
	}
	if s == "" {
		return ""
	}
	return s[:1]
}
