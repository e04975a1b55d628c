package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/command/internal/datetime"
)

var Tree = shell.Command{Name: "tree", Run: runTree}

type treeDrawer struct {
	c   *shell.Call
	ctx context.Context

	all, dirsOnly, full, plain, mark, quote, json bool
	mode, size, human, date, user, group          bool
	reverse, byTime, dirsFirst, prune, noReport   bool
	follow, ascii, fold, matchDirs                bool
	depth                                         int
	only, skip                                    []string
	dirs, files                                   int
	failed                                        bool
}

func runTree(ctx context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	t := &treeDrawer{c: c, ctx: ctx}
	operands, err := t.parse()
	if err != nil {
		return err
	}
	if len(operands) == 0 {
		operands = []string{"."}
	}
	return t.run(operands)
}

func (t *treeDrawer) parse() ([]string, error) {
	return cli.Parse(t.c, cli.Flags{
		"a": &t.all, "d": &t.dirsOnly, "f": &t.full, "i": &t.plain, "F": &t.mark, "l": &t.follow, "r": &t.reverse,
		"t": &t.byTime, "s": &t.size, "h": []*bool{&t.size, &t.human}, "p": &t.mode, "D": &t.date, "u": &t.user,
		"g": &t.group, "Q": &t.quote, "J": &t.json, "dirsfirst": &t.dirsFirst, "prune": &t.prune,
		"noreport": &t.noReport, "ignore-case": &t.fold, "matchdirs": &t.matchDirs,
		"L": func(v string) error {
			n, err := strconv.ParseUint(v, 10, 31)
			if err != nil || n == 0 {
				return errors.New("Invalid level, must be greater than 0.")
			}
			t.depth = int(n)
			return nil
		},
		"P":                            func(v string) { t.only = append(t.only, strings.Split(v, "|")...) },
		"I":                            func(v string) { t.skip = append(t.skip, strings.Split(v, "|")...) },
		"charset":                      func(v string) { t.ascii = !strings.HasPrefix(strings.ToLower(v), "utf") },
		"sort":                         func(v string) { t.byTime = v == "mtime" || v == "ctime" },
		"filesfirst du gitignore o si": cli.Unavailable,
	})
}

// A treeNode is one file with its children.
type treeNode struct {
	name, path string
	fi         fs.FileInfo
	target     string
	toDir      bool // a link to a directory
	loop       bool
	bad        bool
	children   []*treeNode
}

func (t *treeDrawer) run(operands []string) error {
	var roots []*treeNode
	for _, name := range operands {
		root := &treeNode{name: name, path: name}
		fi, err := t.c.FS.Stat(t.c.Path(name))
		if err != nil || !fi.IsDir() {
			root.bad, t.failed = true, t.failed || err != nil
			t.files += map[bool]int{true: 1}[err == nil]
		} else {
			root.fi = fi
			t.fill(root, 1, nil)
			if len(root.children) > 0 {
				t.dirs++
			}
		}
		roots = append(roots, root)
	}
	if t.json {
		t.printJSON(roots)
	} else {
		for _, root := range roots {
			t.printRoot(root)
		}
		t.report()
	}
	if t.failed {
		return shell.Status(2)
	}
	return t.c.Stdout.Err()
}

// fill reads what is below a directory and counts it.
func (t *treeDrawer) fill(n *treeNode, depth int, parents []fs.FileInfo) {
	cli.CheckStopped(t.ctx, t.c)
	if t.depth > 0 && depth > t.depth {
		return
	}
	list, err := t.c.FS.ReadDir(t.c.Path(n.path))
	if err != nil {
		n.bad, t.failed = true, true
		return
	}
	parents = append(slices.Clip(parents), n.fi)
	for _, e := range list {
		child, ok := t.child(n, e)
		if !ok {
			continue
		}
		child.loop = child.toDir && t.follow && cli.IndexFile(parents, child.fi) >= 0
		isDir := child.fi.IsDir() || child.toDir
		if child.fi.IsDir() && !child.loop && (!child.toDir || t.follow) {
			t.fill(child, depth+1, parents)
		}
		if t.prune && isDir && len(child.children) == 0 {
			continue
		}
		n.children = append(n.children, child)
		if isDir {
			t.dirs++
		} else {
			t.files++
		}
	}
	t.order(n.children)
}

// child is the node for an entry, unless the options exclude it.
func (t *treeDrawer) child(n *treeNode, e fs.DirEntry) (*treeNode, bool) {
	name := e.Name()
	fi, err := e.Info()
	if err != nil || name[0] == '.' && !t.all || t.matches(t.skip, name) {
		return nil, false
	}
	child := &treeNode{name: name, path: cli.Join(n.path, name), fi: fi}
	if isLink(fi) {
		child.target = readlink(t.c, t.c.Path(child.path))
		to, err := t.c.FS.Stat(t.c.Path(child.path))
		child.toDir = err == nil && to.IsDir()
		if child.toDir && t.follow {
			child.fi = to
		}
	}
	dir := fi.IsDir() || child.toDir
	if dir && (len(t.only) == 0 || fi.IsDir() && !t.matchDirs) {
		return child, true
	}
	return child, !(t.dirsOnly && !dir) && (len(t.only) == 0 || t.matches(t.only, name))
}

func (t *treeDrawer) matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns,
		func(p string) bool { return cli.Fnmatch(strings.TrimSuffix(p, "/"), name, t.fold) })
}

func (t *treeDrawer) order(list []*treeNode) {
	slices.SortStableFunc(list, func(a, b *treeNode) int {
		aDir, bDir := a.fi.IsDir() || a.toDir, b.fi.IsDir() || b.toDir
		if t.dirsFirst && aDir != bDir {
			return map[bool]int{true: -1, false: 1}[aDir]
		}
		n := strings.Compare(a.name, b.name)
		if d := a.fi.ModTime().Compare(b.fi.ModTime()); t.byTime && d != 0 {
			n = d
		}
		if t.reverse {
			return -n
		}
		return n
	})
}

func (t *treeDrawer) printRoot(root *treeNode) {
	if root.bad {
		fmt.Fprintf(t.c.Stdout, "%s  [error opening dir]\n", root.name)
		return
	}
	t.c.Stdout.WriteString(t.label(root, root.name) + "\n")
	t.print(root, "")
}

func (t *treeDrawer) print(n *treeNode, indent string) {
	tee, corner, bar := "├── ", "└── ", "│\u00a0\u00a0 "
	if t.ascii {
		tee, corner, bar = "|-- ", "`-- ", "|   "
	}
	for i, child := range n.children {
		branch, below := tee, bar
		if i == len(n.children)-1 {
			branch, below = corner, "    "
		}
		if t.plain {
			branch, below = "", ""
		}
		name := child.name
		if t.full {
			name = child.path
		}
		t.c.Stdout.WriteString(indent + branch + t.label(child, name) + "\n")
		if t.c.Stdout.Err() != nil {
			return
		}
		t.print(child, indent+below)
	}
}

// label is a name with the columns and marks that the options add.
func (t *treeDrawer) label(n *treeNode, name string) string {
	var cols []string
	if t.mode {
		cols = append(cols, cli.ModeText(n.fi.Mode()))
	}
	if t.user {
		cols = append(cols, fmt.Sprintf("%-8s", cli.UserName))
	}
	if t.group {
		cols = append(cols, fmt.Sprintf("%-8s", cli.UserName))
	}
	switch {
	case t.human:
		cols = append(cols, fmt.Sprintf("%4s", humanSize(sizeOf(n.fi), 1024)))
	case t.size:
		cols = append(cols, fmt.Sprintf("%11d", sizeOf(n.fi)))
	}
	if t.date {
		l := ls{}
		cols = append(cols, l.lsTime(n.fi.ModTime().In(datetime.ZoneOrUTC(t.c)), t.c.Now()))
	}
	text := ""
	if cols != nil {
		text = "[" + strings.Join(cols, " ") + "]  "
	}
	return text + t.quoteName(name) + t.suffix(n)
}

func (t *treeDrawer) quoteName(name string) string {
	if t.quote {
		return `"` + name + `"`
	}
	return name
}

func (t *treeDrawer) suffix(n *treeNode) string {
	marks := ls{}
	if t.mark {
		marks.mark = 'F'
	}
	if n.target == "" {
		return marks.marker(n.fi.Mode())
	}
	text := " -> " + t.quoteName(n.target)
	if to, err := t.c.FS.Stat(t.c.Path(n.path)); err == nil {
		text += marks.marker(to.Mode())
	}
	if n.loop {
		text += "  [recursive, not followed]"
	}
	return text
}

func (t *treeDrawer) report() {
	if t.noReport {
		return
	}
	word := "directories"
	if t.dirs == 1 {
		word = "directory"
	}
	text := fmt.Sprintf("\n%d %s", t.dirs, word)
	if !t.dirsOnly {
		text += fmt.Sprintf(", %d file%s", t.files, cli.Plural(t.files))
	}
	t.c.Stdout.WriteString(text + "\n")
}

func (t *treeDrawer) printJSON(roots []*treeNode) {
	out := t.c.Stdout
	out.WriteString("[\n")
	for i, root := range roots {
		if i > 0 {
			out.WriteString(",\n")
		}
		t.nodeJSON(root, "  ")
		out.WriteString("\n")
	}
	if !t.noReport {
		fmt.Fprintf(out, ",\n  {\"type\":\"report\",\"directories\":%d", t.dirs)
		if !t.dirsOnly {
			fmt.Fprintf(out, ",\"files\":%d", t.files)
		}
		out.WriteString("}\n")
	}
	out.WriteString("]\n")
}

func (t *treeDrawer) nodeJSON(n *treeNode, indent string) {
	out := t.c.Stdout
	field := func(name, value string) string {
		b, _ := json.Marshal(value)
		return fmt.Sprintf("%q:%s", name, b)
	}
	out.WriteString(indent)
	switch {
	case n.bad:
		fmt.Fprintf(out, `{"error": "opening dir",%s}`, field("name", n.name))
	case n.target != "":
		fmt.Fprintf(out, `{"type":"link",%s,%s}`, field("name", n.name), field("target", n.target))
	case !n.fi.IsDir():
		fmt.Fprintf(out, `{"type":"file",%s}`, field("name", n.name))
	case len(n.children) == 0:
		fmt.Fprintf(out, `{"type":"directory",%s}`, field("name", n.name))
	default:
		fmt.Fprintf(out, `{"type":"directory",%s,"contents":[`+"\n", field("name", n.name))
		for i, child := range n.children {
			t.nodeJSON(child, indent+"  ")
			if i < len(n.children)-1 {
				out.WriteString(",")
			}
			out.WriteString("\n")
		}
		out.WriteString(indent + "]}")
	}
}
