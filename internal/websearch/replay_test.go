package websearch

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"hako/run/fault"
)

var update = flag.Bool("update", false, "write what came out into the archives")

// The keys of the tests. They must never be seen in what comes out.
const (
	testGoogleKey = "AIzaTEST-google-key"
	testGoogleCX  = "cx-0123456789"
	testBraveKey  = "BSATEST-brave-key"
)

// options returns what leads all engines to one server.
func options(address string) Options {
	return Options{
		GoogleKey: testGoogleKey, GoogleCX: testGoogleCX, BraveKey: testBraveKey,
		GoogleURL: address + "/customsearch/v1", BraveURL: address + "/res/v1/web/search", SearxngURL: address,
		Pace: time.Millisecond, Timeout: 5 * time.Second,
	}
}

// engineOf opens the engine of a provider, whatever the test of it.
func engineOf(t *testing.T, provider string, o Options) Engine {
	t.Helper()
	e, name, err := Choose(provider, true, o)
	if err != nil || name != provider {
		t.Fatalf("%s: opened %q, %v", provider, name, err)
	}
	return e
}

// TestReplay plays the archives: a query, the requests that the engine must
// send one after the other and what the service answers to each, and what must
// come of it.
func TestReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d archives, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "testdata/"), func(t *testing.T) {
			t.Parallel()
			replay(t, file)
		})
	}
}

func replay(t *testing.T, file string) {
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := newService(t, ar)
	defer s.Close()
	provider := filepath.Base(filepath.Dir(file))
	if provider == "google" {
		provider = "google_cse"
	}
	var q Query
	if err := json.Unmarshal([]byte(part(ar, "query.json")), &q); err != nil {
		t.Fatal(err)
	}
	hits, err := engineOf(t, provider, options(s.URL)).Search(t.Context(), q)
	got := outcome(hits, err)
	if s.asked != s.expects {
		t.Errorf("sent %d requests, want %d", s.asked, s.expects)
	}
	for _, key := range []string{testGoogleKey, testGoogleCX, testBraveKey} {
		if strings.Contains(got, key) {
			t.Errorf("the key is shown: %s", got)
		}
	}
	if want := part(ar, "want"); got != want {
		if *update {
			rewrite(t, file, ar, got)
			return
		}
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// outcome spells what came of a search.
func outcome(hits []Hit, err error) string {
	if err != nil {
		return fmt.Sprintf("%v: %v\nhint: %s\n", fault.KindOf(err), err, fault.Hint(err))
	}
	if len(hits) == 0 {
		return "no hits\n"
	}
	return Format(hits, 0)
}

func part(ar *txtar.Archive, name string) string {
	i := slices.IndexFunc(ar.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return ""
	}
	return string(ar.Files[i].Data)
}

func rewrite(t *testing.T, file string, ar *txtar.Archive, want string) {
	i := slices.IndexFunc(ar.Files, func(f txtar.File) bool { return f.Name == "want" })
	if i < 0 {
		i = len(ar.Files)
		ar.Files = append(ar.Files, txtar.File{Name: "want"})
	}
	ar.Files[i].Data = []byte(want)
	if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A service answers as an archive says, and only what it says.
type service struct {
	*httptest.Server
	asked, expects int
}

func newService(t *testing.T, ar *txtar.Archive) *service {
	s := new(service)
	for _, f := range ar.Files {
		if strings.HasSuffix(f.Name, ".request") {
			s.expects++
		}
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked++
		want, answer := part(ar, fmt.Sprint(s.asked)+".request"), part(ar, fmt.Sprint(s.asked)+".response")
		if got := spelled(r); got != want {
			t.Errorf("request %d was\n%s\nwant\n%s", s.asked, got, want)
		}
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), r)
		if err != nil {
			t.Error(err)
			return
		}
		for k, v := range resp.Header {
			w.Header()[k] = v
		}
		w.WriteHeader(resp.StatusCode)
		io.Copy(w, resp.Body)
	}))
	return s
}

// spelled writes a request as it stands in an archive.
func spelled(r *http.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL.Path)
	if token := r.Header.Get("X-Subscription-Token"); token != "" {
		fmt.Fprintf(&b, "X-Subscription-Token: %s\n", token)
	}
	query, _ := url.ParseQuery(r.URL.RawQuery)
	var names []string
	for name := range query {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s=%s\n", name, strings.Join(query[name], ","))
	}
	return b.String()
}
