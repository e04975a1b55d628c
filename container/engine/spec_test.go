package engine

import (
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"hako/run/fault"
)

func TestEveryContainerIsConfined(t *testing.T) {
	for _, s := range []Spec{{Image: "i"}, {Image: "i", CapAdd: []string{"KILL"}, Seccomp: "{}", Memory: 5, CPUs: 0.1,
		Grace: 1500 * time.Millisecond}} {
		w, err := s.wire()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(w)
		for _, want := range []string{`"NetworkMode":"none"`, `"IpcMode":"private"`, `"RestartPolicy":{"Name":"no"}`,
			`"CapDrop":["ALL"]`, `"no-new-privileges:true"`, `"Type":"local"`, `"Init":false`, `"OomKillDisable":false`,
			`"Healthcheck":{"Test":["NONE"]}`} {
			if !strings.Contains(string(text), want) {
				t.Errorf("no %s in %s", want, text)
			}
		}
		for _, never := range []string{"Privileged", "Binds", "PidMode", "Devices", "PortBindings", "UsernsMode"} {
			if strings.Contains(string(text), never) {
				t.Errorf("%s in %s", never, text)
			}
		}
		if s.Memory > 0 {
			for _, want := range []string{`"Memory":5,"MemorySwap":5`, `"NanoCpus":100000000`, `"StopTimeout":2`, `"seccomp={}"`,
				`"CapAdd":["KILL"]`} {
				if !strings.Contains(string(text), want) {
					t.Errorf("no %s in %s", want, text)
				}
			}
		}
	}
}

func TestMountsAsTheEngineWantsThem(t *testing.T) {
	w, err := Spec{Image: "i", Mounts: []Mount{{Kind: Bind, Source: "/a", Target: "/b", ReadOnly: true},
		{Kind: Volume, Target: "/c", Options: map[string]string{"type": "ext4"}},
		{Kind: Volume, Source: "v", Target: "/d"}}}.wire()
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(w["HostConfig"].(map[string]any)["Mounts"])
	want := `[{"BindOptions":{"Propagation":"rprivate"},"ReadOnly":true,"Source":"/a","Target":"/b","Type":"bind"},` +
		`{"ReadOnly":false,"Source":"","Target":"/c","Type":"volume","VolumeOptions":{"DriverConfig":{"Name":"local","Options":{"type":"ext4"}},"Labels":null,"NoCopy":true}},` +
		`{"ReadOnly":false,"Source":"v","Target":"/d","Type":"volume","VolumeOptions":{"Labels":null,"NoCopy":true}}]`
	if string(got) != want {
		t.Errorf("%s", got)
	}
}

func TestBuildAsTheEngineWantsIt(t *testing.T) {
	for want, b := range map[string]Build{
		"forcerm=1&rm=1": {},
		"buildargs=%7B%22A%22%3A%221%22%7D&dockerfile=d%2FD&forcerm=1&labels=%7B%22l%22%3A%22%22%7D&networkmode=none&nocache=1&rm=1&t=a&t=b": {
			Dockerfile: "d/D", Tags: []string{"a", "b"}, Args: map[string]string{"A": "1"}, Labels: map[string]string{"l": ""},
			NoCache: true, Network: "none"},
	} {
		if got := b.query().Encode(); got != want {
			t.Errorf("%s", got)
		}
	}
}

func TestSpecsThatAreRefused(t *testing.T) {
	f := serve(t, answer(500, ""))
	for _, s := range []Spec{{Name: "x"}, {Image: "i", Mounts: []Mount{{Target: "/a"}}},
		{Image: "i", Mounts: []Mount{{Kind: "npipe", Target: "/a"}}}} {
		if _, err := f.Create(t.Context(), s); fault.KindOf(err) != fault.Invalid || f.calls.Load() != 0 {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// Names from elsewhere must not become another call: "x/kill?" or "../images/x".
func TestNamesThatReachElsewhere(t *testing.T) {
	f := serve(t, answer(200, "{}"))
	for _, bad := range []string{"", ".", "..", "../x", "x/json", "x?force=1", "x#", "x y", "-x", "x\n", "é",
		strings.Repeat("x", 256)} {
		for name, err := range map[string]error{
			"inspect": second(f.Inspect(t.Context(), bad)), "remove": f.Remove(t.Context(), bad),
			"start": f.Start(t.Context(), bad), "rename": f.Rename(t.Context(), bad, "x"),
			"wait": second(f.await(t.Context(), bad, "removed")), "logs": second(f.Logs(t.Context(), bad, 1)),
			"usage": second(f.Usage(t.Context(), bad)), "exec": second(f.Exec(t.Context(), bad, Exec{})),
			"volume": f.RemoveVolume(t.Context(), bad),
		} {
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s %q: %v", name, bad, err)
			}
		}
		if bad != "x/json" && fault.KindOf(second(f.Image(t.Context(), bad))) != fault.Invalid {
			t.Errorf("image %q", bad)
		}
	}
	for _, good := range []string{"x", "localhost:5000/a/b:1.2", "a@sha256:00", "sha256:00"} {
		if !imageLike(good) {
			t.Errorf("image %q", good)
		}
	}
	if f.calls.Load() != 0 {
		t.Errorf("%d reached the engine", f.calls.Load())
	}
}

func TestRemoveWaitsForWhoIsRemoving(t *testing.T) {
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodDelete:
			answer(409, `{"message":"removal of container x is already in progress"}`)(w, r)
		case r.URL.Path == "/v1.41/containers/x/wait" && r.URL.Query().Get("condition") == "removed":
			io.WriteString(w, `{"StatusCode":0}`)
		default:
			t.Errorf("asked for %s", r.URL)
		}
	})
	if err := f.Remove(t.Context(), "x"); err != nil || f.calls.Load() != 2 {
		t.Errorf("%v after %d calls", err, f.calls.Load())
	}
}

func TestWaitThatGoesWrong(t *testing.T) {
	f := serve(t, answer(200, `{"StatusCode":1,"Error":{"Message":"the state is lost"}}`))
	if _, err := f.await(t.Context(), "x", "removed"); err == nil || err.Error() != "wait for container x: the state is lost" {
		t.Errorf("%v", err)
	}
}

func TestPermissionIsExplained(t *testing.T) {
	f := serve(t, answer(200, ""))
	err := f.connFailure(t.Context(), "talk to docker", &net.OpError{Op: "dial", Err: http.ErrServerClosed})
	if !broken(err) {
		t.Errorf("not worth another try: %v", err)
	}
	err = f.connFailure(t.Context(), "talk to docker", &net.OpError{Op: "dial", Err: errPermission{}})
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(fault.Hint(err), "docker group") || broken(err) {
		t.Errorf("%v", err)
	}
}

// errPermission is EACCES, which the system does not give to root.
type errPermission struct{}

func (errPermission) Error() string        { return "permission denied" }
func (errPermission) Is(target error) bool { return target == fs.ErrPermission }
