package sandboxes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hako/container"
	"hako/container/guest"
	"hako/internal/redact"
	"hako/internal/testload"
	"hako/run"
	"hako/run/fault"
)

// A pier is a dock in memory.
type pier struct {
	mu      sync.Mutex
	infos   []container.Info
	desks   map[string]*desk
	details map[string]container.Details
	err     error
	removed []string
	hang    bool // the engine does not answer
	asked   atomic.Int32
	wait    atomic.Int64 // the longest that one was waited for
}

func (p *pier) Tasks(ctx context.Context) ([]container.Info, error) {
	if p.hang {
		<-ctx.Done()
	}
	return p.infos, p.err
}

func (p *pier) Details(_ context.Context, task string) (container.Details, error) {
	x, ok := p.details[task]
	if !ok {
		return x, &fault.Error{Kind: fault.Unavailable, Op: "look", Why: "docker is not there"}
	}
	return x, nil
}

func (p *pier) Jobs(ctx context.Context, task string) (container.JobClient, error) {
	p.asked.Add(1)
	if end, ok := ctx.Deadline(); ok {
		p.wait.Store(max(p.wait.Load(), int64(time.Until(end))))
	}
	d, ok := p.desks[task]
	if !ok {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "reach", Subject: task, Why: "it is not running"}
	}
	if d.mute {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return d, nil
}

func (p *pier) Cleanup(ctx context.Context, task string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removed = append(p.removed, task)
	return ctx.Err()
}

// A desk is the guest of a container.
type desk struct {
	container.JobClient
	stats guest.Stats
	jobs  []run.Job
	text  string
	mute  bool
	most  *crest
}

// A crest is how many were at something at the same time, at most.
type crest struct {
	mu        sync.Mutex
	now, most int
}

func (c *crest) during(do func()) {
	c.mu.Lock()
	c.now++
	c.most = max(c.most, c.now)
	c.mu.Unlock()
	do()
	c.mu.Lock()
	c.now--
	c.mu.Unlock()
}

func (d *desk) Stats(_ context.Context, disk bool) (guest.Stats, error) {
	if d.most != nil {
		d.most.during(func() { time.Sleep(5 * time.Millisecond) })
	}
	if disk {
		return guest.Stats{}, errors.New("this takes too long")
	}
	return d.stats, nil
}

func (d *desk) Jobs(context.Context) ([]run.Job, error) { return d.jobs, nil }

func (d *desk) Job(_ context.Context, h run.JobHandle) (run.Job, error) {
	if h != "job-1" {
		return run.Job{}, &fault.Error{Kind: fault.NotFound, Op: "find job", Subject: string(h)}
	}
	return run.Job{Handle: h, Bytes: int64(len(d.text))}, nil
}

func (d *desk) Output(_ context.Context, h run.JobHandle, offset int64, limit int) (run.JobPage,
	error) {
	if h != "job-1" {
		return run.JobPage{}, &fault.Error{Kind: fault.NotFound, Op: "find job", Subject: string(h)}
	}
	from64 := min(offset, int64(len(d.text)))
	end := min(from64+int64(limit), int64(len(d.text)))
	return run.JobPage{Data: []byte(d.text[from64:end]), Next: end}, nil
}

// A rack is a shelf in memory.
type rack struct {
	boxes   []Sandbox
	removed []string
}

func (r *rack) Sandboxes() []Sandbox { return slices.Clone(r.boxes) }

func (r *rack) Destroy(_ context.Context, id string) error {
	r.removed = append(r.removed, id)
	return nil
}

// A printing rack has jobs, and one of its sandboxes lies in the dock.
type printingRack struct{ rack }

func (r *printingRack) JobOutput(_ context.Context, id, job string, offset int64, most int) (string, int64, error) {
	return fmt.Sprintf("%s %s %d %d hunter2hunter2", id, job, offset, most), 7, nil
}

func (r *printingRack) Task(id string) string { return map[string]string{"sb-1": "mcp-1"}[id] }

func info(task string, s container.State) container.Info {
	return container.Info{TaskUUID: task, Environment: "go", Status: s, Network: container.None,
		Created: time.Unix(1e9, 0)}
}

func byID(t *testing.T, w *Service) map[string]Sandbox {
	t.Helper()
	all, err := w.List(t.Context())
	fine(t, err)
	list := map[string]Sandbox{}
	for _, b := range all {
		if _, twice := list[b.ID]; twice {
			t.Errorf("there are two of %s", b.ID)
		}
		list[b.ID] = b
	}
	return list
}

var busy = guest.Stats{CPU: 1500 * time.Millisecond, Memory: 10, MemoryLimit: 100, Disk: 20, DiskLimit: 200,
	Processes: 3, Running: 1}

var busyUsage = Usage{CPUSeconds: 1.5, Memory: 10, MemoryLimit: 100, Disk: 20, DiskLimit: 200, Processes: 3}

func TestNothingThere(t *testing.T) {
	w := &Service{Record: (&notebook{}).record}
	if list, err := w.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	for _, id := range []string{"", "x", "task:x", "task:", "task:../x"} {
		_, err := w.Get(t.Context(), id)
		wantKind(t, err, fault.NotFound)
		wantKind(t, w.Destroy(t.Context(), ann, id), fault.NotFound)
		_, _, err = w.Output(t.Context(), id, "job-1", 0, 0)
		wantKind(t, err, fault.NotFound)
	}
}

// TestContainers shows what a dock knows, and asks only those that can answer.
func TestContainers(t *testing.T) {
	secrets := new(redact.Set)
	secrets.Add("hunter2hunter2")
	p := &pier{infos: []container.Info{info("a", container.Ready), info("made", container.Initializing),
		info("off", container.Stopped), info("afar", container.Ready), info("dead", container.Ready)},
		desks: map[string]*desk{"a": {stats: busy, jobs: []run.Job{
			{Handle: "job-1", Command: "echo hunter2hunter2", State: run.JobRunning},
			{Handle: "job-2", Command: strings.Repeat("é", 3000), State: run.JobTimedOut, Exit: -1}}}},
		details: map[string]container.Details{"afar": {Info: info("afar", container.Stopped), Usage: &busy}},
	}
	w := &Service{Containers: p, Secrets: secrets}
	list := byID(t, w)
	a := list["task:a"]
	if a.Kind != "container" || a.Environment != "go" || a.State != "running" || a.Network != "none" ||
		!a.Created.Equal(time.Unix(1e9, 0)) || a.Usage == nil || *a.Usage != busyUsage {
		t.Errorf("%+v", a)
	}
	if j := a.Jobs; len(j) != 2 || j[0].ID != "job-1" || strings.Contains(j[0].Command, "hunter2") || j[0].Exit != nil ||
		j[1].State != "timed out" || *j[1].Exit != -1 || len(j[1].Command) > 2010 || !strings.HasSuffix(j[1].Command, "é…") {
		t.Errorf("%+v", j)
	}
	if b := list["task:afar"]; b.State != "stopped" || b.Usage == nil {
		t.Errorf("%+v", b)
	}
	for id, state := range map[string]string{"task:made": "initializing", "task:off": "stopped", "task:dead": "ready"} {
		if b, ok := list[id]; !ok || b.State != state || b.Usage != nil {
			t.Errorf("%s: %+v", id, b)
		}
	}
	if n, wait := p.asked.Swap(0), time.Duration(p.wait.Load()); n != 3 || wait <= 0 || wait > containerTimeout {
		t.Errorf("%d were asked, for up to %v each", n, wait)
	}
	if b, err := w.Get(t.Context(), "task:a"); err != nil || b.Usage == nil || len(b.Jobs) != 2 || p.asked.Load() != 1 {
		t.Errorf("%+v, %v, %d asked", b, err, p.asked.Load())
	}
}

// Of very many jobs the newest are shown.
func TestManyJobs(t *testing.T) {
	d := &desk{}
	for i := range 200 {
		d.jobs = append(d.jobs, run.Job{Handle: run.JobHandle(fmt.Sprint("job-", i))})
	}
	w := &Service{Containers: &pier{infos: []container.Info{info("a", container.Ready)}, desks: map[string]*desk{"a": d}}}
	if j := byID(t, w)["task:a"].Jobs; len(j) != maxJobs || j[0].ID != "job-150" || j[maxJobs-1].ID != "job-199" {
		t.Errorf("%d jobs from %s", len(j), j[0].ID)
	}
}

// An engine and containers that do not answer keep nobody waiting for long, and
// those that do answer are shown with what they use.
func TestMuteContainers(t *testing.T) {
	p := &pier{desks: map[string]*desk{}, hang: true}
	for i := range 5 {
		task := fmt.Sprint("t", i)
		p.infos = append(p.infos, info(task, container.Ready))
		p.desks[task] = &desk{mute: i > 0, stats: busy}
	}
	began := time.Now()
	list := byID(t, &Service{Containers: p})
	if took := time.Since(began); took > testload.Bound(4*time.Second) {
		t.Errorf("it took %v", took)
	}
	if len(list) != 5 || list["task:t0"].Usage == nil || list["task:t1"].Usage != nil {
		t.Errorf("%+v", list)
	}
}

// Many that hang are given up together, after two seconds in all.
func TestManyMuteContainers(t *testing.T) {
	p := &pier{desks: map[string]*desk{}}
	for i := range 100 {
		task := fmt.Sprint("t", i)
		p.infos = append(p.infos, info(task, container.Ready))
		p.desks[task] = &desk{mute: true}
	}
	began := time.Now()
	if list := byID(t, &Service{Containers: p}); len(list) != 100 {
		t.Errorf("%d boxes", len(list))
	}
	if took := time.Since(began); took > testload.Bound(4*time.Second) {
		t.Errorf("it took %v", took)
	}
}

// Containers are asked at the same time, but not too many.
func TestManyContainers(t *testing.T) {
	p, most := &pier{desks: map[string]*desk{}}, &crest{}
	for i := range 40 {
		task := fmt.Sprint("t", i)
		p.infos = append(p.infos, info(task, container.Ready))
		p.desks[task] = &desk{stats: busy, most: most}
	}
	for id, b := range byID(t, &Service{Containers: p}) {
		if b.Usage == nil {
			t.Error(id, "was not asked")
		}
	}
	if most.most < 2 || most.most > maxConcurrent {
		t.Errorf("%d were asked at the same time", most.most)
	}
}

// A dock that cannot be read does not hide the sandboxes.
func TestBrokenDock(t *testing.T) {
	w := &Service{Containers: &pier{err: errors.New("unreadable")}, Provider: &rack{boxes: []Sandbox{{ID: "sb-1"}}},
		Record: (&notebook{}).record}
	list, err := w.List(t.Context())
	if err == nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := w.Get(t.Context(), "sb-1"); err != nil {
		t.Error(err)
	}
	if _, err := w.Get(t.Context(), "task:x"); err == nil || fault.KindOf(err) == fault.NotFound {
		t.Error(err)
	}
	if err := w.Destroy(t.Context(), ann, "task:x"); err == nil || fault.KindOf(err) == fault.NotFound {
		t.Error(err)
	}
}

// TestShelf shows sandboxes of others beside containers; one that is both is
// entryOf once.
func TestShelf(t *testing.T) {
	r := &printingRack{rack{boxes: []Sandbox{{ID: "sb-1", Kind: "container", State: "ready", Owner: "mcp:x"},
		{ID: "sb-2", Kind: "virtual", State: "ready"}}}}
	p := &pier{infos: []container.Info{info("mcp-1", container.Ready), info("mcp-2", container.Ready)},
		desks: map[string]*desk{"mcp-1": {stats: busy, jobs: []run.Job{{Handle: "j"}}}}}
	secrets := new(redact.Set)
	secrets.Add("hunter2hunter2")
	book := &notebook{}
	w := &Service{Containers: p, Provider: r, Record: book.record, Secrets: secrets}
	list := byID(t, w)
	if b := list["sb-1"]; b.Owner != "mcp:x" || b.Usage == nil || len(b.Jobs) != 1 {
		t.Errorf("%+v", b)
	}
	if _, twice := list["task:mcp-1"]; twice || len(list) != 3 || list["sb-2"].Usage != nil {
		t.Errorf("%+v", list)
	}
	text, next, err := w.Output(t.Context(), "sb-2", "j", -5, 0)
	if err != nil || next != 7 || !strings.HasPrefix(text, "sb-2 j -5 65536 ") || strings.Contains(text, "hunter2") {
		t.Errorf("%s %d %v", text, next, err)
	}
	fine(t, w.Destroy(t.Context(), ann, "sb-1"))
	fine(t, w.Destroy(t.Context(), ann, "task:mcp-2"))
	book.has(t, "ann: sandbox destroy sb-1", "done", "ann: sandbox destroy task:mcp-2", "done")
	if !slices.Equal(r.removed, []string{"sb-1"}) || !slices.Equal(p.removed, []string{"mcp-2"}) {
		t.Errorf("%q, %q", r.removed, p.removed)
	}
	wantKind(t, w.Destroy(t.Context(), ann, "task:mcp-1"), fault.NotFound) // it belongs to the door
	w.Containers = nil
	if list := byID(t, w); len(list) != 2 || list["sb-1"].Usage != nil {
		t.Errorf("%+v", list)
	}
}

// Without jobs a sandbox has no output.
func TestShelfWithoutJobs(t *testing.T) {
	w := &Service{Containers: &pier{}, Provider: &rack{boxes: []Sandbox{{ID: "sb-1"}}}}
	_, _, err := w.Output(t.Context(), "sb-1", "j", 0, 0)
	wantKind(t, err, fault.NotFound)
}

// What is not on record is not destroyed; what was begun does not end because
// nobody waits.
func TestDestroy(t *testing.T) {
	p, book := &pier{infos: []container.Info{info("a", container.Ready)}}, &notebook{err: errors.New("full")}
	w := &Service{Containers: p, Record: book.record}
	if err := w.Destroy(t.Context(), ann, "task:a"); err == nil || p.removed != nil {
		t.Errorf("%v, %q", err, p.removed)
	}
	wantKind(t, (&Service{Containers: p}).Destroy(t.Context(), ann, "task:a"), fault.Denied)
	book.err = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Destroy(ctx, ann, "task:a"); err != nil || len(p.removed) != 1 {
		t.Errorf("%v, %q", err, p.removed)
	}
}

func TestOutput(t *testing.T) {
	p := &pier{desks: map[string]*desk{"a": {text: "ab\xe3\x81\x82cd"}}}
	w := &Service{Containers: p}
	for name, c := range map[string]struct {
		offset int64
		most   int
		want   string
		next   int64
	}{
		"all":                 {0, 0, "abあcd", 7},
		"from the middle":     {5, 100, "cd", 7},
		"page":                {0, 2, "ab", 2},
		"end":                 {-2, 100, "cd", 7},
		"within a character":  {-4, 100, "cd", 7},
		"more than there is":  {-100, 100, "abあcd", 7},
		"as far as it goes":   {math.MinInt64, 100, "abあcd", 7},
		"beyond":              {100, 100, "", 7},
		"cut on purpose":      {3, 100, "\uFFFDcd", 7},
		"a little of the end": {-2, 1, "c", 6},
	} {
		if text, next, err := w.Output(t.Context(), "task:a", "job-1", c.offset, c.most); err != nil || text != c.want ||
			next != c.next {
			t.Errorf("%s: %q, %d, %v", name, text, next, err)
		}
	}
	for _, offset := range []int64{0, -1} {
		_, _, err := w.Output(t.Context(), "task:a", "job-9", offset, 0)
		wantKind(t, err, fault.NotFound)
	}
	_, _, err := w.Output(t.Context(), "task:b", "job-1", 0, 0)
	wantKind(t, err, fault.Unavailable)
}
