package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain is also the parts that the bench starts in processes of their own.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && parts[os.Args[1]] != nil {
		if err := parts[os.Args[1]](os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A few tasks go through everything; what they took is what the typical task is
// said to be.
func TestTypicalTask(t *testing.T) {
	b := &bench{ctx: t.Context()}
	w, err := b.newSimulation(t.TempDir(), settings[0])
	if err != nil {
		t.Fatal(err)
	}
	defer w.kill()
	const tasks = 3
	if _, err := ask[int](w.forge.Control, fmt.Sprint("/add?n=", tasks)); err != nil {
		t.Fatal(err)
	}
	if err := w.startAgent("hako", agentSettings{Every: time.Second, Parallel: 2,
		Pace: pace{Model: time.Millisecond}}); err != nil {
		t.Fatal(err)
	}
	if err := w.wait(tasks, time.Minute); err != nil {
		t.Fatal(err)
	}
	asked, err := ask[requestCounts](w.forge.Control, "/tally")
	if err != nil {
		t.Fatal(err)
	}
	if v := w.agents["hako"].stats(); v.resident == 0 || v.cpu == 0 {
		t.Errorf("%+v", v)
	}
	if err := w.end(); err != nil {
		t.Fatal(err)
	}
	if err := w.allDone(tasks); err != nil {
		t.Fatal(err)
	}
	if got := len(w.reports["hako"].Gaps); got != tasks*(turns-1) {
		t.Errorf("%d times between turns, want %d", got, tasks*(turns-1))
	}
	if got := asked.sum("POST 201 /pulls"); got != tasks {
		t.Errorf("%d pull requests: %v", got, asked)
	}
}

func TestShape(t *testing.T) {
	for url, want := range map[string]string{
		"/api/v3/repos/acme/app/issues/12/comments?since=x":        "/issues/N/comments",
		"/api/v3/repos/acme/app/collaborators/person-7/permission": "/collaborators/USER/permission",
		"/api/v3/repos/acme/app/issues/3/labels/coding%20agent":    "/issues/N/labels/NAME",
		"/api/v3/repos/acme/app/issues?labels=coding+agent&page=2": "/issues?labels",
		"/api/v3/repos/acme/app":                                   "/",
	} {
		if got := shape(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

func TestTally(t *testing.T) {
	sum := requestCounts{"GET 304 /issues/N": 2, "GET 200 /issues/N": 3, "POST 201 /pulls": 5}
	for words, want := range map[string]int{"": 10, "GET ": 5, " 304 ": 2, "GET |/pulls": 0} {
		if got := sum.sum(strings.Split(words, "|")...); got != want {
			t.Errorf("%q: %d, want %d", words, got, want)
		}
	}
}

func TestPercentiles(t *testing.T) {
	var list []time.Duration
	for i := range 100 {
		list = append(list, time.Duration(100-i))
	}
	if slices.Sort(list); at(list, 50) != 51 || at(list, 99) != 100 || at(nil, 50) != 0 {
		t.Error(at(list, 50), at(list, 99))
	}
}
