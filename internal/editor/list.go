package editor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"hako/internal/text"
	"hako/run/fault"
)

// list shows a directory and its subdirectories, without hidden files. It does not follow links.
func (e *Editor) list(ctx context.Context, c *Call, p filePath) (string, error) {
	if len(c.ViewRange) > 0 {
		return "", c.refuse(fault.Invalid, "view_range is for files, and this is a directory", "leave it out")
	}
	dir, err := e.Root.OpenRoot(p.rel + "/.") // see enter
	if err != nil {
		return "", e.osError(c, "it cannot be opened", err)
	}
	defer dir.Close()
	names, more, err := visible(dir)
	if err != nil {
		return "", e.osError(c, "it cannot be read", err)
	}
	l := listing{room: max(cmp.Or(e.MaxEntries, defaultMaxEntries), 1)}
	l.directory(ctx, dir, path.Clean(c.Path), names, more)
	return l.String(), nil
}

// A listing is a bounded list of names, one a line.
type listing struct {
	strings.Builder
	room int // how many more names
}

// directory writes the names in dir, and below each directory its names. The top level has priority: a long
// subdirectory must not hide the names after it.
func (l *listing) directory(ctx context.Context, dir *os.Root, shown string, names []string, more bool) {
	top := names[:min(len(names), l.room)]
	l.room -= len(top)
	subs := directories(dir, top)
	l.name(shown)
	for _, name := range top {
		full := path.Join(shown, name)
		l.name(full)
		if len(subs) > 0 && subs[0] == name && ctx.Err() == nil {
			l.below(dir, name, full, l.room/len(subs))
			subs = subs[1:]
		}
	}
	l.rest(shown, len(names)-len(top), more, "list them with ls")
}

// directories returns the names that are directories, in order.
func directories(dir *os.Root, names []string) (subs []string) {
	for _, name := range names {
		if info, err := dir.Lstat(name); err == nil && info.IsDir() {
			subs = append(subs, name)
		}
	}
	return subs
}

// below writes at most so many names of a subdirectory.
func (l *listing) below(dir *os.Root, name, full string, most int) {
	sub, err := dir.OpenRoot(name + "/.")
	var names []string
	var more bool
	if err == nil {
		defer sub.Close()
		names, more, err = visible(sub)
	}
	if err != nil {
		fmt.Fprintf(l, "[%s cannot be read: %v]\n", text.RecordLine(full), osReason(err))
		return
	}
	some := names[:min(len(names), most)]
	l.room -= len(some)
	for _, name := range some {
		l.name(path.Join(full, name))
	}
	l.rest(full, len(names)-len(some), more, "view it to see them")
}

func (l *listing) name(full string) { l.WriteString(text.RecordLine(full) + "\n") }

// rest reports how many names were omitted.
func (l *listing) rest(full string, n int, more bool, hint string) {
	if n == 0 && !more {
		return
	}
	count := fmt.Sprint(n)
	if more {
		count = "more than " + count
	}
	fmt.Fprintf(l, "[clipped: %s has %s other names; %s]\n", text.RecordLine(full), count, hint)
}

// maxNames is how many names of a directory are read for sorting.
const maxNames = 50_000

// visible returns the sorted names that are not hidden, and whether there are more than mostRead.
func visible(dir *os.Root) (names []string, more bool, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	for err == nil && len(names) < maxNames {
		var some []string
		some, err = f.Readdirnames(1000)
		names = append(names, slices.DeleteFunc(some, func(name string) bool { return name[0] == '.' })...)
	}
	slices.Sort(names)
	if err == io.EOF {
		return names, false, nil
	}
	return names, err == nil, err
}
