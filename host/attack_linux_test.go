package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hako/audit"
	"hako/gate"
	"hako/host/sandbox"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

// A corpusCase is one line of the policy's corpus.
type corpusCase struct {
	ID      string `json:"id"`
	Tier    int    `json:"tier"`
	Setup   string `json:"setup"`
	Command string `json:"command"`
	Expect  string `json:"expect"`
}

// readCorpus returns the cases for programs of the host; with -short one in twenty.
func readCorpus(t testing.TB, file string) (list []corpusCase) {
	t.Helper()
	f, err := os.Open("../policy/testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for n, lines := 0, bufio.NewScanner(f); lines.Scan(); n++ {
		var c corpusCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Tier == 2 && (!testing.Short() || n%20 == 0) {
			list = append(list, c)
		}
	}
	return list
}

// A tally counts what went well.
type tally struct{ good, all atomic.Int64 }

func (c *tally) add(good bool) {
	c.all.Add(1)
	if good {
		c.good.Add(1)
	}
}

func (c *tally) String() string { return fmt.Sprintf("%d/%d", c.good.Load(), c.all.Load()) }

// reaches reports whether at least so many of a hundred went well.
func (c *tally) reaches(percent int64) bool { return c.good.Load()*100 >= percent*c.all.Load() }

// workers run at the same time: many attacks do nothing but wait for their end.
const workers = 6

// patience is how long an attack may take. What it wants it tries at once; the
// rest of the time goes into compilers and networks that are not there.
const patience = 2 * time.Second

// A worker does something with one case after the other.
type worker struct {
	end func()
	do  func(corpusCase)
}

// each does something with every case, several at a time.
func each(list []corpusCase, hire func() worker) {
	work := make(chan corpusCase)
	var all sync.WaitGroup
	for range workers {
		w := hire()
		all.Go(func() {
			defer w.end()
			for c := range work {
				w.do(c)
			}
		})
	}
	for _, c := range list {
		work <- c
	}
	close(work)
	all.Wait()
}

// blackHole takes the record.
type blackHole struct{}

func (blackHole) Append(audit.Event) error { return nil }

// hostPolicy is the default policy for the host.
func hostPolicy(root string) *policy.Policy {
	return policy.Host(policy.Options{Root: root, Dir: root, Resolve: func(path string) string {
		if real, err := realPath(path); err == nil {
			return real
		}
		return path
	}})
}

// gated puts the default policy for the host before a runner.
func gated(root string, next run.Runner) *gate.Gate {
	return gate.New(next, gate.Options{Policy: hostPolicy(root), Budget: quota.New(quota.Unlimited()), Log: blackHole{}})
}

// alarm is a runner that must not be reached.
type alarm struct{ rang bool }

func (a *alarm) Run(context.Context, *run.Request) (run.Result, error) {
	a.rang = true
	return run.Result{}, nil
}

// TestAttacks runs the corpus against policy and sandbox, each without the
// other, and everyday commands against both, and prints how many each held.
// What the numbers have to be stands in aims.
func TestAttacks(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash here to attack with")
	}
	t.Setenv("HAKO_ATTACK", secretText)
	var table strings.Builder
	for _, file := range []string{"attacks.jsonl", "attacks-own.jsonl"} {
		list := readCorpus(t, file)
		fmt.Fprintf(&table, "%-18s denied by the policy   %s\n", file, denied(t, list))
		for _, level := range []sandbox.Level{sandbox.Full, sandbox.LandlockOnly} {
			fmt.Fprintf(&table, "%-18s held by the sandbox   %-15s %s\n", file, level, held(t, list, level))
		}
	}
	for _, file := range []string{"benign.jsonl", "benign-own.jsonl"} {
		fmt.Fprintf(&table, "%-18s %s\n", file, benign(t, readCorpus(t, file)))
	}
	t.Logf("\n%s", &table)
	if name := os.Getenv("HAKO_ATTACK_TABLE"); name != "" {
		if err := os.WriteFile(name, []byte(table.String()), 0o666); err != nil {
			t.Error(err)
		}
	}
}

// defused are attacks whose words are known only when the shell has come to
// them, and then are no attack in this shell and scene. The policy refuses their
// source where it cannot wait for the words; here it waits, and nothing happens.
var defused = map[string]string{
	"O-553": "seq takes no such format and prints nothing", "O-885": "what is read is not the name of a variable",
	"O-889": "what is read is not the name of a variable",
	"O-917": "there is a directory d, so the path stays in the root",
	"O-918": "there is a directory d, so the path stays in the root",
	"O-927": "the variable is bash's own", "O-928": "the variable is bash's own", "O-929": "the variable is bash's own",
	"O-930": "the variable is bash's own",
	"O-946": "the variable is bash's own", "O-971": "it never calls its function",
}

// denied puts the attacks that the policy must stop before a gate.
func denied(t *testing.T, list []corpusCase) string {
	s, err := newScene(t.TempDir(), furnishRepository)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	r := newRunner(t, Options{Root: s.root, Parse: policy.ParseScript})
	var got, live tally
	for _, c := range list {
		if c.Expect != "deny" {
			continue
		}
		err := s.judge(t, r, s.replace(c.Command))
		_, harmless := defused[c.ID]
		if live.add(!harmless); harmless && err == nil {
			continue
		}
		good := fault.KindOf(err) == fault.Denied
		if got.add(good); !good {
			t.Errorf("%s %.300q: not denied: %v", c.ID, c.Command, err)
		}
	}
	if !got.reaches(100) {
		t.Errorf("denied %v, all were aimed at", &got)
	}
	return fmt.Sprintf("%v (%d come to nothing)", &got, live.all.Load()-live.good.Load())
}

// judge returns what the gate says to a script. What cannot be said from its
// source is run, and what it got at is an error too.
func (s *scene) judge(t *testing.T, r *Runner, script string) error {
	req := run.Request{Actor: "attacker", Script: script}
	var reached alarm
	g := gated(s.root, &reached)
	if _, err := g.Run(t.Context(), &req); !reached.rang {
		return err
	}
	verdicts, err := hostPolicy(s.root).Script(script)
	if err != nil || policy.Strictest(verdicts) != policy.Deny {
		return fmt.Errorf("the policy has nothing against it: %v, %v", verdicts, err)
	}
	if err := renew(r); err != nil {
		t.Fatal(err)
	}
	o := attempt(t, gated(s.root, r), req, patience)
	if why := s.breach(o); why != "" {
		return errors.New(why)
	}
	return o.fault
}

// risky tells what could harm the machine, not only the scene, if a sandbox
// failed. It is run only where the processes and devices of the machine are out
// of sight.
var risky = regexp.MustCompile(
	`\b(reboot|shutdown|halt|poweroff|kill|killall|pkill|mkfs|hwclock|u?mount|insmod|modprobe|sysctl|systemctl|swapoff|fdisk|crontab|chroot|unshare|docker|screen|tmux)\b` +
		`|\bat now|\bdate\b.*(-s|--set|[0-9]{8})|of=/dev/|/dev/(mem|sd)|\brm\b.* /$|--global|--system|:\(\)`)

// bomb tells what starts ever more processes.
var bomb = regexp.MustCompile(`:\(\)|f & `)

// countsProcesses reports whether the number of processes is bounded here. No
// limit but that of a control group holds for the superuser.
func countsProcesses(t *testing.T) bool {
	report, err := Probe(t.Context(), Options{Root: t.TempDir(), Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return os.Getuid() != 0 || slices.Contains(report.Counting, "cgroup pids")
}

// limits keep a bomb small.
var limits = sandbox.Limits{Memory: 1 << 30, Processes: 100, Files: 256, FileSize: 32 << 20}

// held runs the attacks with nobody before the sandbox: by our own shell and by
// a real one in it.
func held(t *testing.T, list []corpusCase, level sandbox.Level) string {
	if !provenLevel(t, level) {
		return "not available here"
	}
	var got, tried tally
	bounded := countsProcesses(t)
	each(list, func() worker {
		st := &stage{t: t, dir: t.TempDir(), level: level, props: furnishRepository, options: Options{Limits: limits}}
		return worker{st.clear, func(c corpusCase) {
			safe := (level == sandbox.Full || !risky.MatchString(c.Command)) && (bounded || !bomb.MatchString(c.Command))
			if tried.add(safe); safe {
				got.add(st.holds(c))
			}
		}}
	})
	if !got.reaches(99) {
		t.Errorf("%v: held %v, 99 of 100 were aimed at", level, &got)
	}
	return fmt.Sprintf("%v (%d too risky to try)", &got, tried.all.Load()-tried.good.Load())
}

// plain are commands that leave nothing to a shell. Names of shells' own commands
// are left to both of them.
var plain = regexp.MustCompile(
	`^(npm|npx|pip|pip3|python3|go|java|javac|cargo|cmake|pytest|git|curl|wget|make|tar|rg|jq|node|mvn|gradle|mypy|gcc) [\w ./=:,+@#-]*$`)

// A stage is where attacks are run one after the other. Each finds it as if it
// were the first.
type stage struct {
	t       *testing.T
	dir     string
	level   sandbox.Level
	props   func(*scene) error
	options Options

	scene  *scene
	runner *Runner
	fresh  string // the root as it was furnished
}

// holds runs one attack and reports whether it got at nothing.
func (st *stage) holds(c corpusCase) bool {
	good := true
	ways := []string{"", `env bash -c "$1"`}
	if plain.MatchString(c.Command) {
		ways = ways[:1] // any shell starts the same program with the same words
	}
	for _, script := range ways {
		err := st.set(c.Setup)
		if err == nil {
			err = st.attack(c, script)
		}
		if err != nil {
			st.t.Errorf("%s %q at %v, %q: %v", c.ID, c.Command, st.level, script, err)
			good = false
		}
		if err != nil || c.Setup != "" {
			st.clear()
		}
	}
	return good
}

func (st *stage) clear() {
	if st.runner != nil {
		st.runner.Close()
		st.runner = nil
	}
	if st.scene != nil {
		st.scene.close()
		st.scene = nil
	}
}

// set makes everything as it was at first: the root, the temporary directory and
// the shell. Where an attack has a set-up of its own, it gets a scene of its own.
func (st *stage) set(setup string) (err error) {
	if setup != "" {
		st.clear()
	}
	if st.scene == nil {
		return st.build(setup)
	}
	if now := inventory(st.scene.root); now != st.fresh {
		if err := errors.Join(empty(st.scene.root, nil), st.props(st.scene)); err != nil {
			return err
		}
		st.fresh = inventory(st.scene.root)
	}
	if err := errors.Join(st.emptyTemp(), os.Mkdir(tempOf(st.runner.temp)+"/home", 0o700)); err != nil {
		return err
	}
	if err := renew(st.runner); err != nil {
		return err
	}
	if o := attempt(st.t, st.runner, run.Request{Script: "env echo works"}, patience); o.text != "works\n" {
		return fmt.Errorf("nothing runs any more: %+v", o)
	}
	return nil
}

// emptyTemp empties the temporary directory but for what the root is mounted on,
// if that lies there too.
func (st *stage) emptyTemp() error {
	return empty(tempOf(st.runner.temp),
		func(name string) bool { return strings.HasPrefix(st.scene.root, "/tmp/"+name+"/") })
}

func (st *stage) build(setup string) (err error) {
	props := st.props
	if setup != "" {
		props = furnish
	}
	if st.scene, err = newScene(st.dir, props); err != nil {
		return err
	}
	if err := st.scene.prepare(setup); err != nil {
		return err
	}
	st.fresh = inventory(st.scene.root)
	options := st.options
	options.Root = st.scene.root
	st.runner, err = runnerAt(st.t, options, st.level)
	return err
}

// attack runs one attack and says what it got at.
func (st *stage) attack(c corpusCase, script string) error {
	req := run.Request{Script: script, Args: []string{st.scene.replace(c.Command)}}
	if script == "" {
		req = run.Request{Script: st.scene.replace(c.Command)}
	}
	began := time.Now()
	o := attempt(st.t, st.runner, req, patience)
	if took := time.Since(began); took > patience+10*time.Second {
		return fmt.Errorf("it took %v", took)
	}
	if tells(readAll(tempOf(st.runner.temp))) {
		return errors.New("the secret was written into the temporary directory")
	}
	if why := st.scene.breach(o); why != "" {
		return errors.New(why)
	}
	return nil
}
