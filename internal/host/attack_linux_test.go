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
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hako/internal/audit"
	"hako/internal/fault"
	"hako/internal/gate"
	"hako/internal/host/cage"
	"hako/internal/policy"
	"hako/internal/quota"
	"hako/internal/run"
)

// A corpusCase is one line of the policy's corpus.
type corpusCase struct {
	ID      string `json:"id"`
	Tier    int    `json:"tier"`
	Setup   string `json:"setup"`
	Command string `json:"command"`
	Expect  string `json:"expect"`
}

// readCorpus returns the cases for programs of the host; with -short a third.
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
		if c.Tier == 2 && (!testing.Short() || n%3 == 0) {
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

// patience is how long an attack may take.
const patience = 5 * time.Second

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

// gated puts the default policy for the host before a runner.
func gated(root string, next run.Runner) *gate.Gate {
	p := policy.Default("host", policy.Options{Root: root, Dir: root, Resolve: func(path string) string {
		if real, err := realPath(path); err == nil {
			return real
		}
		return path
	}})
	return &gate.Gate{Policy: p, Meter: quota.NewMeter(quota.Unlimited()), Log: blackHole{}, Next: next}
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
		for _, level := range []cage.Level{cage.Full, cage.LandlockOnly} {
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

// denied puts the attacks that the policy must stop before a gate.
func denied(t *testing.T, list []corpusCase) string {
	var got tally
	s, err := newScene(t.TempDir(), furnish)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	r := newRunner(t, Options{Root: s.root, Parse: policy.ParseScript})
	for _, c := range list {
		if c.Expect != "deny" {
			continue
		}
		req := run.Request{Actor: "attacker", Script: s.replace(c.Command)}
		var reached alarm
		_, err := gated(s.root, &reached).Run(t.Context(), &req)
		if reached.rang { // some words are known only when the shell has come to them
			r.session.Close()
			if err := r.furnish(t.Context()); err != nil {
				t.Fatal(err)
			}
			o := attempt(t, gated(s.root, r), req, patience)
			if err = o.fault; s.breach(o) != "" {
				err = errors.New("it got out")
			}
		}
		good := fault.KindOf(err) == fault.Denied
		if got.add(good); !good {
			t.Errorf("%s %.300q: not denied: %v", c.ID, req.Script, err)
		}
	}
	if !got.reaches(100) {
		t.Errorf("denied %v, all were aimed at", &got)
	}
	return got.String()
}

// risky tells what could harm the machine, not only the scene, if a sandbox
// failed. It is run only where the processes and devices of the machine are out
// of sight.
var risky = regexp.MustCompile(`\b(reboot|shutdown|halt|poweroff|kill|killall|pkill|mkfs|hwclock|u?mount|insmod|modprobe|sysctl|systemctl|swapoff|fdisk|crontab|chroot|unshare|docker|screen|tmux)\b` +
	`|\bat now|\bdate\b.*(-s|--set|[0-9]{8})|of=/dev/|/dev/(mem|sd)|\brm\b.* /$|--global|--system|:\(\)`)

// limits keep a bomb small.
var limits = cage.Limits{Memory: 1 << 30, Processes: 100, Files: 256, FileSize: 32 << 20}

// held runs the attacks with nobody before the sandbox: by our own shell and by
// a real one in it.
func held(t *testing.T, list []corpusCase, level cage.Level) string {
	if os.Getenv("XX")!="" { return "" }
	if !provenLevel(t, level) {
		return "not available here"
	}
	var got, tried tally
	each(list, func() worker {
		st := &stage{t: t, dir: t.TempDir(), level: level}
		return worker{st.clear, func(c corpusCase) {
			safe := level == cage.Full || !risky.MatchString(c.Command)
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

// A stage is where attacks are run one after the other. Each finds it as if it
// were the first.
type stage struct {
	t     *testing.T
	dir   string
	level cage.Level

	scene  *scene
	runner *Runner
	fresh  string // the root as it was furnished
}

// holds runs one attack and reports whether it got at nothing.
func (st *stage) holds(c corpusCase) bool {
	good := true
	for _, script := range []string{"", `env bash -c "$1"`} {
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
		if err := errors.Join(empty(st.scene.root), furnishRepository(st.scene)); err != nil {
			return err
		}
		st.fresh = inventory(st.scene.root)
	}
	if err := errors.Join(empty(st.runner.temp.path), os.Mkdir(st.runner.temp.path+"/home", 0o700)); err != nil {
		return err
	}
	st.runner.session.Close()
	return st.runner.furnish(st.t.Context())
}

func (st *stage) build(setup string) (err error) {
	props := furnish
	if setup == "" {
		props = furnishRepository
	}
	if st.scene, err = newScene(st.dir, props); err != nil {
		return err
	}
	if err := st.scene.prepare(setup); err != nil {
		return err
	}
	st.fresh = inventory(st.scene.root)
	st.runner, err = runnerAt(st.t, Options{Root: st.scene.root, Limits: limits}, st.level)
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
	if took := time.Since(began); took > patience+2*time.Second {
		return fmt.Errorf("it took %v", took)
	}
	if tells(readAll(st.runner.temp.path)) {
		return errors.New("the secret was written into the temporary directory")
	}
	if why := st.scene.breach(o); why != "" {
		return errors.New(why)
	}
	return nil
}
