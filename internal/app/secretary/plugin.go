package secretary

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"hako/run/fault"
)

// A plugin is an @command.
type plugin struct {
	Usage string // "@name ARGUMENTS: what it does"
	Run   func(ctx context.Context, c call) (Output, error)
	Asks  bool // it handles Action.Confirm itself
}

// A call is a call of a plugin.
type call struct {
	Words  []string // the arguments, split like shell words
	Line   string   // the arguments as written
	Action Action
}

// plugins returns the available @commands: the built-in ones, and the scripts of the user, which never replace
// them.
func (s *Secretary) plugins() map[string]plugin {
	all := map[string]plugin{}
	if s.Runner != nil {
		for name, script := range s.Scripts {
			all[name] = scriptPlugin(name, s.redact(script))
		}
	}
	for _, name := range []string{"todo", "search", "bg", "job"} {
		delete(all, name)
	}
	if s.Todos != nil {
		all["todo"] = plugin{"@todo add TITLE [--due DATE] [--note TEXT] [--priority low|normal|high] | list | complete ID | delete ID | update ID [TITLE] [--due …]", s.todo, false}
	}
	if s.Search != nil {
		all["search"] = plugin{"@search QUERY", s.search, false}
	}
	if s.Jobs != nil {
		all["bg"] = plugin{"@bg COMMAND", s.background, true}
		all["job"] = plugin{"@job list | status HANDLE | output HANDLE [OFFSET] | kill HANDLE", s.job, false}
	}
	return all
}

// runPlugin runs an @command line.
func (s *Secretary) runPlugin(ctx context.Context, line string, a Action, r *Result) {
	name, rest := line[1:], ""
	if at := strings.IndexFunc(name, unicode.IsSpace); at >= 0 {
		name, rest = name[:at], strings.TrimSpace(name[at:])
	}
	o, err := s.callPlugin(ctx, name, call{Line: rest, Action: a}, r)
	switch {
	case err != nil:
		s.setError(r, err, false, s.timeout())
	case r.Error == "":
		r.Output = &o
	}
}

func (s *Secretary) callPlugin(ctx context.Context, name string, c call, r *Result) (Output, error) {
	all := s.plugins()
	p, ok := all[name]
	if !ok {
		return Output{}, unknownPlugin(name, slices.Sorted(maps.Keys(all)))
	}
	if c.Action.Confirm && !p.Asks {
		return Output{}, &fault.Error{Kind: fault.Denied, Op: "denied", Subject: "@" + name,
			Why: "it cannot be put to a person first", Hint: "ask the user in words, then do it without confirm"}
	}
	var err error
	if c.Words, err = splitWords(c.Line); err != nil {
		return Output{}, err
	}
	if _, own := s.Scripts[name]; own && p.Run == nil {
		return s.runScript(ctx, name, c, r)
	}
	return p.Run(ctx, c)
}

func unknownPlugin(name string, names []string) error {
	why := "there are no commands that begin with @ here"
	if len(names) > 0 {
		why = "there is none of that name; there are @" + strings.Join(names, ", @")
	}
	hint := ""
	if near, ok := fault.Nearest(name, names); ok {
		hint = "did you mean @" + near + "?"
	}
	return &fault.Error{Kind: fault.NotFound, Op: "run", Subject: "@" + name, Why: why, Hint: hint}
}

// scriptPlugin returns a plugin for a script of the user. It has no function: the script runs like any other command.
func scriptPlugin(name, script string) plugin {
	return plugin{Asks: true, Usage: fmt.Sprintf("@%s [ARGUMENTS]: %s", name, oneLine(elideMiddle(script, 120)))}
}

func (s *Secretary) runScript(ctx context.Context, name string, c call, r *Result) (Output, error) {
	req := s.request(s.Scripts[name], c.Action)
	req.Args = c.Words
	s.execute(ctx, s.mainRunner(), req, r)
	if r.Output == nil {
		return Output{}, nil
	}
	return *r.Output, nil
}

// textOutput returns a text as the output of a command.
func (s *Secretary) textOutput(text string) Output {
	b := s.capture()
	b.Write([]byte(text))
	shown := s.captured(b)
	return Output{Stdout: shown, ExitCode: "0", Dir: s.redact(s.dir), Redacted: b.redactions}
}

// Command runs an @command line typed by the user and adds the result to the conversation. The error of the
// command is in the result.
func (s *Secretary) Command(ctx context.Context, line string) (Result, error) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "@") {
		return Result{}, &fault.Error{Kind: fault.Invalid, Op: "run", Subject: line, Why: "it does not begin with @"}
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	t := s.newTurn(Options{})
	t.beginTurn()
	s.cache.clear()
	r := Result{Command: s.redact(line)}
	s.runPlugin(ctx, line, Action{Command: line}, &r)
	t.addResults(ctx, []Result{r})
	return r, nil
}

func (s *Secretary) search(ctx context.Context, c call) (Output, error) {
	if c.Line == "" {
		return Output{}, usageError("@search", "there is nothing to search for", "@search QUERY")
	}
	found, err := s.Search(ctx, strings.Join(c.Words, " "))
	if err != nil {
		return Output{}, err
	}
	return s.textOutput(found), nil
}

// background implements @bg.
func (s *Secretary) background(ctx context.Context, c call) (Output, error) {
	if c.Line == "" {
		return Output{}, usageError("@bg", "there is no command", "@bg COMMAND")
	}
	req := s.request(c.Line, c.Action)
	if c.Action.Timeout == 0 {
		req.Timeout = cmp.Or(s.JobTimeout, time.Hour)
	}
	req.Dir = s.dir
	handle, err := s.Jobs.Start(ctx, *req)
	if err != nil {
		return Output{}, err
	}
	return s.textOutput(handle), nil
}

func usageError(subject, why, usage string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "run", Subject: subject, Why: why, Hint: usage}
}
