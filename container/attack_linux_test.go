package container

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// An attack is a line of the corpus: what somebody tries who is in a container,
// or who has a say in what hako does with one.
type attack struct {
	ID      string `json:"id"`
	Command string `json:"command"`
	Tries   string `json:"tries"`
}

// A verdict looks at what really came of an attack.
type verdict func(t *testing.T, j *jail, a attack)

func readAttacks(t *testing.T) []attack {
	t.Helper()
	f, err := os.Open("testdata/attacks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []attack
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var a attack
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// verdicts are all there are, by the number of the attack.
func verdicts() map[string]verdict {
	all := map[string]verdict{}
	for _, some := range []map[string]verdict{escapes, networks, secrets, inputs, floods} {
		for id, v := range some {
			all[id] = v
		}
	}
	return all
}

// TestAttacks runs the corpus with the policy off: the container alone has to
// hold. Every attack has a verdict of its own; one without fails.
func TestAttacks(t *testing.T) {
	attacks, known := readAttacks(t), verdicts()
	if len(attacks) != 66 || len(known) != len(attacks) {
		t.Errorf("%d attacks, %d verdicts", len(attacks), len(known))
	}
	began := time.Now()
	j := newJail(t)
	j.controls(t)
	contained := 0
	for _, a := range attacks {
		t.Run(a.ID, func(t *testing.T) {
			v := known[a.ID]
			if v == nil {
				t.Fatalf("nobody has looked at %q", a.Command)
			}
			j.reached()
			v(t, j, a)
			if t.Failed() {
				t.Logf("%s: %s", a.Tries, a.Command)
				return
			}
			contained++
		})
	}
	j.answers(t)
	j.untouched(t)
	t.Logf("%d of %d contained, in %v", contained, len(attacks), time.Since(began).Round(time.Millisecond))
}

// controls checks that the jail is one in which things work: or else an attack
// would be held by what is broken.
func (j *jail) controls(t *testing.T) {
	t.Helper()
	for _, address := range []string{"https://allowed.example/", "http://sub.allowed.example/x"} {
		if got := j.must(t, "curl -sS -m 10 "+address); got != "hello from the allowed site\n" {
			t.Fatalf("%s: %q", address, got)
		}
	}
	j.must(t, "test -f /workspace/project/README && git -C /workspace/project log --oneline | grep first && python3 -c 'print(1)'")
	if dialled, served := j.reached(); len(dialled) != 2 || len(served) != 2 {
		t.Fatal(dialled, served)
	}
}

// fails runs an attack that must end with an error of which the words tell, and
// print nothing else.
func fails(words string) verdict {
	pattern := regexp.MustCompile(words)
	return func(t *testing.T, j *jail, a attack) {
		o := j.sh(t, a.Command)
		if o.err != nil || o.stdout != "" || !pattern.MatchString(o.stderr) {
			t.Errorf("exit %d, %v: %q %q", o.Exit, o.err, o.stdout, o.stderr)
		}
	}
}

// prints runs an attack of which the output must be like the pattern, all of it.
func prints(words string) verdict {
	pattern := regexp.MustCompile(`^(?:` + words + `)$`)
	return func(t *testing.T, j *jail, a attack) {
		if o := j.sh(t, a.Command); o.err != nil || !pattern.MatchString(o.stdout) {
			t.Errorf("exit %d, %v: %q %q", o.Exit, o.err, o.stdout, o.stderr)
		}
	}
}

// and makes one verdict of several.
func and(all ...verdict) verdict {
	return func(t *testing.T, j *jail, a attack) {
		for _, v := range all {
			v(t, j, a)
		}
	}
}

// then looks at the container after an attack: the script must succeed.
func then(script string) verdict {
	return func(t *testing.T, j *jail, _ attack) {
		if o := j.sh(t, script); o.err != nil || o.Exit != 0 {
			t.Errorf("afterwards: %s: exit %d, %v: %s", script, o.Exit, o.err, o.all())
		}
	}
}

// alive checks that the guest is well after an attack.
func alive(t *testing.T, j *jail, _ attack) { j.answers(t) }

const refusedCall = `-1 1\n` // the call did not work: EPERM

// escapes are attempts to get out of the container, or to become more in it.
var escapes = map[string]verdict{
	"T3-211": and(fails(``), then(`test ! -e /var/run/docker.sock && test ! -e /run/docker.sock`)),
	"T3-213": and(fails(`permission denied|must be superuser`), then(`! grep -q ' /mnt ' /proc/mounts`)),
	"T3-214": and(fails(`permission denied|must be superuser`), then(`! grep -q ' /tmp/d ' /proc/mounts`)),
	"T3-215": and(fails(`Operation not permitted`), then(`test ! -e /tmp/sda`)),
	"T3-216": and(fails(`No such file|Permission denied`), then(`test ! -b /dev/vda`)),
	"T3-218": fails(`Read-only file system|Permission denied|No such file`),
	"T3-222": fails(`Permission denied`),
	"T3-223": prints(refusedCall),
	"T3-224": prints(refusedCall),
	"T3-225": prints(refusedCall),
	"T3-226": prints(refusedCall),
	"T3-228": prints(`uid=1000\(executor\) gid=1000\(executor\) groups=1000\(executor\)[^=]*\n`),
	"T3-230": prints(``),
	"T3-231": prints(`CapEff:\t0{16}\nNoNewPrivs:\t1\nSeccomp:\t2\n`),
	"T3-233": prints(`(0{16} [^\n]*\n)?`), // no byte of memory, no address of a symbol
	"T3-234": fails(`Operation not permitted|Permission denied`),
	"T3-236": killEverything,
}

// killEverything checks that nobody can end the guest, and that the task is what
// it was.
func killEverything(t *testing.T, j *jail, a attack) {
	j.sh(t, a.Command)
	j.answers(t)
	if o := j.sh(t, "kill -9 1"); !strings.Contains(o.stderr, "Operation not permitted") {
		t.Errorf("exit %d: %s", o.Exit, o.all())
	}
	if info, err := j.dock.ContainerInfo(j.task); err != nil || info.Status != Ready {
		t.Errorf("%+v %v", info, err)
	}
}
