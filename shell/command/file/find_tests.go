package file

import (
	"io/fs"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hako/shell/command/internal/cli"
	"hako/shell/command/internal/datetime"
	"hako/shell/vfs"
)

// findTests makes the tests and options that take one value.
var findTests = map[string]func(f *finder, name, value string) findExpr{
	"-name": globTest, "-iname": globTest, "-path": globTest, "-ipath": globTest, "-wholename": globTest,
	"-iwholename": globTest,
	"-lname":      globTest, "-ilname": globTest, "-regex": regexTest, "-iregex": regexTest, "-regextype": regexTypeOption,
	"-type": typeTest, "-xtype": typeTest, "-size": sizeTest, "-perm": permTest, "-newer": newerTest, "-anewer": newerTest,
	"-cnewer": newerTest, "-newermt": newerTextTest, "-newerct": newerTextTest, "-newerat": newerTextTest,
	"-newermm": newerTest,
	"-mtime":   ageTest, "-ctime": ageTest, "-atime": ageTest, "-mmin": ageTest, "-cmin": ageTest, "-amin": ageTest,
	"-links": numberTest, "-inum": numberTest, "-uid": numberTest, "-gid": numberTest, "-user": ownerTest,
	"-group":    ownerTest,
	"-samefile": sameTest, "-maxdepth": depthOption, "-mindepth": depthOption, "-printf": printfAction,
}

// plain makes the tests, actions and options without a value.
func (f *finder) plain(name string) (findExpr, bool) {
	switch name {
	case "-true", "-noleaf", "-mount", "-xdev", "-warn", "-nowarn", "-ignore_readdir_race", "-noignore_readdir_race":
	case "-daystart":
		f.now = f.dayStart.AddDate(0, 0, 1)
	case "-depth", "-d":
		f.depthFirst = true
	case "-follow":
		f.follow, f.followOperands = true, true
	case "-false", "-nouser", "-nogroup":
		return func(*findFile) bool { return false }, true
	case "-empty":
		return f.empty, true
	case "-readable", "-writable", "-executable":
		bits := map[string]fs.FileMode{"-readable": 0o444, "-writable": 0o222, "-executable": 0o111}[name]
		return func(file *findFile) bool { return file.fi.Mode()&bits != 0 }, true
	case "-prune":
		return func(file *findFile) bool { file.prune = true; return true }, true
	default:
		return f.action(name)
	}
	return always, true
}

func always(*findFile) bool { return true }

func (f *finder) empty(file *findFile) bool {
	if !file.fi.IsDir() {
		return file.fi.Mode().IsRegular() && file.fi.Size() == 0
	}
	list, err := f.c.FS.ReadDir(file.abs)
	if err != nil {
		f.warn(file.path, err)
	}
	return err == nil && len(list) == 0
}

func globTest(f *finder, name, pattern string) findExpr {
	bare := strings.TrimPrefix(name, "-")
	fold := strings.HasPrefix(bare, "i")
	return func(file *findFile) bool {
		text := file.path
		switch strings.TrimPrefix(bare, "i") {
		case "name":
			text = file.name()
		case "lname":
			if !isLink(file.fi) {
				return false
			}
			text = readlink(f.c, file.abs)
		}
		return cli.Fnmatch(pattern, text, fold)
	}
}

var findRegexTypes = []string{"findutils-default", "ed", "emacs", "gnu-awk", "grep", "posix-awk", "awk", "posix-basic",
	"posix-egrep", "egrep", "posix-extended", "posix-minimal-basic", "sed"}

func regexTypeOption(f *finder, _, value string) findExpr {
	if !slices.Contains(findRegexTypes, value) {
		fail("Unknown regular expression type %s; valid types are ‘%s’.", cli.QuoteCurly(value),
			strings.Join(findRegexTypes, "’, ‘"))
	}
	f.regexType = value
	return always
}

func regexTest(f *finder, name, pattern string) findExpr {
	flags := "(?s)"
	if name == "-iregex" {
		flags = "(?si)"
	}
	re, err := regexp.Compile(flags + `\A(?:` + cli.TranslateRegexp(pattern, f.regexType) + `)\z`)
	if err != nil {
		fail("failed to compile regular expression '%s': Invalid regular expression", pattern)
	}
	return func(file *findFile) bool { return re.MatchString(file.path) }
}

func typeTest(f *finder, name, value string) findExpr {
	for kind := range strings.SplitSeq(value, ",") {
		if len(kind) != 1 || !strings.Contains("fdlcbpsD", kind) {
			fail("Unknown argument to %s: %s", name, value)
		}
	}
	return func(file *findFile) bool {
		fi := file.fi
		if name == "-xtype" {
			if to, err := f.look(file.abs, !f.follow); err == nil {
				fi = to
			}
		}
		return strings.IndexByte(value, findType(fi.Mode())) >= 0
	}
}

// findType is the letter of a file's type as find spells it.
func findType(m fs.FileMode) byte {
	if letter := cli.TypeLetter(m); letter != '-' {
		return letter
	}
	return 'f'
}

func sizeTest(_ *finder, _, value string) findExpr {
	unit, text := int64(512), value
	if n := len(value); n > 0 && !cli.IsDigit(value[n-1]) {
		units := map[byte]int64{'c': 1, 'w': 2, 'b': 512, 'k': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}
		if unit = units[value[n-1]]; unit == 0 {
			fail("invalid -size type `%c'", value[n-1])
		}
		text = value[:n-1]
	}
	want := parseCountTest(text, "Invalid argument `%s' to -size", value)
	return func(file *findFile) bool {
		return want.holds((sizeOf(file.fi) + unit - 1) / unit)
	}
}

func permTest(_ *finder, _, value string) findExpr {
	kind, text := byte(0), value
	if value != "" && (value[0] == '-' || value[0] == '/') {
		kind, text = value[0], value[1:]
	}
	change, err := parseMode(text)
	if err != nil {
		fail("invalid mode %s", cli.QuoteCurly(value))
	}
	want := change.apply(0, false, 0)
	return func(file *findFile) bool {
		has := cli.UnixMode(file.fi.Mode())
		switch kind {
		case '-':
			return has&want == want
		case '/':
			return want == 0 || has&want != 0
		}
		return has == want
	}
}

func newerTest(f *finder, _, value string) findExpr {
	fi, err := f.c.FS.Stat(f.c.Path(value))
	if err != nil {
		fail("%s: %s", cli.QuoteCurly(value), vfs.Reason(err))
	}
	return newerThan(fi.ModTime())
}

func newerTextTest(f *finder, name, value string) findExpr {
	t, ok := datetime.Parse(value, f.c.Now().In(datetime.ZoneOrUTC(f.c)))
	if !ok {
		fail("I cannot figure out how to interpret %s as a date or time", cli.QuoteCurly(value))
	}
	return newerThan(t)
}

func newerThan(t time.Time) findExpr {
	return func(file *findFile) bool { return file.fi.ModTime().After(t) }
}

// ageTest compares ages in whole days or minutes; for minutes GNU rounds up.
func ageTest(f *finder, name, value string) findExpr {
	want := parseCountTest(value, "invalid argument `%s' to `%s'", value, name)
	now, minutes := f.now, strings.HasSuffix(name, "min")
	return func(file *findFile) bool {
		age := now.Sub(file.fi.ModTime())
		if minutes {
			return want.holds(int64(math.Ceil(age.Minutes())))
		}
		return want.holds(int64(math.Floor(age.Hours() / 24)))
	}
}

func numberTest(_ *finder, name, value string) findExpr {
	want := parseCountTest(value, "invalid argument `%s' to `%s'", value, name)
	return func(file *findFile) bool {
		switch name {
		case "-links":
			return want.holds(int64(linksOf(file.fi)))
		case "-inum":
			return want.holds(int64(inodeOf(file.fi)))
		}
		return want.holds(cli.UserID)
	}
}

func ownerTest(_ *finder, name, value string) findExpr {
	if _, err := strconv.ParseUint(value, 10, 32); err != nil && value != cli.UserName {
		fail("%s is not the name of a known %s", cli.QuoteCurly(value), strings.TrimPrefix(name, "-"))
	}
	mine := value == cli.UserName || value == strconv.Itoa(cli.UserID)
	return func(*findFile) bool { return mine }
}

func sameTest(f *finder, _, value string) findExpr {
	fi, err := f.look(f.c.Path(value), f.follow)
	if err != nil {
		fail("%s: %s", cli.QuoteCurly(value), vfs.Reason(err))
	}
	return func(file *findFile) bool { return cli.SameFile(fi, file.fi) }
}

func depthOption(f *finder, name, value string) findExpr {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		fail("Expected a positive decimal integer argument to %s, but got %s", name, cli.QuoteCurly(value))
	}
	if name == "-maxdepth" {
		f.maxDepth = int(n)
	} else {
		f.minDepth = int(n)
	}
	return always
}
