package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// letterOptions maps the letters of set to option names.
var letterOptions = map[rune]string{
	'e': "errexit", 'u': "nounset", 'x': "xtrace", 'f': "noglob", 'a': "allexport", 'C': "noclobber", 'n': "noexec",
	'v': "verbose", 'E': "errtrace", 'T': "functrace",
}

// harmless are options that exist in bash and change nothing here.
const harmless = " braceexpand emacs hashall histexpand history ignoreeof interactive-comments keyword monitor nolog notify onecmd physical posix privileged vi " +
	"autocd cdspell checkhash checkjobs checkwinsize cmdhist compat31 complete_fullquote direxpand dirspell execfail expand_aliases extdebug extquote force_fignore globasciiranges globskipdots " +
	"gnu_errfmt histappend histreedit histverify hostcomplete huponexit interactive_comments lithist localvar_inherit localvar_unset login_shell mailwarn no_empty_cmd_completion progcomp promptvars " +
	"restricted_shell shift_verbose sourcepath xpg_echo patsub_replacement varredir_close assoc_expand_once "

// option returns the switch behind a name; nil with true is a harmless option.
func (p *proc) option(name string) (*bool, bool) {
	o := &p.opts
	m := map[string]*bool{
		"errexit": &o.errexit, "nounset": &o.nounset, "pipefail": &o.pipefail, "noglob": &o.noglob, "xtrace": &o.xtrace,
		"allexport": &o.allexport, "noclobber": &o.noclobber, "noexec": &o.noexec, "verbose": &o.verbose,
		"errtrace": &o.errtrace, "functrace": &o.functrace,
		"nullglob": &o.nullglob, "failglob": &o.failglob, "extglob": &o.extglob, "globstar": &o.globstar,
		"dotglob":    &o.dotglob,
		"nocaseglob": &o.nocaseglob, "nocasematch": &o.nocasematch, "lastpipe": &o.lastpipe,
		"inherit_errexit": &o.inheritErrexit,
	}
	if b, ok := m[name]; ok {
		return b, true
	}
	return nil, strings.Contains(harmless, " "+name+" ")
}

// setNames are the options that set -o lists.
var setNames = strings.Fields(
	"allexport braceexpand emacs errexit errtrace functrace hashall histexpand history ignoreeof interactive-comments keyword monitor " +
		"noclobber noexec noglob nolog notify nounset onecmd physical pipefail posix privileged verbose vi xtrace")

// alwaysOn are the options without a switch here that bash has on.
const alwaysOn = " braceexpand hashall interactive-comments "

// shoptNames are the options that shopt lists.
var shoptNames = []string{"dotglob", "extglob", "failglob", "globstar", "inherit_errexit", "lastpipe", "nocaseglob",
	"nocasematch", "nullglob"}

// flags returns the value of $-.
func (p *proc) flags() string {
	var b strings.Builder
	for _, c := range "aefhnuvxBCET" {
		if on, _ := p.option(letterOptions[c]); c == 'h' || c == 'B' || on != nil && *on {
			b.WriteRune(c)
		}
	}
	return b.String()
}

func (p *proc) set(args []string) error {
	if len(args) == 0 {
		for _, name := range p.vars.names() {
			v := p.vars.get(name)
			switch {
			case v.kind == scalar && v.set:
				p.print(name + "=" + p.shellQuote(v.str))
			case v.kind != scalar && v.set:
				p.print(name + "=" + p.literalOf(v))
			}
		}
		return nil
	}
	for len(args) > 0 {
		word := args[0]
		if word == "-" {
			p.opts.xtrace, p.opts.verbose = false, false
		}
		if word == "--" || word == "-" && len(args) > 1 {
			return p.setParams(args[1:])
		}
		if word == "" || word[0] != '-' && word[0] != '+' {
			return p.setParams(args)
		}
		args = args[1:]
		var err error
		if args, err = p.setWord(word, args); err != nil {
			p.errorf("set: %v", err)
			return Status(2)
		}
	}
	return nil
}

// setParams gives new positional parameters, which stay when the command is over.
func (p *proc) setParams(args []string) error {
	size := wordBytes(args)
	if err := p.vars.charge(size - p.paramSize); err != nil {
		return err
	}
	p.params, p.newParams, p.paramSize = args, true, size
	return nil
}

// setWord applies one word of letters, which may take an option name.
func (p *proc) setWord(word string, args []string) ([]string, error) {
	on := word[0] == '-'
	for _, c := range word[1:] {
		if c == 'o' {
			if len(args) == 0 {
				p.listOptions(on)
				return args, nil
			}
			if err := p.setOption(args[0], on); err != nil {
				return nil, err
			}
			args = args[1:]
			continue
		}
		name, ok := letterOptions[c]
		if !ok {
			if strings.ContainsRune("bhkmptBHP", c) {
				continue
			}
			return nil, fmt.Errorf("-%c: invalid option", c)
		}
		_ = p.setOption(name, on)
	}
	return args, nil
}

func (p *proc) setOption(name string, on bool) error {
	b, known := p.option(name)
	if !known {
		return fmt.Errorf("%s: invalid option name", name)
	}
	if b != nil {
		*b = on
	}
	return nil
}

func (p *proc) isOn(name string) bool {
	if b, _ := p.option(name); b != nil {
		return *b
	}
	return strings.Contains(alwaysOn, " "+name+" ")
}

func (p *proc) listOptions(table bool) {
	for _, name := range setNames {
		on := p.isOn(name)
		if table {
			p.print(fmt.Sprintf("%-15s\t%s", name, onOff(on)))
			continue
		}
		sign := "+"
		if on {
			sign = "-"
		}
		p.print("set " + sign + "o " + name)
	}
}

// optionList returns the options that are on, as $SHELLOPTS has them.
func (p *proc) optionList(names []string, always ...string) string {
	for _, name := range names {
		if p.isOn(name) && name != "extglob" {
			always = append(always, name)
		}
	}
	slices.Sort(always)
	return strings.Join(always, ":")
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func (p *proc) shopt(args []string) error {
	mode := ""
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		mode += args[0][1:]
		args = args[1:]
	}
	status := 0
	if len(args) == 0 {
		args = shoptNames
		if strings.Contains(mode, "o") {
			args = setNames
		}
		mode = strings.NewReplacer("s", "", "u", "").Replace(mode)
	}
	for _, name := range args {
		b, known := p.option(name)
		switch {
		case !known:
			p.errorf("shopt: %s: invalid shell option name", name)
			status = 1
		case strings.ContainsAny(mode, "su"):
			if b != nil {
				*b = strings.Contains(mode, "s")
			}
		default:
			on := p.isOn(name)
			if !on {
				status = 1
			}
			p.showOption(name, on, mode)
		}
	}
	return asStatus(status)
}

func (p *proc) showOption(name string, on bool, mode string) {
	switch {
	case strings.Contains(mode, "q"):
	case strings.Contains(mode, "p"):
		flag := "-u"
		if on {
			flag = "-s"
		}
		p.print("shopt " + flag + " " + name)
	default:
		p.print(fmt.Sprintf("%-15s\t%s", name, onOff(on)))
	}
}

// cd changes the directory.
func (p *proc) cd(args []string) error {
	args = slices.DeleteFunc(slices.Clone(args), func(s string) bool {
		return s == "-L" || s == "-P" || s == "--" ||
			s == "-e"
	})
	dir, show := "", false
	switch {
	case len(args) > 1:
		return fmt.Errorf("too many arguments")
	case len(args) == 0:
		var ok bool
		if dir, ok = p.get("HOME"); !ok {
			return fmt.Errorf("HOME not set")
		}
	case args[0] == "-":
		var ok bool
		if dir, ok = p.get("OLDPWD"); !ok {
			return fmt.Errorf("OLDPWD not set")
		}
		show = true
	default:
		dir = args[0]
	}
	if found := p.fromCDPath(dir); found != "" {
		dir, show = found, true
	}
	if err := p.chdir(dir); err != nil {
		return err
	}
	if show {
		p.print(p.dir)
	}
	return nil
}

// fromCDPath looks for a directory in those of CDPATH.
func (p *proc) fromCDPath(dir string) string {
	list, _ := p.get("CDPATH")
	first, _, _ := strings.Cut(dir, "/")
	if list == "" || dir == "" || first == "" || first == "." || first == ".." {
		return ""
	}
	for _, base := range strings.Split(list, ":") {
		if base == "" || base == "." {
			continue
		}
		full := path.Join(p.path(base), dir)
		if info, err := p.ses.FS.Stat(full); err == nil && info.IsDir() {
			return full
		}
	}
	return ""
}

func (p *proc) chdir(dir string) error {
	if dir == "" {
		return nil
	}
	full := p.path(dir)
	info, err := p.ses.FS.Stat(full)
	if err != nil {
		return fmt.Errorf("%s: %s", dir, reason(err))
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: Not a directory", dir)
	}
	p.assign("OLDPWD", p.dir)
	p.dir = full
	p.assign("PWD", full)
	return nil
}

func (p *proc) pwd(args []string) error {
	dir := p.dir
	if slices.Contains(args, "-P") {
		if real, err := p.ses.FS.Realpath(dir); err == nil {
			dir = real
		}
	}
	return p.write(1, []byte(dir+"\n"))
}

func (p *proc) pushd(args []string) error {
	if len(args) == 0 {
		if len(p.stack) == 0 {
			return fmt.Errorf("no other directory")
		}
		args = []string{p.stack[0]}
		p.stack = p.stack[1:]
	}
	old := p.dir
	if err := p.chdir(args[0]); err != nil {
		return err
	}
	p.stack = append([]string{old}, p.stack...)
	return p.dirs(nil)
}

func (p *proc) popd([]string) error {
	if len(p.stack) == 0 {
		return fmt.Errorf("directory stack empty")
	}
	if err := p.chdir(p.stack[0]); err != nil {
		return err
	}
	p.stack = p.stack[1:]
	return p.dirs(nil)
}

func (p *proc) dirs(args []string) error {
	if slices.Contains(args, "-c") {
		p.stack = nil
		return nil
	}
	home, _ := p.get("HOME")
	list := append([]string{p.dir}, p.stack...)
	for i, d := range list {
		if d == home {
			list[i] = "~"
		} else if rest, ok := strings.CutPrefix(d, home+"/"); ok && home != "" {
			list[i] = "~/" + rest
		}
	}
	sep := " "
	if slices.Contains(args, "-p") {
		sep = "\n"
	}
	return p.write(1, []byte(strings.Join(list, sep)+"\n"))
}
