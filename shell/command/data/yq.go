package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"hako/internal/lazyregexp"
	"hako/run/fault"
	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/jq"
	"hako/shell/stream"
	"hako/shell/vfs"
)

var Yq = shell.Command{Name: "yq", Run: runYq}

// A yqCall is one call of yq.
type yqCall struct {
	*shell.Call
	run                                     *jq.Run
	null, raw, quoted, inplace, bare, check bool
	all                                     bool
	in, out                                 string
	indent                                  int
	printed                                 int
	last                                    any
	any                                     bool
}

func runYq(ctx context.Context, c *shell.Call) error {
	y := &yqCall{Call: c, in: "yaml", out: "yaml", indent: 2, run: jq.New(ctx, jqHostOf(c))}
	defer y.run.Release()
	words, err := cli.Parse(c, cli.Flags{
		"o": func(v string) (err error) { y.out, err = y.format(v); return err },
		"p": func(v string) (err error) { y.in, err = y.format(v); return err },
		"r": func(v string) { y.raw, y.quoted = v != "false", v == "false" },
		"i": &y.inplace, "n": &y.null, "N": &y.bare, "e": &y.check, "j": cli.Set(&y.out, "json"),
		"I": func(v string) error {
			return cli.Number(&y.indent, 0, 16, "error: invalid indent %s")(strings.TrimPrefix(v, "="))
		},
	})
	if err != nil {
		return err
	}
	return y.run.Guard(func() error { return y.main(words) })
}

func (y *yqCall) main(words []string) error {
	src, files := y.words(words)
	if len(src) > jq.LongestProgram { // before the regular expression below runs on it
		src = src[:jq.LongestProgram+1]
	}
	f, err := y.run.Compile(yqEnv(src))
	if fault.KindOf(err) == fault.Exhausted {
		return err
	}
	if err != nil {
		return y.Fail(1, "error: %v: %.200s", err, src)
	}
	return y.finish(cli.Try(func() {
		switch {
		case y.null:
			y.once(f, nil, y.Stdout)
		case y.inplace:
			y.replace(f, files)
		default:
			y.stream(f, files)
		}
	}))
}

func (y *yqCall) format(name string) (string, error) {
	switch name = strings.TrimPrefix(name, "="); name {
	case "yaml", "y", "yml", "auto", "a":
		return "yaml", nil
	case "json", "j":
		return "json", nil
	}
	return "", y.Fail(1, "error: the format '%s' is not available here; use yaml or json", name)
}

// words separates the expression, which is optional, from the files.
func (y *yqCall) words(words []string) (src string, files []string) {
	if len(words) > 0 {
		switch words[0] {
		case "eval", "e":
			words = words[1:]
		case "eval-all", "ea":
			y.all, words = true, words[1:]
		}
	}
	if len(words) == 0 {
		return ".", nil
	}
	if len(words) == 1 && !y.null {
		if _, err := y.FS.Stat(y.Path(words[0])); err == nil && words[0] != "." {
			return ".", words
		}
	}
	return words[0], words[1:]
}

// Compiled when yq is used, not at every start of the program.
var yqEnvCall = lazyregexp.New(`\b(str)?env\(\s*([A-Za-z_][A-Za-z0-9_]*)\s*\)`)

// yqEnv translates env(NAME) to jq. env parses the value, strenv does not.
func yqEnv(src string) string {
	return yqEnvCall.Get().ReplaceAllStringFunc(src, func(call string) string {
		m := yqEnvCall.Get().FindStringSubmatch(call)
		if m[1] == "str" {
			return "$ENV." + m[2]
		}
		return "($ENV." + m[2] + " | . as $text | try fromjson catch $text)"
	})
}

// stream prints the results for every document.
func (y *yqCall) stream(f jq.Filter, files []string) {
	var docs []any
	for in := range y.Inputs(files) {
		y.documents(in.Name, in, func(v any) {
			if !y.all {
				y.once(f, v, y.Stdout)
				return
			}
			docs = append(docs, v)
			y.run.Waiting = &docs
			y.run.Alloc(32)
		})
	}
	if y.all {
		y.run.Globals["$all"] = jq.NewArray(docs...)
		y.once(f, jq.NewArray(docs...), y.Stdout)
	}
}

// documents reads one input. An error of its data is reported with its name.
func (y *yqCall) documents(name string, in io.Reader, each func(any)) {
	err := cli.Try(func() {
		if y.in == "yaml" {
			y.readYAML(in, each)
			return
		}
		p := &jq.Parser{Usage: y.run.Usage, In: y.Reader(in)}
		for {
			v, err := p.Value()
			if err == io.EOF {
				return
			}
			cli.Check(err)
			each(v)
		}
	})
	_, bad := errors.AsType[*yqBadData](err)
	_, syntax := errors.AsType[*jq.SyntaxError](err)
	if bad || syntax {
		err = y.Fail(1, "Error: bad file '%s': %v", name, err)
	}
	cli.Check(err)
}

// replace writes the results into the files they came from. A file is only
// written if there was no error.
func (y *yqCall) replace(f jq.Filter, files []string) {
	if len(files) == 0 {
		cli.Check(y.Fail(1,
			"error: write in place flag only applicable when giving an expression and at least one file"))
	}
	for _, name := range files {
		y.replaceFile(f, name)
	}
}

func (y *yqCall) replaceFile(f jq.Filter, name string) {
	in, err := y.Open(name)
	if err != nil {
		cli.Check(y.Fail(1, "Error: open %s: %s", name, strings.ToLower(vfs.Reason(err))))
	}
	var text strings.Builder
	out := stream.NewWriter(&text)
	y.printed = 0
	err = cli.Try(func() { y.documents(name, in, func(v any) { y.once(f, v, out) }) })
	in.Close()
	cli.Check(cmp.Or(err, out.Flush()))
	info, err := y.FS.Stat(y.Path(name))
	cli.Check(err)
	cli.Check(y.FS.WriteFile(y.Path(name), []byte(text.String()), info.Mode().Perm()))
}

// once runs the expression on one document.
func (y *yqCall) once(f jq.Filter, v any, w *stream.Writer) {
	if y.printed > 0 && y.out == "yaml" && !y.bare {
		w.WriteString("---\n")
	}
	y.printed++
	cli.Check(y.run.Evaluate(f, v, func(x any) error {
		y.last, y.any = x, true
		return y.print(x, w)
	}))
}

func (y *yqCall) print(v any, w *stream.Writer) error {
	s, isText := v.(string)
	if isText && (y.raw || y.out == "yaml" && !y.quoted) {
		w.WriteString(s)
		return w.WriteByte('\n')
	}
	if y.out == "yaml" {
		return y.writeYAML(v, w)
	}
	e := &jq.Encoder{Usage: y.run.Usage, Indent: strings.Repeat(" ", y.indent)}
	return writeJSON(w, e, v, "\n")
}

func (y *yqCall) finish(err error) error {
	if failed, ok := errors.AsType[*jq.Error](err); ok {
		fmt.Fprintf(y.Stderr, "Error: %s\n", y.run.ToString(failed.Val))
		return shell.Status(1)
	}
	if halt, ok := errors.AsType[*jq.Halt](err); ok {
		return jqHalt(y.Call, y.run, halt)
	}
	if err == nil && y.check && (!y.any || !jq.Truthy(y.last)) {
		fmt.Fprintln(y.Stderr, "Error: no matches found")
		return shell.Status(1)
	}
	return cmp.Or(err, y.Stdout.Err())
}
