package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"hako/container"
	"hako/container/engine"
	"hako/internal/app/coder"
	"hako/internal/app/coder/queue"
	"hako/internal/fakes/forge"
)

// How large the chaos is: the tasks, those of them that must fail, the workers.
const (
	chaosTasks   = 60
	chaosFailing = 6
	chaosWorkers = 3
)

// TestChaos has workers killed and servers of the queue cut off at random while
// they work on sixty issues, with real git and real containers. Every task ends
// once, as it should; no comment, push or pull request is there twice; nothing
// is left.
func TestChaos(t *testing.T) {
	if raced {
		t.Skip("the workers are other processes: the detector would not see them")
	}
	needContainers(t)
	c := newChaos(t)
	for n := range chaosTasks {
		title := fmt.Sprintf("make file %d", n+1)
		if n < chaosFailing {
			title += " (it cannot be verified)"
		}
		c.forge.Add(agentRepo, forge.Item{Kind: forge.Issue, Title: title, Author: "alice", Labels: []string{"coding agent"}})
	}
	began := time.Now()
	c.rage()
	t.Logf("%d tasks, %d workers killed, %d servers cut off, in %v", chaosTasks, c.killed, c.cut,
		time.Since(began).Round(time.Second))
	c.judge()
}

// A chaosWorld is a forge, a model, three servers of a queue, a producer and
// workers.
type chaosWorld struct {
	*testing.T
	forge   *forge.Server
	nodes   [3]*server.Server
	options [3]*server.Options
	queue   *queue.Queue
	env     []string
	dir     string
	workers [chaosWorkers]*exec.Cmd
	killed  int
	cut     int
}

func newChaos(t *testing.T) *chaosWorld {
	dir, err := os.MkdirTemp("", "hk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c := &chaosWorld{T: t, dir: dir, forge: forge.ForTest(t, forge.GitHub)}
	c.must(os.Mkdir(filepath.Join(dir, "git"), 0o700))
	c.forge.SetGitRoot(filepath.Join(dir, "git"))
	token := c.forge.User("hako-bot")
	c.forge.User("alice")
	c.forge.Repo(agentRepo)
	c.forge.Member(agentRepo, "hako-bot", "write")
	c.forge.Member(agentRepo, "alice", "write")
	c.must(c.forge.Seed(agentRepo, map[string]string{"README.md": "hello\n"}))
	model := httptest.NewServer(http.HandlerFunc(chaosModel))
	t.Cleanup(model.Close)
	c.cluster()
	c.env = append(os.Environ(), asHako+"=1", "HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_CONFIG_HOME="+dir,
		"XDG_CACHE_HOME="+dir,
		"GITHUB_API_URL="+c.forge.API(), "GITHUB_PERSONAL_ACCESS_TOKEN="+token, "OPENAI_BASE_URL="+model.URL+"/v1",
		"OPENAI_API_KEY=sk-chaos",
		"HAKO_QUEUE_URL="+c.urls(), "HAKO_QUEUE_REPLICAS=3", "HAKO_QUEUE_LEASE_SECONDS=3", "HAKO_QUEUE_TRIES=100",
		"HAKO_AGENT_POLL_SECONDS=5", "EXECUTOR_EXTERNAL_ACCESS=false")
	c.queue, err = queue.Open(t.Context(), queue.Options{URL: c.urls(), Replicas: 3, AckWait: 3 * time.Second,
		MaxDeliver: 105, RetryFor: 60 * time.Second})
	c.must(err)
	t.Cleanup(func() { c.queue.Close() })
	return c
}

func (c *chaosWorld) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// cluster starts three servers that know each other.
func (c *chaosWorld) cluster() {
	var routes []*url.URL
	var ports [6]int
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		c.must(err)
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
		if i < 3 {
			routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", ports[i])})
		}
	}
	for i := range c.nodes {
		c.options[i] = &server.Options{ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: ports[3+i], NoSigs: true,
			NoLog: true, JetStream: true, StoreDir: c.TempDir(), Routes: routes,
			Cluster: server.ClusterOpts{Name: "chaos", Host: "127.0.0.1", Port: ports[i]}}
	}
	c.Cleanup(func() {
		for i := range c.nodes {
			c.down(i)
		}
	})
}

func (c *chaosWorld) up(i int) {
	srv, err := server.NewServer(c.options[i].Clone())
	c.must(err)
	srv.Start()
	c.nodes[i] = srv
}

func (c *chaosWorld) down(i int) {
	if c.nodes[i] != nil {
		c.nodes[i].Shutdown()
		c.nodes[i].WaitForShutdown()
		c.nodes[i] = nil
	}
}

// urls starts the servers that do not run, and names all.
func (c *chaosWorld) urls() string {
	var all []string
	for i, o := range c.options {
		if c.nodes[i] == nil {
			c.up(i)
		}
		all = append(all, fmt.Sprintf("nats://127.0.0.1:%d", o.Port))
	}
	return strings.Join(all, ",")
}

// hako starts one that is killed when the test ends.
func (c *chaosWorld) hako(words ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], words...)
	cmd.Args[0], cmd.Env, cmd.Dir = "hako", c.env, c.dir
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	c.must(err)
	defer log.Close()
	cmd.Stderr = log
	c.must(cmd.Start())
	return cmd
}

func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// rage lets it run, and interferes, until everything has ended. At the end all
// are up, as after an accident somebody has seen to.
func (c *chaosWorld) rage() {
	producer := c.hako("agent", "produce")
	defer end(producer)
	for i := range c.workers {
		c.workers[i] = c.hako("agent", "work", "--model", "chat:chaos")
	}
	defer func() {
		for _, w := range c.workers {
			_ = w.Process.Signal(os.Interrupt)
		}
		for _, w := range c.workers {
			_ = w.Wait()
		}
	}()
	missing := -1
	for deadline := time.Now().Add(12 * time.Minute); ; {
		over := c.over()
		if over == chaosTasks {
			return
		}
		if time.Now().After(deadline) {
			c.complain(over)
		}
		switch dice := rand.IntN(8); {
		case missing >= 0 && dice < 3:
			c.up(missing)
			missing = -1
		case missing < 0 && dice == 0:
			missing = rand.IntN(3)
			c.down(missing)
			c.cut++
		case dice < 6 && over < chaosTasks-chaosWorkers: // the last ones come to their end
			i := rand.IntN(chaosWorkers)
			end(c.workers[i])
			c.killed++
			c.workers[i] = c.hako("agent", "work", "--model", "chat:chaos")
		}
		time.Sleep(time.Duration(500+rand.IntN(2500)) * time.Millisecond)
	}
}

// over counts the tasks that have ended.
func (c *chaosWorld) over() (n int) {
	for _, t := range c.tasks() {
		if t.State == queue.Done {
			n++
		}
	}
	return n
}

func (c *chaosWorld) tasks() []queue.Entry {
	ctx, cancel := context.WithTimeout(c.Context(), 2*time.Minute)
	defer cancel()
	list, err := c.queue.List(ctx)
	c.must(err)
	return list
}

func (c *chaosWorld) complain(over int) {
	log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
	c.Fatalf("%d of %d have ended; the log ends with\n%s", over, chaosTasks, log[max(0, len(log)-8000):])
}

// judge looks at what there is.
func (c *chaosWorld) judge() {
	pulls := map[string]int{}
	for _, n := range c.forge.Items(agentRepo, forge.Pull) {
		p, _ := c.forge.Item(agentRepo, forge.Pull, n)
		pulls[p.Title]++
	}
	for _, t := range c.tasks() {
		t, err := c.queue.State(c.Context(), t.ID)
		c.must(err)
		var job coder.Task
		var rec coder.Record
		c.must(json.Unmarshal(t.Payload, &job))
		c.must(json.Unmarshal(t.Step, &rec))
		c.judgeIssue(job, rec, pulls)
	}
	c.judgeRefs()
	c.judgeContainers()
}

func (c *chaosWorld) judgeIssue(job coder.Task, rec coder.Record, pulls map[string]int) {
	item, _ := c.forge.Item(agentRepo, forge.Issue, job.Number)
	want, proposals := coder.Done, 1
	if strings.Contains(item.Title, "cannot be verified") {
		want, proposals = coder.Failed, 0
	}
	if rec.State != want || len(item.Labels) != 1 || item.Labels[0] != "coding agent "+string(want) {
		c.Errorf("issue %d: %s (%s), labels %q, want %s", job.Number, rec.State, rec.Why, item.Labels, want)
	}
	if pulls[item.Title] != proposals {
		c.Errorf("issue %d has %d pull requests", job.Number, pulls[item.Title])
	}
	marks := map[string]int{}
	for _, m := range item.Comments {
		first, _, _ := strings.Cut(m.Body, "\n")
		marks[first]++
	}
	for mark, n := range marks {
		if n > 1 || !strings.HasPrefix(mark, "<!-- hako:") {
			c.Errorf("issue %d has %d comments %s", job.Number, n, mark)
		}
	}
	if marks["<!-- hako:"+job.ID+":"+string(want)+" -->"] != 1 {
		c.Errorf("issue %d: nobody told how it ended: %v", job.Number, marks)
	}
	if want == coder.Failed && rec.Why == "" {
		c.Errorf("issue %d failed without a reason", job.Number)
	}
	if want == coder.Done {
		text, err := c.forge.File(agentRepo, "hako/"+job.ID, "made.txt")
		if log, _ := c.forge.Diff(agentRepo, "main", "hako/"+job.ID); err != nil || !strings.Contains(text, "line 2") ||
			strings.Count(log, "Hako-Task: ") != 1 {
			c.Errorf("issue %d: made.txt is %q (%v), log %s", job.Number, text, err, log)
		}
	}
}

// judgeRefs wants one branch for each task that was done, and main.
func (c *chaosWorld) judgeRefs() {
	refs, err := c.forge.Refs(agentRepo)
	c.must(err)
	branches := strings.Count(refs, "refs/heads/")
	if branches != chaosTasks-chaosFailing+1 {
		c.Errorf("there are %d branches", branches)
	}
}

// judgeContainers wants none of ours, after the next has swept as it does.
func (c *chaosWorld) judgeContainers() {
	prune := exec.Command(os.Args[0], "env", "prune")
	prune.Args[0], prune.Env = "hako", c.env
	out, err := prune.CombinedOutput()
	if err != nil {
		c.Fatalf("%v: %s", err, out)
	}
	e, err := engine.Open("")
	c.must(err)
	defer e.Close()
	for _, t := range c.tasks() {
		var job coder.Task
		c.must(json.Unmarshal(t.Payload, &job))
		if _, err := e.Inspect(c.Context(), container.Name(job.ID)); !errors.Is(err, engine.ErrGone) {
			c.Errorf("%s is left: %v", container.Name(job.ID), err)
		}
	}
}

// chaosModel answers by what was said, so that it does not matter who asks.
func chaosModel(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, `{"error":{"message":"no JSON"}}`, http.StatusBadRequest)
		return
	}
	done, all := 0, ""
	for _, m := range in.Messages {
		if m.Role == "tool" {
			done++
		}
		all += string(m.Content)
	}
	time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
	w.Header().Set("Content-Type", "text/event-stream")
	if !strings.Contains(all, "Carry out the plan") && !strings.Contains(all, "verification found") {
		check := "cat made.txt"
		if strings.Contains(all, "cannot be verified") {
			check = "cat nothing.txt"
		}
		say(w, fmt.Sprintf(`{"goal_understanding":{"main_objective":"a file"},"selected_environment":{"name":"python","verification":[%q]}}`, check))
		return
	}
	switch done {
	case 0:
		callTool(w, "text_editor", `{"command":"create","path":"/workspace/project/made.txt","file_text":"line 1\n"}`)
	case 1:
		callTool(w, "command-executor_execute_command",
			`{"command":"python -c \"import time; time.sleep(0.3); open('made.txt','a').write('line 2\\n')\""}`)
	case 2:
		callTool(w, "forge_add_comment", `{"text":"half way"}`)
	default:
		say(w, "It is made.")
	}
}

func chunk(w http.ResponseWriter, choices string) {

	fmt.Fprintf(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"chaos\",\"choices\":%s}\n\n", choices)
}

func finish(w http.ResponseWriter, reason string) {
	chunk(w, fmt.Sprintf(`[{"index":0,"delta":{},"finish_reason":%q}]`, reason))
	fmt.Fprint(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"chaos\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5,\"total_tokens\":15}}\n\ndata: [DONE]\n\n")
}

func say(w http.ResponseWriter, text string) {
	quoted, _ := json.Marshal(text)
	chunk(w, fmt.Sprintf(`[{"index":0,"delta":{"role":"assistant","content":%s},"finish_reason":null}]`, quoted))
	finish(w, "stop")
}

func callTool(w http.ResponseWriter, name, arguments string) {
	quoted, _ := json.Marshal(arguments)
	chunk(w, fmt.Sprintf(`[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":%q,"arguments":%s}}]},"finish_reason":null}]`, rand.IntN(1e9), name, quoted))
	finish(w, "tool_calls")
}
