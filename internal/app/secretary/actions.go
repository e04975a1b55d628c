package secretary

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"hako/internal/app/secretary/store"
	"hako/llm"
	"hako/run"
	"hako/run/fault"
)

// act carries out the actions of a reply and adds their results to the conversation. It reports whether
// commands were run.
func (t *turn) act(ctx context.Context, r Reply) (bool, error) {
	if n := len(r.BashActions) + len(r.TodoActions); t.options.Proactive && n > 0 {
		t.warn(t.countMessage("not_now", n)) // nobody asked for anything
		return false, nil
	}
	t.changeTodos(ctx, r.TodoActions)
	actions := t.runnable(r.BashActions)
	if len(actions) == 0 {
		return false, nil
	}
	results := t.runActions(ctx, actions)
	t.answer.Results = append(t.answer.Results, results...)
	for i := range results {
		if results[i].Cached {
			t.answer.CacheHits++
		}
	}
	t.addResults(ctx, results)
	return true, context.Cause(ctx)
}

func (t *turn) addResults(ctx context.Context, results []Result) {
	text := resultsHead + formatResults(results)
	t.add(llm.System, text)
	t.store(ctx, Message{Role: store.System, Text: text, Meta: json.RawMessage(jsonText(results))})
}

// runnable drops the commands that cannot run here.
func (t *turn) runnable(actions []Action) []Action {
	if t.Runner != nil {
		return actions
	}
	var rest []Action
	for _, a := range actions {
		if strings.HasPrefix(strings.TrimSpace(a.Command), "@") {
			rest = append(rest, a)
		}
	}
	if n := len(actions) - len(rest); n > 0 {
		t.warn(t.countMessage("no_hands", n))
	}
	return rest
}

// changeTodos changes the to-do list. After a failure it continues with the next change.
func (t *turn) changeTodos(ctx context.Context, actions []TodoAction) {
	if len(actions) == 0 {
		return
	}
	if t.Todos == nil {
		t.warn(t.countMessage("no_todos", len(actions)))
		return
	}
	var b strings.Builder
	b.WriteString(t.message("todo_done"))
	for _, a := range actions {
		a = t.redactTodo(a)
		r := TodoResult{Action: a}
		said, err := t.Todos.Do(ctx, a)
		if r.Said = t.redact(oneLine(said)); err != nil {
			r.Error = t.redact(oneLine(err.Error()))
			fmt.Fprintf(&b, "\n❌ %s: %s", a.Action, r.Error)
		} else {
			fmt.Fprintf(&b, "\n✅ %s", r.Said)
		}
		t.answer.Todos = append(t.answer.Todos, r)
		t.observe(Event{Type: TodoDone, Text: r.Said + r.Error})
	}
	t.add(llm.System, b.String())
	t.store(ctx, Message{Role: store.System, Text: b.String()})
}

// runActions runs the commands of one reply and returns their results in order.
func (s *Secretary) runActions(ctx context.Context, actions []Action) []Result {
	results := make([]Result, len(actions))
	for i := 0; i < len(actions); {
		n := s.parallelRun(actions, i)
		s.runBatch(ctx, actions[i:i+n], results[i:i+n], i)
		i += n
	}
	return results
}

// parallelRun counts the commands from the i-th on that can run in parallel: read-only ones without
// variables, which spare runners do not have. Any other command runs alone.
func (s *Secretary) parallelRun(actions []Action, i int) int {
	n := i
	for n < len(actions) && s.SpareRunner != nil && s.isReadOnly(actions[n]) && !strings.Contains(actions[n].Command, "$") {
		n++
	}
	return max(1, n-i)
}

// isReadOnly reports whether a command is read-only and repeatable. After functions may have been
// declared, a name does not tell what it runs.
func (s *Secretary) isReadOnly(a Action) bool {
	return s.ReadOnly != nil && !s.redefined && !a.Confirm && a.Command != "" &&
		!strings.HasPrefix(strings.TrimSpace(a.Command), "@") && s.ReadOnly(a.Command) && !s.declares(a.Command)
}

// runBatch runs commands in parallel as far as there are spare runners, after answering from the cache.
func (s *Secretary) runBatch(ctx context.Context, actions []Action, results []Result, from int) {
	var open []int
	busy := s.busy()
	for i, a := range actions {
		results[i] = Result{Command: s.redact(a.Command), Reason: s.redact(a.Reason)}
		s.observe(Event{Type: Started, Action: &Action{results[i].Command, results[i].Reason, a.Timeout, a.Confirm},
			Beside: len(actions) > 1})
		if !s.skip(ctx, a, &results[i], from+i) {
			open = append(open, i)
		}
	}
	if len(open) == 1 {
		s.runAction(ctx, s.mainRunner(), actions[open[0]], &results[open[0]])
	} else if len(open) > 1 {
		s.runParallel(ctx, actions, results, open)
	}
	busy = busy || s.busy()
	for i := range results {
		if !busy {
			s.cacheResult(actions[i], results[i])
		}
		s.observe(Event{Type: Ended, Result: &results[i], Beside: len(actions) > 1})
	}
}

// skip answers a command that is not run: empty, too many, rate-limited or cached.
func (s *Secretary) skip(ctx context.Context, a Action, r *Result, n int) bool {
	most := s.maxActions()
	switch {
	case ctx.Err() != nil:
		r.Error = executionError + "中断されました"
	case n >= most:
		r.Error = fmt.Sprintf("%s1回の応答で実行できるコマンドは%d件までです。%d件目は実行しませんでした", executionError, most, n+1)
	case strings.TrimSpace(a.Command) == "":
		r.Error = executionError + "コマンドが空です"
	case s.fromCache(a, r):
	default:
		return s.rateLimited(r)
	}
	return true
}

// rateLimited enforces the rate limit.
func (s *Secretary) rateLimited(r *Result) bool {
	limit := cmp.Or(s.RateLimit, 30)
	if limit < 0 {
		return false
	}
	wait, ok := s.limiter.take(s.now(), limit)
	if !ok {
		r.Error = fmt.Sprintf("%s実行回数の上限（1分あたり%d件）に達しました。%d秒後に再実行できます", executionError, limit, int(math.Ceil(wait.Seconds())))
	}
	return !ok
}

func (s *Secretary) ttl() time.Duration { return cmp.Or(s.CacheTTL, 10*time.Second) }

// fromCache answers a read-only command from the cache. Any other command, or a running job, empties it.
func (s *Secretary) fromCache(a Action, r *Result) bool {
	if !s.isReadOnly(a) || s.busy() {
		s.cache.clear()
		return false
	}
	o, ok := s.cache.get(cacheKey(s.dir, a.Command), s.now(), s.ttl())
	if ok {
		r.Output, r.Cached = &o, true
	}
	return ok
}

// declares reports whether a script may redefine names in the session.
func (s *Secretary) declares(script string) bool {
	if s.Declares == nil {
		return s.ReadOnly == nil || !s.ReadOnly(script)
	}
	return s.Declares(script)
}

// busy reports whether a job may be changing files.
func (s *Secretary) busy() bool { return s.Jobs != nil && s.Jobs.Busy() }

// cacheResult caches the result of a read-only command.
func (s *Secretary) cacheResult(a Action, r Result) {
	if s.isReadOnly(a) && r.Error == "" && !r.Cached && r.Output != nil && r.Output.ExitCode == "0" && s.ttl() > 0 {
		s.cache.put(cacheKey(s.dir, a.Command), *r.Output, s.now())
	}
}

// runParallel runs commands in parallel: one worker uses the main runner, the others use spare ones.
func (s *Secretary) runParallel(ctx context.Context, actions []Action, results []Result, open []int) {
	work := make(chan int, len(open))
	for _, i := range open {
		work <- i
	}
	close(work)
	dir := s.dir
	var wg sync.WaitGroup
	for range min(cmp.Or(s.Parallel, 4), len(open)) - 1 {
		wg.Go(func() {
			if len(work) == 0 {
				return
			}
			runner, giveBack, err := s.SpareRunner()
			if err != nil {
				return // the others do it
			}
			defer giveBack()
			for i := range work {
				s.runAction(ctx, runnerIn{runner, dir, false}, actions[i], &results[i])
			}
		})
	}
	for i := range work {
		s.runAction(ctx, s.mainRunner(), actions[i], &results[i])
	}
	wg.Wait()
}

// A runnerIn is a runner and the directory it works in. Only the secretary's own runner changes the
// directory of the conversation.
type runnerIn struct {
	run.Runner
	dir  string // empty means the current directory of the runner
	main bool
}

func (s *Secretary) mainRunner() runnerIn { return runnerIn{s.Runner, "", true} }

func (s *Secretary) runAction(ctx context.Context, runner runnerIn, a Action, r *Result) {
	if line := strings.TrimSpace(a.Command); strings.HasPrefix(line, "@") {
		s.runPlugin(ctx, line, a, r)
		return
	}
	s.execute(ctx, runner, s.request(a.Command, a), r)
}

func (s *Secretary) request(script string, a Action) *run.Request {
	limit := s.timeout()
	if a.Timeout > 0 {
		limit = min(max(time.Duration(a.Timeout)*time.Second, minTimeout), maxTimeout)
	}
	id := cmp.Or(s.ID, "secretary") + "/" + strconv.FormatInt(s.requests.Add(1), 10)
	return &run.Request{ID: id, Actor: s.actor(), Reason: a.Reason, Script: script, Timeout: limit, Confirm: a.Confirm}
}

// execute runs a request and writes its outcome into r.
func (s *Secretary) execute(ctx context.Context, runner runnerIn, req *run.Request, r *Result) {
	out, stderr := s.capture(), s.capture()
	req.Dir, req.Stdout, req.Stderr = runner.dir, out, stderr
	if runner.main && s.declares(req.Script) {
		s.redefined = true // before it runs: it may break off after that
		s.cache.clear()
	}
	res, err := runner.Run(ctx, req)
	r.Took = res.Duration
	if runner.main && res.Dir != "" {
		s.dir = res.Dir
	}
	if err != nil || res.TimedOut {
		s.setFailure(r, res, err, req.Timeout, out, stderr)
		return
	}
	r.Output = s.output(res, out, stderr)
}

func (s *Secretary) output(res run.Result, out, stderr *capture) *Output {
	o := &Output{Stdout: s.captured(out), Stderr: s.captured(stderr), ExitCode: strconv.Itoa(res.Exit),
		Dir: s.redact(res.Dir)}
	o.Redacted = out.redactions + stderr.redactions
	return o
}

// timedOutExit is the exit status after a timeout, as in timeout(1).
const timedOutExit = 124

// setFailure sets the error of a command and keeps its output. After a timeout there is always an output.
func (s *Secretary) setFailure(r *Result, res run.Result, err error, limit time.Duration, out, stderr *capture) {
	timedOut := res.TimedOut && fault.KindOf(err) != fault.Denied
	s.setError(r, err, timedOut, limit)
	if timedOut {
		res.Exit = timedOutExit
	}
	if timedOut || out.end().Total()+stderr.end().Total() > 0 {
		r.Output = s.output(res, out, stderr)
	}
}
