package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hako/internal/fakes/forge"
)

const agentRepo = "acme/hello"

// TestAgent runs the scripts of the coding agent: against played forges, with
// real git and real containers.
func TestAgent(t *testing.T) {
	needContainers(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "agent"), Setup: setupAgent, RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"forge": startForge, "issue": addIssue, "say": sayAs, "label": setLabels, "look": lookAround, "spoil": spoilRequests,
			"until": until, "erase": eraseIssue,
			"app": becomeApp, "freeport": freePort, "fetch": fetch,
			"status": expectStatus, "nowhere": nowhere,
		},
	})
}

// becomeApp has the agent come as a GitHub App rather than with a token:
// app key.pem
func becomeApp(ts *testscript.TestScript, neg bool, args []string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	ts.Check(err)
	forgeOf(ts).App(7, 11, &key.PublicKey, "hako-app[bot]")
	forgeOf(ts).Member(agentRepo, "hako-app[bot]", "write")
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o600))
	ts.Setenv("GITHUB_PERSONAL_ACCESS_TOKEN", "")
}

// freePort names a port that nobody has, and writes it into agent.yaml:
// freeport PORT
func freePort(ts *testscript.TestScript, neg bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	ts.Check(l.Close())
	ts.Setenv(args[0], port)
	text := strings.ReplaceAll(ts.ReadFile("agent.yaml"), "${"+args[0]+"}", port)
	ts.Check(os.WriteFile(ts.MkAbs("agent.yaml"), []byte(text), 0o600))
	ts.Check(os.Chmod(ts.MkAbs("agent.yaml"), 0o600)) // there are secrets in it
}

// fetch gets a page and prints it: fetch http://127.0.0.1:1/x 200
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	var text []byte
	status := 0
	for range 100 { // it may just be starting
		res, err := http.Get(args[0])
		if err == nil {
			text, err = io.ReadAll(res.Body)
			res.Body.Close()
			ts.Check(err)
			if status = res.StatusCode; strconv.Itoa(status) == args[1] {
				break
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	if strconv.Itoa(status) != args[1] {
		ts.Fatalf("%s: %d %s", args[0], status, text)
	}
	_, err := ts.Stdout().Write(text)
	ts.Check(err)
}

type forgeKey struct{}

// setupAgent makes room for a forge. A script cannot fail after its last line,
// but the test it runs in can.
func setupAgent(env *testscript.Env) error {
	var f *forge.Server
	env.Values[forgeKey{}] = &f
	env.Defer(func() {
		if f == nil {
			return
		}
		f.Close()
		if list := f.Violations(); len(list) > 0 {
			env.T().Log("the forge was asked wrongly: " + strings.Join(list, "; "))
			env.T().FailNow()
		}
	})
	return setupContainers(env)
}

func forgeOf(ts *testscript.TestScript) *forge.Server { return *ts.Value(forgeKey{}).(**forge.Server) }

// startForge plays a forge with one repository, of the files in a directory:
// forge github project
func startForge(ts *testscript.TestScript, neg bool, args []string) {
	f := forge.Start(args[0])
	*ts.Value(forgeKey{}).(**forge.Server) = f
	f.SetGitRoot(ts.MkAbs(".forge"))
	ts.Check(os.MkdirAll(ts.MkAbs(".forge"), 0o700))
	token := f.User("hako-bot")
	f.User("alice")
	f.User("mallory")
	f.Repo(agentRepo)
	f.Private(agentRepo)
	f.Member(agentRepo, "hako-bot", "write")
	f.Member(agentRepo, "alice", "write")
	f.Member(agentRepo, "mallory", "read")
	ts.Check(f.Seed(agentRepo, filesBelow(ts, ts.MkAbs(args[1]))))
	name := strings.ToUpper(args[0])
	ts.Setenv(name+"_API_URL", f.API())
	ts.Setenv(name+"_PERSONAL_ACCESS_TOKEN", token)
	ts.Setenv("HAKO_GITLAB_REPOSITORIES", agentRepo) // at GitLab nobody is asked before he is added to a project
	ts.Setenv("FORGE", f.URL)
	ts.Setenv("TOKEN", token)
}

func filesBelow(ts *testscript.TestScript, dir string) map[string]string {
	files := map[string]string{}
	ts.Check(filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(text)
		return err
	}))
	return files
}

// addIssue adds an issue, whose first line is its title: issue alice bug.md [LABEL…]
func addIssue(ts *testscript.TestScript, neg bool, args []string) {
	title, body, _ := strings.Cut(ts.ReadFile(args[1]), "\n")
	labels := args[2:]
	if len(labels) == 0 {
		labels = []string{"coding agent"}
	}
	forgeOf(ts).Add(agentRepo, forge.Item{Kind: forge.Issue, Title: title, Body: strings.TrimSpace(body), Author: args[0],
		Labels: labels})
}

// sayAs lets somebody comment: say mallory 1 comment.md
func sayAs(ts *testscript.TestScript, neg bool, args []string) {
	forgeOf(ts).PostComment(agentRepo, forge.Issue, number(ts, args[1]),
		forge.Comment{Author: args[0], Body: strings.TrimSpace(ts.ReadFile(args[2]))})
}

// setLabels lets a person set the labels of an issue: label 1 'coding agent'
func setLabels(ts *testscript.TestScript, neg bool, args []string) {
	forgeOf(ts).Change(agentRepo, forge.Issue, number(ts, args[0]), func(i *forge.Item) { i.Labels = args[1:] })
}

// eraseIssue removes an issue for good: erase 1
func eraseIssue(ts *testscript.TestScript, neg bool, args []string) {
	forgeOf(ts).Delete(agentRepo, forge.Issue, number(ts, args[0]))
}

func number(ts *testscript.TestScript, word string) int {
	n, err := strconv.Atoi(word)
	ts.Check(err)
	return n
}

// lookAround writes what people see on the forge, and all references, to a file:
// look seen.txt
func lookAround(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(seen(ts)), 0o600))
}

func seen(ts *testscript.TestScript) string {
	var b strings.Builder
	ts.Check(forgeOf(ts).Print(&b, agentRepo))
	refs, err := forgeOf(ts).Refs(agentRepo)
	ts.Check(err)
	return b.String() + "\n=== references\n" + refs + "\n"
}

// until waits until the forge shows something: until 'labels: coding agent processing'
func until(ts *testscript.TestScript, neg bool, args []string) {
	for range 600 {
		if strings.Contains(seen(ts), args[0]) != neg {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	ts.Fatalf("it never came to %q:\n%s", args[0], seen(ts))
}

// spoilRequests has the forge answer wrongly: spoil GET /issues 500 [TIMES]
func spoilRequests(ts *testscript.TestScript, neg bool, args []string) {
	f := forge.Fault{Method: args[0], Path: args[1], Status: number(ts, args[2]), Message: "no " + ts.Getenv("TOKEN")}
	if len(args) > 3 {
		f.Times = number(ts, args[3])
	}
	forgeOf(ts).AddFault(f)
}
