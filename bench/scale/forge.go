package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	fake "hako/internal/fakes/forge"
)

const (
	repository = "acme/app"
	bot        = "hako-bot"
	people     = 1000 // who write issues and comments
)

// A forgeAddress is where the fake GitHub and its control server are.
type forgeAddress struct {
	API, Token, Control string
}

// runForge runs the fake GitHub in a process of its own, so that its resources are not
// counted as hako's.
func runForge(words string) error {
	ended, err := serve(words, &struct{}{})
	if err != nil {
		return err
	}
	f := fake.Start(fake.GitHub)
	defer f.Close()
	f.SetRateLimit(1<<40, 1000*time.Hour) // the effect of the limit is computed, not waited for
	f.Repo(repository)
	f.Member(repository, bot, "write")
	for n := range people {
		f.Member(repository, person(n), "write")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	d := &forgeControl{forge: f}
	srv := &http.Server{Handler: d.routes()}
	go srv.Serve(l)
	defer srv.Close()
	if err := writeReport(forgeAddress{f.API(), f.User(bot), "http://" + l.Addr().String()}); err != nil {
		return err
	}
	<-ended
	return writeReport(f.Violations())
}

func person(n int) string { return fmt.Sprintf("person-%d", n%people) }

// A forgeControl simulates what people do at the forge.
type forgeControl struct {
	forge *fake.Server
	mu    sync.Mutex
	n     int
}

func (d *forgeControl) routes() http.Handler {
	mux := http.NewServeMux()
	for path, do := range map[string]func(*http.Request) any{"/add": d.add, "/say": d.say, "/tally": d.tally,
		"/ended": d.ended} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewEncoder(w).Encode(do(r))
		})
	}
	return mux
}

// add creates issues with the label: /add?n=3
func (d *forgeControl) add(r *http.Request) any {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, _ := strconv.Atoi(r.FormValue("n"))
	for range n {
		d.n++
		d.forge.Add(repository, fake.Item{Kind: fake.Issue, Title: fmt.Sprint("The report is wrong, case ", d.n),
			Author: person(d.n), Labels: []string{"coding agent"},
			Body: strings.Repeat("What I did, what I saw and what I had expected. ", 20)})
	}
	return d.n
}

// say adds a comment: /say?number=12
func (d *forgeControl) say(r *http.Request) any {
	number, _ := strconv.Atoi(r.FormValue("number"))
	return d.forge.PostComment(repository, fake.Issue, number,
		fake.Comment{Author: person(number), Body: "Mind the old format too, please. " +
			strings.Repeat("It is used by others. ", 5)})
}

// requestCounts counts requests by method, status and path, such as "GET 304
// /issues/N".
type requestCounts map[string]int

func (t requestCounts) sum(match ...string) (n int) {
	for name, count := range t {
		if !slices.ContainsFunc(match, func(part string) bool { return !strings.Contains(name, part) }) {
			n += count
		}
	}
	return n
}

// tally counts the requests since the last call.
func (d *forgeControl) tally(*http.Request) any {
	t := requestCounts{}
	for _, r := range d.forge.Requests() {
		t[fmt.Sprintf("%s %d %s", r.Method, r.Status, shape(r.URL))]++
	}
	d.forge.ClearRequests()
	return t
}

// shape is a path without what differs between issues.
func shape(url string) string {
	path, query, _ := strings.Cut(url, "?")
	parts := strings.Split(strings.TrimPrefix(path, "/api/v3"), "/")
	for i, part := range parts {
		if _, err := strconv.Atoi(part); err == nil {
			parts[i] = "N"
		}
		if strings.HasPrefix(part, "person-") {
			parts[i] = "USER"
		}
	}
	path = strings.TrimPrefix(strings.Join(parts, "/"), "/repos/"+repository)
	if path == "" {
		path = "/"
	}
	if i := strings.LastIndex(path, "/labels/"); i >= 0 {
		path = path[:i] + "/labels/NAME"
	}
	if strings.Contains(query, "labels=") {
		path += "?labels"
	}
	return path
}

// ended counts issues by label.
func (d *forgeControl) ended(*http.Request) any {
	n := map[string]int{}
	for _, number := range d.forge.Items(repository, fake.Issue) {
		item, _ := d.forge.Item(repository, fake.Issue, number)
		for _, label := range item.Labels {
			n[label]++
		}
	}
	return n
}

// ask sends a command to the control server.
func ask[T any](desk, what string) (answer T, err error) {
	res, err := http.Post(desk+what, "", nil)
	if err != nil {
		return answer, err
	}
	defer res.Body.Close()
	return answer, json.NewDecoder(res.Body).Decode(&answer)
}
