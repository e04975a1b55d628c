package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hako/container"
	"hako/container/engine"
	"hako/container/lang"
	"hako/internal/testload"
)

// envToken is what the git server of the scripts wants; nothing but the server
// may ever show it.
const envToken = "glpat-Zx81vTq0LmN3pRs5"

// TestEnvironments runs the scripts that need containers.
func TestEnvironments(t *testing.T) {
	needContainers(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "env"), Setup: setupContainers, RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"gitserver": gitServer, "status": expectStatus,
			"nowhere": nowhere, "warmed": warmed, "builder": builder},
	})
}

// needContainers skips a test that cannot have them, unless it must.
func needContainers(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: containers take their time")
	}
	if why := withoutContainers(); why != "" {
		missing(t, why)
	}
}

// missing skips a test aloud, and fails it where everything has to be there.
func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("HAKO_REQUIRE_TOOLS") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// withoutContainers says what is missing.
var withoutContainers = sync.OnceValue(func() string {
	e, err := engine.Open("")
	if err != nil {
		return err.Error()
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(context.Background(), testload.Bound(10*time.Second))
	defer cancel()
	all, err := lang.All()
	if err != nil {
		return err.Error()
	}
	for _, l := range all {
		if _, err := e.Image(ctx, l.Image); err != nil {
			return "no containers: " + err.Error() + " (make images)"
		}
	}
	return ""
})

// setupContainers gives a script a short directory for its sockets, and what
// this machine needs to reach package registries.
func setupContainers(env *testscript.Env) error {
	if err := prepare(env); err != nil {
		return err
	}
	state, err := os.MkdirTemp("", "hk")
	if err != nil {
		return err
	}
	env.Defer(func() {
		takeDown(env)
		os.RemoveAll(state)
	})
	env.Setenv("XDG_STATE_HOME", state)
	env.Setenv("TOKEN", envToken)
	env.Setenv("EXECUTOR_PRIVATE_NETWORKS", registryNetwork())
	env.Setenv("EXECUTOR_CA_CERTIFICATES", os.Getenv("SSL_CERT_FILE"))
	return nil
}

// takeDown removes what a script that did not come to its end left.
func takeDown(env *testscript.Env) {
	hako := func(words ...string) string {
		cmd := exec.Command(os.Args[0], words...)
		cmd.Args[0], cmd.Env = "hako", append(env.Vars, asHako+"=1")
		out, _ := cmd.Output()
		return string(out)
	}
	var list struct{ Tasks []container.Info }
	_ = json.Unmarshal([]byte(hako("env", "list", "--json")), &list)
	for _, task := range list.Tasks {
		hako("env", "down", "--task", task.TaskUUID)
	}
	removeOwnImages(env.Getenv("XDG_STATE_HOME"))
}

// removeOwnImages removes the images that repositories of a script brought.
func removeOwnImages(state string) {
	id, err := os.ReadFile(filepath.Join(state, "hako", "env", "id"))
	if err != nil {
		return
	}
	e, err := engine.Open("")
	if err != nil {
		return
	}
	defer e.Close()
	list, _ := e.Images(context.Background(), map[string]string{"hako.project": strings.TrimSpace(string(id))})
	for _, image := range list {
		_ = e.RemoveImage(context.Background(), image.ID)
	}
}

// registryNetwork is where this machine's way to package registries leads, if
// that is not a public address; else nothing.
var registryNetwork = sync.OnceValue(func() string {
	out, _ := exec.Command("go", "env", "GOPROXY").Output()
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), ",")
	u, err := url.Parse(first)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	addrs, _ := net.LookupHost(u.Hostname())
	for _, text := range addrs {
		addr, err := netip.ParseAddr(text)
		if err != nil || !addr.Is4() || addr.IsLoopback() {
			continue
		}
		network, _ := addr.Prefix(24)
		return network.String()
	}
	return ""
})

// serveGit serves the repositories in a directory to whoever has the token.
func serveGit(root string) (*httptest.Server, error) {
	core, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return nil, err
	}
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(core)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != envToken {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	})), nil
}

// gitServer serves the directories of a script as bare repositories to whoever
// has the token, and sets GIT to its address: gitserver app other
func gitServer(ts *testscript.TestScript, neg bool, args []string) {
	root := ts.MkAbs(".git-served")
	for _, name := range args {
		cmd := exec.Command("sh", "-c",
			`git init -q -b main . && git add -A . && git -c user.name=t -c user.email=t@example.com commit -q -m one && git clone -q --bare . "$0" && git -C "$0" config http.receivepack true`, filepath.Join(root, name+".git"))
		cmd.Dir = ts.MkAbs(name)
		if out, err := cmd.CombinedOutput(); err != nil {
			ts.Fatalf("%s: %v: %s", name, err, out)
		}
	}
	server, err := serveGit(root)
	ts.Check(err)
	ts.Defer(server.Close)
	ts.Setenv("GIT", server.URL)
	ts.Setenv("SERVER", strings.TrimPrefix(server.URL, "http://"))
	ts.Setenv("GITLAB_API_URL", server.URL+"/api/v4")
	ts.Setenv("GITLAB_PERSONAL_ACCESS_TOKEN", envToken)
}

// builder serves an engine that builds every image at once, but for those on a base
// named broken, and sets DOCKER_HOST to its address: a real one would replace the
// images that other scripts use.
func builder(ts *testscript.TestScript, neg bool, args []string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case r.URL.Path == "/_ping":
			w.Header().Set("Api-Version", "1.41")
		case strings.Contains(r.URL.Query().Get("buildargs"), "broken"):
			io.WriteString(w, `{"stream":"Step 1/1 : FROM broken\n"}`+"\n"+`{"error":"no such base"}`+"\n")
		default:
			io.WriteString(w, `{"stream":"Step 1/1 : FROM base\n"}`+"\n"+`{"aux":{"ID":"sha256:1"}}`+"\n")
		}
	}))
	ts.Defer(server.Close)
	ts.Setenv("DOCKER_HOST", "tcp://"+server.Listener.Addr().String())
}

// nowhere fails if a text is in any file below a directory: nowhere $TOKEN DIR
func nowhere(ts *testscript.TestScript, neg bool, args []string) {
	_ = filepath.WalkDir(ts.MkAbs(args[1]), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), args[0]) {
			ts.Fatalf("%s has it", path)
		}
		return nil
	})
}

// warmed waits until a container of an environment waits for a task.
func warmed(ts *testscript.TestScript, neg bool, args []string) {
	for range 300 {
		ts.Check(ts.Exec("hako", "env", "list", "--json"))
		if strings.Contains(ts.ReadFile("stdout"), `"warm":1`) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	ts.Fatalf("no container was kept warm")
}
