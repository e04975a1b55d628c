package fakes

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptKey is the key of what [Setup] stores for the commands.
type scriptKey struct{}

// A scriptState is the fake of one script.
type scriptState struct {
	t      testscript.T
	server *Server // nil if none is running
}

// Setup must be called by the setup of scripts that use [Command]. A script cannot fail
// after its last line, but its test can.
func Setup(env *testscript.Env) { env.Values[scriptKey{}] = &scriptState{t: env.T()} }

// Command is for scripts: "fake FILE" serves the scenario in FILE and sets the
// environment so that programs find it. A script with violations fails, if not by
// [Done] then at its end.
func Command(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fake FILE")
	}
	at := stateOf(ts)
	if at.server != nil {
		ts.Fatalf("a fake is running already: end it with fake-done")
	}
	sc, err := Parse(ts.ReadFile(args[0]))
	ts.Check(err)
	server := Start(sc)
	at.server = server
	setEnv(ts, server.Env())
	ts.Defer(func() {
		server.Close()
		if at.server == server && report(ts, server) {
			at.t.FailNow()
		}
	})
}

// Done is for scripts: "fake-done" ends the fake and fails if there were violations.
// Another one can be started after it.
func Done(ts *testscript.TestScript, neg bool, args []string) {
	at := stateOf(ts)
	if neg || len(args) != 0 || at.server == nil {
		ts.Fatalf("usage: fake-done, after fake")
	}
	server := at.server
	at.server = nil
	server.Close()
	if report(ts, server) {
		ts.Fatalf("the fake was not used as its scenario says")
	}
}

func stateOf(ts *testscript.TestScript) *scriptState {
	at, ok := ts.Value(scriptKey{}).(*scriptState)
	if !ok {
		ts.Fatalf("the setup of these scripts does not call fakes.Setup")
	}
	return at
}

// setEnv sets the variables, and clears those of an earlier fake.
func setEnv(ts *testscript.TestScript, env []string) {
	for _, name := range Names() {
		if ts.Getenv(name) != "" {
			ts.Setenv(name, "")
		}
	}
	for _, kv := range env {
		name, v, _ := strings.Cut(kv, "=")
		ts.Setenv(name, v)
	}
}

// report logs the violations and reports whether there are any.
func report(ts *testscript.TestScript, s *Server) bool {
	all := s.Finish()
	for _, v := range all {
		ts.Logf("fake: %s", v)
	}
	return len(all) > 0
}
