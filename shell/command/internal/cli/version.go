package cli

import "bytes"

// CompareVersions orders names with numbers in them the way people expect:
// a2 before a10, 1.0~rc1 before 1.0. A file's extension decides only between
// names that are otherwise equal.
func CompareVersions(a, b []byte) int {
	if n, decided := compareDots(a, b); decided {
		return n
	}
	pa, pb := a[:extensionStart(a)], b[:extensionStart(b)]
	if n := compareRuns(pa, pb); n != 0 || len(pa) == len(a) && len(pb) == len(b) {
		return n
	}
	return compareRuns(a, b)
}

// compareDots puts the empty name, ".", ".." and other names with a leading
// dot before the rest, in this order.
func compareDots(a, b []byte) (int, bool) {
	ra, rb := dotRank(a), dotRank(b)
	if ra != rb {
		return ra - rb, true
	}
	return 0, ra < 3
}

func dotRank(name []byte) int {
	switch {
	case len(name) == 0:
		return 0
	case name[0] != '.':
		return 4
	case len(name) == 1:
		return 1
	case bytes.Equal(name, []byte("..")):
		return 2
	}
	return 3
}

// extensionStart is where the trailing ".abc.de" of a name begins.
func extensionStart(name []byte) int {
	start := len(name)
	for i := len(name) - 1; i > 0; i-- {
		c := name[i]
		switch {
		case c == '.' && i+1 < len(name) && (IsAlnum(name[i+1]) && !IsDigit(name[i+1]) || name[i+1] == '~'):
			start = i
		case c == '.' || !IsAlnum(c) && c != '~':
			return start
		}
	}
	return start
}

// compareRuns compares stretches without digits by character and stretches of
// digits by value, in turn.
func compareRuns(a, b []byte) int {
	for len(a) > 0 || len(b) > 0 {
		for len(a) > 0 && !IsDigit(a[0]) || len(b) > 0 && !IsDigit(b[0]) {
			if n := versionRank(a) - versionRank(b); n != 0 {
				return n
			}
			a, b = tailOf(a), tailOf(b)
		}
		na, nb := CountDigits(a), CountDigits(b)
		x, y := bytes.TrimLeft(a[:na], "0"), bytes.TrimLeft(b[:nb], "0")
		if len(x) != len(y) {
			return len(x) - len(y)
		}
		if n := bytes.Compare(x, y); n != 0 {
			return n
		}
		a, b = a[na:], b[nb:]
	}
	return 0
}

func tailOf(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	return b[1:]
}

// versionRank orders: tilde, end of text, digits, letters, anything else.
func versionRank(b []byte) int {
	switch {
	case len(b) == 0:
		return -1
	case b[0] == '~':
		return -2
	case IsDigit(b[0]):
		return 0
	case IsAlnum(b[0]):
		return int(b[0])
	}
	return int(b[0]) + 256
}
