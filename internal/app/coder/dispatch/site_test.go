package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hako/agent/tool"
	"hako/audit"
	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
	"hako/internal/app/coder/queue"
	"hako/internal/app/coder/store"
	fake "hako/internal/fakes/forge"
	"hako/internal/redact"
	"hako/internal/testload"
	"hako/llm"
	"hako/quota"
	"hako/run/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	bot    = "hako-bot"
	secret = "hunter2-hunter2-hunter2"
)

// A site is a forge, a queue and a crew, with hands and a model in memory.
type site struct {
	*testing.T
	*fake.Server
	provider, repo string
	options        queue.Options
	queue          *queue.Queue
	client         *ForgeClient
	producer       *Producer
	worker         *Worker

	mu      sync.Mutex
	events  []Event
	hook    func(ctx context.Context, place string) error // is called at places: plan, prepare, command, check, push
	brain   func(d *llm.Dialog) *llm.Turn                 // nil means fixer
	asked   []llm.Dialog
	tasks   []coder.Task    // as the hands saw them
	rooms   map[string]bool // by task
	cleaned int
	commits map[string]map[string]string // kept
	pushed  map[string]string            // content by branch
}

// both runs a test with each provider.
func both(t *testing.T, test func(s *site)) {
	for _, provider := range []string{forge.GitHub, forge.GitLab} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			test(newSite(t, provider))
		})
	}
}

func newSite(t *testing.T, provider string) *site {
	s := &site{T: t, Server: fake.ForTest(t, provider), provider: provider, repo: "acme/app", rooms: map[string]bool{},
		commits: map[string]map[string]string{}, pushed: map[string]string{}}
	s.Repo(s.repo)
	s.Member(s.repo, bot, "write")
	s.Member(s.repo, "ann", "write")
	s.User("stranger")
	s.options = queue.Options{Dir: t.TempDir(), Backoff: []time.Duration{20 * time.Millisecond}, AckWait: 2 * time.Second,
		Worker: "one"}
	s.queue = s.open(s.options)
	s.client = &ForgeClient{Forges: []Forge{s.forge(forge.Config{})}}
	s.producer = &Producer{ForgeClient: s.client, Queue: s.queue, Observe: s.observe}
	s.worker = s.workerOf(s.queue)
	return s
}

func (s *site) open(o queue.Options) *queue.Queue {
	s.Helper()
	q, err := queue.Open(s.Context(), o)
	s.fine(err)
	s.Cleanup(func() { q.Close() })
	return q
}

// forge is a client that knows nothing yet and whose pauses take no time.
func (s *site) forge(c forge.Config) Forge {
	s.Helper()
	c.Provider, c.APIURL, c.Token, c.RetryDelay = s.provider, s.API(), s.User(bot), time.Millisecond
	c.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	f, err := forge.New(c)
	s.fine(err)
	s.Cleanup(f.Close)
	client := Forge{Forge: f, Provider: s.provider}
	if s.provider == forge.GitLab {
		client.Repos = []string{s.repo}
	}
	return client
}

func (s *site) workerOf(q *queue.Queue) *Worker {
	secrets := new(redact.Set)
	secrets.Add(secret)
	archive := &store.Store{Dir: s.TempDir()}
	return &Worker{Queue: q, ForgeClient: s.client, OrderEvery: 20 * time.Millisecond, Observe: s.observe,
		Coordinator: &coder.Coordinator{
			Workspaces: hands{s}, Log: silent{}, Secrets: secrets, Archive: archive,
			Model:   func(coder.Task, *quota.Budget) llm.Model { return s },
			Execute: llm.Tool{Name: "command-executor_execute_command", Schema: json.RawMessage(`{}`)},
			Edit:    llm.Tool{Name: "text_editor", Schema: json.RawMessage(`{}`)},
			Tools:   func(context.Context, coder.Task) ([]tool.Tool, error) { return nil, nil },
		}}
}

type silent struct{}

func (silent) Append(audit.Event) error { return nil }

func (s *site) observe(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// count tells how many events of a type there were.
func (s *site) count(kind string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Type == kind {
			n++
		}
	}
	return n
}

func (s *site) fine(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%v (%s)", err, fault.Hint(err))
	}
}

// at is a moment at which something may happen.
func (s *site) at(ctx context.Context, place string) error {
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	if hook != nil {
		if err := hook(ctx, place); err != nil {
			return err
		}
	}
	return nil
}

func (s *site) setHook(h func(ctx context.Context, place string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = h
}

// hands are those of the site.
type hands struct{ *site }

// Prepare implements [coder.Workspaces].
func (s hands) Prepare(ctx context.Context, t coder.Task, _, kept string) (coder.Workspace, error) {
	if err := s.at(ctx, "prepare"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks, s.rooms[t.ID] = append(s.tasks, t), true
	files := map[string]string{"a.txt": "broken\n"}
	if kept != "" {
		files = s.commits[kept]
	}
	return &room{s.site, t, maps.Clone(files)}, nil
}

// Cleanup implements [coder.Workspaces].
func (s hands) Cleanup(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rooms, id)
	s.cleaned++
	return nil
}

// A room is a [coder.Place] in memory.
type room struct {
	s     *site
	task  coder.Task
	files map[string]string
}

func (r *room) Execute(ctx context.Context, command, _ string) (coder.Outcome, error) {
	if strings.HasPrefix(command, "head ") {
		return coder.Outcome{ExitCode: 1}, nil
	}
	place := map[string]string{"check": "check"}[command]
	if place == "" {
		place = "command"
	}
	if err := r.s.at(ctx, place); err != nil {
		return coder.Outcome{}, err
	}
	if command == "check" && !strings.Contains(r.files["a.txt"], "fixed") {
		return coder.Outcome{ExitCode: 1, Stdout: "1 test failed"}, nil
	}
	return coder.Outcome{Stdout: "ok"}, nil
}

func (r *room) Edit(context.Context, json.RawMessage) (json.RawMessage, error) {
	r.files["a.txt"] += "fixed\n" // appended, so that doing it twice shows
	return json.RawMessage(`{"success":true,"content":"","error":""}`), nil
}

func (r *room) Commit(ctx context.Context, _ string, final bool) (string, error) {
	if final {
		if err := r.s.at(ctx, "push"); err != nil {
			return "", err
		}
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	commit := fmt.Sprintf("%x", r.files["a.txt"])
	r.s.commits[commit] = maps.Clone(r.files)
	if final {
		r.s.pushed[r.task.Branch] = r.files["a.txt"]
	}
	return commit, nil
}

// next implements [llm.Model].
func (s *site) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	s.mu.Lock()
	kept := *d
	kept.Items = slices.Clone(d.Items)
	s.asked = append(s.asked, kept)
	brain := s.brain
	s.mu.Unlock()
	if isPlanning(d) {
		if err := s.at(ctx, "plan"); err != nil {
			return nil, err
		}
	}
	if brain == nil {
		brain = fixer
	}
	attempt := brain(d)
	if attempt == nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "ask model", Why: "it sleeps, and its key is " + secret}
	}
	attempt.Model, attempt.Usage = "fake", quota.Usage{Input: 100, Output: 10}
	return attempt, nil
}

func isPlanning(d *llm.Dialog) bool { return strings.HasPrefix(d.System, "You plan") }

const plan = `{"goal_understanding":{"main_objective":"Fix a.txt"},"selected_environment":{"name":"python","verification":["check"]},"comment":"I will fix it."}`

// fixer plans, runs a command, edits, and is done.
func fixer(d *llm.Dialog) *llm.Turn {
	turns := 0
	for _, it := range d.Items {
		if len(it.Calls) > 0 {
			turns++
		}
	}
	switch {
	case isPlanning(d):
		return &llm.Turn{Text: plan}
	case turns == 0:
		return &llm.Turn{Calls: []llm.Call{{ID: "1", Name: "command-executor_execute_command",
			Arguments: `{"command":"cat a.txt"}`}}}
	case turns == 1:
		return &llm.Turn{Calls: []llm.Call{{ID: "2", Name: "text_editor", Arguments: `{}`}}}
	}
	return &llm.Turn{Text: "I fixed a.txt."}
}

const fixed = "broken\nfixed\n"

// issue adds one that is ready.
func (s *site) issue(i fake.Item) int {
	i.Kind, i.Labels = fake.Issue, append(i.Labels, "coding agent")
	if i.Author == "" {
		i.Author = "ann"
	}
	if i.Title == "" {
		i.Title = "a.txt is broken"
	}
	return s.Add(s.repo, i)
}

// thread names an issue in the queue.
func (s *site) thread(kind string, number int) string {
	return fmt.Sprintf("%s/%s/%s/%d", s.provider, s.repo, kind, number)
}

func (s *site) poll() PollResult {
	s.Helper()
	sum, err := s.producer.Poll(s.Context())
	s.fine(err)
	return sum
}

// drain works until nothing waits.
func (s *site) drain() []Ending {
	s.Helper()
	ctx, stop := context.WithTimeout(s.Context(), testload.Bound(30*time.Second))
	defer stop()
	all, err := s.worker.Drain(ctx)
	s.fine(err)
	return all
}

// only is drain where one task is expected to end.
func (s *site) only(state coder.State) Ending {
	s.Helper()
	all := s.drain()
	if len(all) != 1 || all[0].Record.State != state {
		s.Fatalf("got %d endings, want one as %s: %+v", len(all), state, summary(all))
	}
	if s.mu.Lock(); len(s.rooms) > 0 {
		s.Errorf("rooms are left: %v", s.rooms)
	}
	s.mu.Unlock()
	return all[0]
}

func summary(all []Ending) (lines []string) {
	for _, e := range all {
		lines = append(lines, fmt.Sprint(e.Task.ID, " ", e.Record.State, " ", e.Record.Phase, " ", e.Record.Why, " ", e.Err))
	}
	return lines
}

// item is what the forge has now.
func (s *site) item(kind string, number int) fake.Item {
	s.Helper()
	i, ok := s.Item(s.repo, kind, number)
	if !ok {
		s.Fatalf("%s %d is not there", kind, number)
	}
	return i
}

// labelled wants the labels of an item to be these.
func (s *site) labelled(kind string, number int, want ...string) {
	s.Helper()
	if got := s.item(kind, number).Labels; !slices.Equal(got, want) {
		s.Errorf("labels %q, want %q", got, want)
	}
}

// comments are hako's comments on an item, by the words of their marks.
func (s *site) comments(kind string, number int) (keys []string, texts map[string]string) {
	s.Helper()
	texts = map[string]string{}
	for _, c := range s.item(kind, number).Comments {
		if c.Author != bot || c.System {
			continue
		}
		line, text, _ := strings.Cut(c.Body, "\n")
		parts := strings.Split(strings.TrimSuffix(line, " -->"), ":")
		keys = append(keys, parts[len(parts)-1])
		texts[parts[len(parts)-1]] = text
		if strings.Contains(c.Body, secret) {
			s.Errorf("a secret is in %s", c.Body)
		}
	}
	return keys, texts
}

// said wants hako's comments to be these, each once.
func (s *site) said(kind string, number int, want ...string) {
	s.Helper()
	keys, _ := s.comments(kind, number)
	if !slices.Equal(slices.Sorted(slices.Values(keys)), slices.Sorted(slices.Values(want))) {
		s.Errorf("said %q, want %q", keys, want)
	}
}

// state is how the queue has a task.
func (s *site) state(kind string, number int) queue.Entry {
	s.Helper()
	t, err := s.queue.State(s.Context(), s.thread(kind, number))
	s.fine(err)
	return t
}

// label lets a person change labels.
func (s *site) label(number int, add, remove string) {
	s.Change(s.repo, fake.Issue, number, func(i *fake.Item) {
		i.Labels = slices.DeleteFunc(i.Labels, func(l string) bool { return l == remove })
		if add != "" {
			i.Labels = append(i.Labels, add)
		}
	})
}
