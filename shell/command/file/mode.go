package file

import (
	"errors"
	"strconv"
	"strings"

	"hako/shell/command/internal/cli"
)

// A modeChange is an octal number or symbolic clauses such as u+x,go-w, as in chmod,
// mkdir -m and find -perm.
type modeChange []modeClause

type modeClause struct {
	op      byte   // '+', '-' or '='
	who     uint32 // the bits the clause may touch; zero means all but the umask
	bits    uint32
	copy    byte // 'u', 'g' or 'o': take the bits from there
	ifExec  bool // X: execute only for directories and what is executable already
	numeric bool
	short   bool // octal of at most four digits leaves set-id bits of directories alone
}

// umask are the permissions that a new file does not get.
const umask = 0o022

var errMode = errors.New("invalid mode")

func parseMode(s string) (modeChange, error) {
	if s != "" && cli.IsDigit(s[0]) {
		n, err := strconv.ParseUint(s, 8, 32)
		if err != nil || n > 0o7777 {
			return nil, errMode
		}
		return modeChange{{op: '=', who: 0o7777, bits: uint32(n), numeric: true, short: len(s) <= 4}}, nil
	}
	var m modeChange
	for clause := range strings.SplitSeq(s, ",") {
		list, err := parseClause(clause)
		if err != nil {
			return nil, err
		}
		m = append(m, list...)
	}
	return m, nil
}

var modeWho = map[byte]uint32{'u': 0o4700, 'g': 0o2070, 'o': 0o1007, 'a': 0o7777}

// parseClause reads who, then one or more pairs of operator and permissions.
func parseClause(s string) ([]modeClause, error) {
	i := 0
	var who uint32
	for ; i < len(s) && modeWho[s[i]] != 0; i++ {
		who |= modeWho[s[i]]
	}
	var list []modeClause
	for i < len(s) {
		c := modeClause{op: s[i], who: who}
		if strings.IndexByte("+-=", s[i]) < 0 {
			return nil, errMode
		}
		for i++; i < len(s) && strings.IndexByte("+-=", s[i]) < 0; i++ {
			if !c.permission(s[i]) {
				return nil, errMode
			}
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, errMode
	}
	return list, nil
}

func (c *modeClause) permission(letter byte) bool {
	switch letter {
	case 'r':
		c.bits |= 0o444
	case 'w':
		c.bits |= 0o222
	case 'x':
		c.bits |= 0o111
	case 'X':
		c.ifExec = true
	case 's':
		c.bits |= 0o6000
	case 't':
		c.bits |= 0o1000
	case 'u', 'g', 'o':
		c.copy = letter
	default:
		return false
	}
	return true
}

// apply returns the mode a file with mode old gets.
func (m modeChange) apply(old uint32, dir bool, mask uint32) uint32 {
	for _, c := range m {
		old = c.apply(old, dir, mask)
	}
	return old
}

func (c modeClause) apply(old uint32, dir bool, mask uint32) uint32 {
	if c.numeric {
		if dir && c.short {
			return old&0o6000 | c.bits
		}
		return c.bits
	}
	who := c.who
	if who == 0 {
		who = 0o7777 &^ mask
	}
	bits := c.bits
	if c.copy != 0 {
		shift := map[byte]uint{'u': 6, 'g': 3, 'o': 0}[c.copy]
		bits |= old >> shift & 7 * 0o111
	}
	if c.ifExec && (dir || old&0o111 != 0) {
		bits |= 0o111
	}
	switch c.op {
	case '+':
		return old | bits&who
	case '-':
		return old &^ (bits & who)
	}
	keep := old &^ who
	if dir {
		keep |= old & 0o6000 &^ c.bits
	}
	return keep | bits&who
}
