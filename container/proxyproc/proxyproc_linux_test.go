package proxyproc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hako/container/egress"
	"hako/container/guest"
	"hako/container/guest/server"
	"hako/internal/testload"
)

// asKeeper makes the test binary be a keeper that notes down what it sees.
const asKeeper = "be-a-keeper"

func TestMain(m *testing.M) {
	server.Main(os.Args[0], os.Args[1:])
	if len(os.Args) > 1 && os.Args[1] == asKeeper {
		os.Exit(beKeeper(os.Args[2]))
	}
	os.Exit(m.Run())
}

// beKeeper serves, and leaves its environment and arguments in a file.
func beKeeper(note string) int {
	st, l, err := Read()
	if err != nil {
		return 2
	}
	_ = os.WriteFile(note, []byte(strings.Join(append(os.Environ(), os.Args...), "\n")), 0o600)
	log, _ := os.OpenFile(note+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	err = Serve(context.Background(), st, l, func(e egress.Event) error {
		_, err := io.WriteString(log, e.What+" "+e.Host+"\n")
		return err
	})
	if err != nil {
		return 1
	}
	return 0
}

// world is a guest and the socket of a proxy.
type world struct {
	guest    *os.Process
	settings Settings
	listener *os.File
	egress   string
	note     string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("a guest is root")
	}
	dir, err := os.MkdirTemp("", "k")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &world{egress: filepath.Join(dir, "e.sock"), note: filepath.Join(dir, "note")}
	w.settings = Settings{Task: "t", Guest: filepath.Join(dir, "g.sock")}
	o := guest.Options{Socket: w.settings.Guest, UID: 65534, GID: 65534, Dir: "/", Spool: dir}
	exe, _ := os.Executable()
	w.guest, err = os.StartProcess(exe, append([]string{guest.Name}, o.Args()...),
		&os.ProcAttr{Files: []*os.File{nil, nil, os.Stderr}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.guest.Kill(); w.guest.Wait() })
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: w.egress, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if w.listener, err = l.File(); err != nil {
		t.Fatal(err)
	}
	l.Close()
	await(t, "the guest", func() bool {
		c, err := guest.Dial(t.Context(), w.settings.Guest)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return w
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(testload.Bound(10 * time.Second)); time.Now().Before(end); time.Sleep(
		10 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatal("waited in vain for " + what)
}

// ask sends one request through the proxy.
func (w *world) ask(t *testing.T, url string) int {
	t.Helper()
	c, err := net.Dial("unix", w.egress)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	host := strings.TrimPrefix(url, "http://")
	io.WriteString(c, "GET "+url+"/ HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// A keeper serves a socket that was there before it, is told its secrets by a pipe
// alone, and is gone when its container is.
func TestStart(t *testing.T) {
	w := newWorld(t)
	t.Setenv("KEEPER_TEST_TOKEN", "never-to-be-inherited")
	w.settings.Lent = []GitCredential{{Host: "git.example.com", Repository: "/a/b", Services: []string{egress.UploadPack},
		Name: "Authorization", Value: "Basic very-secret-value"}}
	exe, _ := os.Executable()
	if err := Start(exe, []string{"hako", asKeeper, w.note}, w.settings, w.listener); err != nil {
		t.Fatal(err)
	}
	w.listener.Close()
	if got := w.ask(t, "http://example.com"); got != http.StatusForbidden {
		t.Errorf("a host that is not on the list: %d", got)
	}
	seen, err := os.ReadFile(w.note)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"never-to-be-inherited", "very-secret-value"} {
		if strings.Contains(string(seen), secret) {
			t.Errorf("%q is in the environment or the arguments of the keeper", secret)
		}
	}
	if log, _ := os.ReadFile(w.note + ".log"); !strings.Contains(string(log), "denied example.com") {
		t.Errorf("on record is %q", log)
	}
	w.guest.Kill()
	w.guest.Wait()
	await(t, "the end of the keeper", func() bool {
		_, err := net.Dial("unix", w.egress)
		return errors.Is(err, syscall.ECONNREFUSED)
	})
}

// git asks for a push, or a fetch, and returns the status.
func (w *world) git(t *testing.T, service string) int {
	t.Helper()
	c, err := net.Dial("unix", w.egress)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(c, "GET http://"+egress.Endpoint+"/"+w.settings.Lent[0].Host+"/a/b/info/refs?service="+service+
		" HTTP/1.1\r\nHost: "+egress.Endpoint+"\r\nConnection: close\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// pushWorld is a world whose credential may be used for pushes once that is permitted.
func pushWorld(t *testing.T) (*world, *egress.Permission) {
	w := newWorld(t)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	push := new(egress.Permission)
	err := w.settings.Lend([]egress.Credential{{Host: strings.TrimPrefix(server.URL, "http://"), Repository: "/a/b",
		Services: []string{egress.UploadPack}, Push: push, PlainHTTP: true,
		Header: func() (string, string, error) { return "Authorization", "Basic very-secret-value", nil }}})
	if err != nil {
		t.Fatal(err)
	}
	exe, _ := os.Executable()
	if err := Start(exe, []string{"hako", asKeeper, w.note}, w.settings, w.listener); err != nil {
		t.Fatal(err)
	}
	w.listener.Close()
	return w, push
}

// A keeper lends nothing for pushes before it is permitted.
func TestPermission(t *testing.T) {
	w, push := pushWorld(t)
	for range 3 {
		if got := w.git(t, egress.UploadPack); got != http.StatusOK {
			t.Errorf("a fetch: %d", got)
		}
		if got := w.git(t, egress.ReceivePack); got != http.StatusForbidden {
			t.Errorf("a push that was not permitted: %d", got)
		}
	}
	if err := push.Give(); err != nil || push.Give() != nil {
		t.Error(err)
	}
	await(t, "the permission", func() bool { return w.git(t, egress.ReceivePack) == http.StatusOK })
}

// Nothing but the permission is one: whoever was to send it may have been killed.
func TestNoPermission(t *testing.T) {
	for text, given := range map[string]bool{"": false, "{}": false, `{"push":false}`: false, `{"push":tr`: false,
		"nonsense": false, `{"push":true}`: true} {
		s := Settings{decoder: json.NewDecoder(strings.NewReader(text)), push: new(egress.Permission)}
		if s.awaitPush(); s.push.Given() != given {
			t.Errorf("%q: given is %v", text, !given)
		}
	}
	if (*egress.Permission)(nil).Given() {
		t.Error("no permission is one")
	}
}

func TestServeWithoutGuest(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = Serve(t.Context(), Settings{Guest: "/nonexistent/guest.sock"}, l, func(egress.Event) error { return nil })
	if err == nil {
		t.Error("it serves a container that is not there")
	}
}

func TestLend(t *testing.T) {
	var s Settings
	header := func() (string, string, error) { return "Authorization", "Basic x", nil }
	if err := s.Lend([]egress.Credential{{Host: "git.example.com", Repository: "/a/b",
		Services: []string{egress.UploadPack}, Header: header, PlainHTTP: true}}); err != nil {
		t.Fatal(err)
	}
	got := s.credentials()
	if len(got) != 1 || got[0].Host != "git.example.com" || got[0].Repository != "/a/b" || !got[0].PlainHTTP {
		t.Errorf("got %+v", got)
	}
	if name, value, _ := got[0].Header(); name != "Authorization" || value != "Basic x" {
		t.Errorf("header %s: %s", name, value)
	}
	if len(s.Private) != 0 {
		t.Errorf("every request may go to the private addresses of %v", s.Private)
	}
	bad := errors.New("no header")
	err := s.Lend([]egress.Credential{{Header: func() (string, string, error) { return "", "", bad }}})
	if !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
}

func TestCheck(t *testing.T) {
	for _, s := range []Settings{{Allow: []string{"*"}}, {Allow: []string{"https://example.com/"}},
		{Private: []string{"10.0.0.0/99"}}} {
		if s.Check() == nil {
			t.Errorf("%+v makes no sense and passes", s)
		}
	}
	if err := (&Settings{Open: true, Allow: []string{"example.com"},
		Private: []string{"10.0.0.0/8"}}).Check(); err != nil {
		t.Error(err)
	}
}
