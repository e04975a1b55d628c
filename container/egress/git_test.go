package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"hako/run/fault"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

const token = "glpat-0123456789abcdefXYZ"

func authorization() (string, string, error) {
	return "Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("oauth2:"+token)), nil
}

// lending is a proxy that lends the token to one repository of example.com.
func lending(roots *x509.CertPool, services ...string) *Proxy {
	return &Proxy{Credentials: []Credential{{Host: "example.com", Repository: "/group/project", Services: services,
		Header: authorization, Roots: roots}}}
}

// secureSite serves https as example.com.
func secureSite(t *testing.T, w *world, handler http.HandlerFunc) *x509.CertPool {
	t.Helper()
	site := httptest.NewUnstartedServer(handler)
	site.Config.ErrorLog = quiet()
	site.StartTLS()
	t.Cleanup(site.Close)
	roots := x509.NewCertPool()
	roots.AddCert(site.Certificate())
	w.host("example.com", "93.184.215.14", "443", site.URL)
	return roots
}

func endpoint(method, path, more string) string {
	return method + " http://git.hako.internal" + path + " HTTP/1.1\r\nHost: git.hako.internal\r\n" + more + "\r\n"
}

const (
	refs      = "/example.com/group/project.git/info/refs?service=git-upload-pack"
	asksFetch = "Content-Type: application/x-git-upload-pack-request\r\nContent-Length: 4\r\n"
)

func TestLend(t *testing.T) {
	w := newWorld()
	roots := secureSite(t, w, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %v %s", r.Method, r.Host, r.RequestURI, user == "oauth2" && password == token, body)
		for name := range r.Header {
			if strings.HasPrefix(name, "X-") || name == "Cookie" || name == "Accept-Encoding" {
				fmt.Fprint(w, " got ", name)
			}
		}
	})
	dial := w.serve(t, lending(roots, UploadPack, ReceivePack))
	const mine = "Authorization: Basic bWluZTptaW5l\r\nCookie: a=b\r\nX-HTTP-Method-Override: DELETE\r\nAccept-Encoding: gzip\r\nGit-Protocol: version=2\r\n"
	for request, want := range map[string]string{
		endpoint("GET", refs, mine): "GET example.com /group/project.git/info/refs?service=git-upload-pack true ",
		endpoint("GET", "/EXAMPLE.com:443/group/project/info/refs?service=git-receive-pack",
			""): "GET example.com /group/project/info/refs?service=git-receive-pack true ",
		endpoint("POST", "/example.com/group/project.git/git-upload-pack", asksFetch) +
			"0000": "POST example.com /group/project.git/git-upload-pack true 0000",
		"GET " + refs + " HTTP/1.1\r\nHost: git.hako.internal\r\n\r\n": "GET example.com /group/project.git/info/refs?service=git-upload-pack true ",
		"GET http://GIT.HAKO.INTERNAL:80" + refs +
			" HTTP/1.1\r\nHost: Git.hako.internal.\r\n\r\n": "GET example.com /group/project.git/info/refs?service=git-upload-pack true ",
	} {
		if resp, text := ask(t, dial, request); resp.StatusCode != 200 || text != want {
			t.Errorf("%q: %s %q", request, resp.Status, text)
		}
	}
	for _, e := range w.told(t, Opened, 5) {
		if !e.Credential || e.Host != "example.com" || e.Port != 443 || !strings.HasPrefix(e.Path, "/group/project") {
			t.Errorf("on record: %+v", e)
		}
	}
}

// TestLendAttacks asks for what the credential is not for. No request leaves.
func TestLendAttacks(t *testing.T) {
	w := newWorld()
	roots := secureSite(t, w,
		func(w http.ResponseWriter, r *http.Request) { t.Errorf("asked for %s %s", r.Method, r.RequestURI) })
	dial := w.serve(t, lending(roots, UploadPack))
	w.names["evil.example"] = "93.184.215.14"
	const pack = "/example.com/group/project.git/git-upload-pack"
	for _, request := range []string{
		endpoint("GET", "/evil.example/group/project.git/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/example.com:444/group/project.git/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/example.com/group/other.git/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/example.com/group/project2/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/example.com/group/project.git.git/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/example.com/group/project.wiki.git/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/example.com/group/Project.git/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/example.com/group/project.git/../other.git/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/example.com/group/project.git/%2e%2e/other.git/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/example.com/group/project.git/..%2fother.git/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/example.com/group/./project.git/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/example.com//group/project.git/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "//example.com/group/project.git/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/example.com/group/project.git//info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/example.com/group%2fproject.git/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/example.com/group/projec%74.git/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/example.com/group/project.git/info/refs%3fservice=git-upload-pack", ""),
		endpoint("GET", "/example.com/group\\project.git/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/u:p@example.com/group/project.git/info/refs?service=git-upload-pack", ""),
		endpoint("GET", "/example.com/group/project.git/info/refs?service=git-receive-pack", ""),
		endpoint("GET", "/example.com/group/project.git/info/refs", ""),
		endpoint("GET", "/example.com/group/project.git/info/refs?service=git-upload-pack&service=git-receive-pack", ""),
		endpoint("GET", "/example.com/group/project.git/info/refs?service=git-upload-pack&private_token=x", ""),
		endpoint("GET", "/example.com/group/project.git/info/refs?x=y&service=git-upload-pack", ""),
		endpoint("GET", "/example.com/group/project.git/info/refs?service=git-upload-archive", ""),
		endpoint("GET", "/example.com/group/project.git/HEAD", ""),
		endpoint("GET", "/example.com/group/project.git/objects/info/packs", ""),
		endpoint("GET", "/example.com/group/project.git", ""),
		endpoint("GET", "/example.com/api/v4/user", ""),
		endpoint("GET", "/example.com/group/project/-/settings", ""),
		endpoint("GET", "/", ""), endpoint("GET", "", ""), endpoint("GET", "/example.com", ""),
		endpoint("GET", "/info/refs?service=git-upload-pack", ""),
		endpoint("HEAD", refs, ""), endpoint("DELETE", refs, ""), endpoint("get", refs, ""),
		endpoint("POST", refs, asksFetch) + "0000",
		endpoint("GET", pack, ""), endpoint("PUT", pack, asksFetch) + "0000", endpoint("POST", pack+"?x", asksFetch) + "0000",
		endpoint("POST", pack, "Content-Length: 4\r\n") + "0000",
		endpoint("POST", pack, "Content-Type: application/x-git-receive-pack-request\r\nContent-Length: 4\r\n") + "0000",
		endpoint("POST", "/example.com/group/project.git/git-receive-pack",
			"Content-Type: application/x-git-receive-pack-request\r\nContent-Length: 4\r\n") + "0000",
		"GET http://git.hako.internal:8080" + refs + " HTTP/1.1\r\nHost: git.hako.internal:8080\r\n\r\n",
		"GET http://evil.example" + refs + " HTTP/1.1\r\nHost: git.hako.internal\r\n\r\n",
		"GET http://git.hako.internal" + refs + " HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		"GET https://git.hako.internal" + refs + " HTTP/1.1\r\nHost: git.hako.internal\r\n\r\n",
		"CONNECT git.hako.internal:443 HTTP/1.1\r\nHost: git.hako.internal:443\r\n\r\n",
	} {
		resp, text := ask(t, dial, request)
		if resp.StatusCode != 403 || strings.Contains(text, token) || resp.Request.Method != "HEAD" &&
			!strings.Contains(text, "hint: ") {
			t.Errorf("%q: %s %q", request, resp.Status, text)
		}
	}
	if got := w.dials(); len(got) > 0 {
		t.Errorf("dialled %v", got)
	}
}

// TestUncheckedServers lends nothing to a server whose certificate is not good.
func TestUncheckedServers(t *testing.T) {
	w := newWorld()
	var asked atomic.Int32
	secureSite(t, w, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	dial := w.serve(t, lending(x509.NewCertPool(), UploadPack))
	if resp, text := ask(t, dial, endpoint("GET", refs, "")); resp.StatusCode != 502 || asked.Load() != 0 {
		t.Errorf("%s %s", resp.Status, text)
	}
	insecure := lending(nil, UploadPack)
	insecure.Credentials[0].InsecureTLS = true
	dial = w.serve(t, insecure)
	if resp, text := ask(t, dial, endpoint("GET", refs, "")); resp.StatusCode != 200 || asked.Load() != 1 {
		t.Errorf("%s %s", resp.Status, text)
	}
}

func TestPlainHTTP(t *testing.T) {
	w := newWorld()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		fmt.Fprint(w, r.Host, password == token)
	}))
	defer site.Close()
	w.host("git.corp.example", "10.0.0.7", "8080", site.URL)
	p := &Proxy{Private: []string{"git.corp.example"},
		Credentials: []Credential{{Host: "git.corp.example:8080", Repository: "/a", Services: []string{UploadPack},
			Header: authorization, PlainHTTP: true}}}
	dial := w.serve(t, p)
	if resp, text := ask(t, dial, endpoint("GET", "/git.corp.example:8080/a/info/refs?service=git-upload-pack",
		"")); text != "git.corp.example:8080true" {
		t.Errorf("%s %s", resp.Status, text)
	}
}

// TestEchoes has servers send the credential back in every way they know.
func TestEchoes(t *testing.T) {
	w := newWorld()
	var kind string
	roots := secureSite(t, w, func(w http.ResponseWriter, r *http.Request) {
		value := r.Header.Get("Authorization")
		switch h := w.Header(); kind {
		case "header":
			h.Set("X-Echo", value)
			h.Set("Cache-Control", value)
			h.Set("Pragma", "x"+token+"x")
			h.Set("Set-Cookie", "a="+token)
			h.Set("Www-Authenticate", "Basic realm="+token)
		case "redirect":
			http.Redirect(w, r, "https://evil.example/?t="+token, http.StatusFound)
		case "redirect here":
			http.Redirect(w, r, "https://example.com/group/project/info/refs?service=git-upload-pack&t="+token, http.StatusFound)
		case "body":
			fmt.Fprint(w, strings.Repeat("x", 100_000)+value+"tail")
		case "token":
			fmt.Fprint(w, "before "+token+" after")
		case "refusal":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, "not good: ", token)
		case "error":
			http.Error(w, "cannot "+value, http.StatusInternalServerError)
		case "packed":
			if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				h.Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				defer z.Close()
				fmt.Fprint(z, token)
			}
		}
	})
	dial := w.serve(t, lending(roots, UploadPack))
	for kind = range map[string]int{"header": 0, "redirect": 0, "redirect here": 0, "body": 0, "token": 0, "refusal": 0,
		"error": 0, "packed": 0} {
		c := open(t, dial)
		c.send(endpoint("GET", refs, "Connection: close\r\nAccept-Encoding: gzip\r\n"))
		all, _ := io.ReadAll(c.in)
		_, value, _ := authorization()
		for _, secret := range []string{token, value, value[len("Basic "):]} {
			if bytes.Contains(all, []byte(secret)) {
				t.Errorf("%s: %s", kind, all)
			}
		}
		if len(all) == 0 || bytes.Contains(all, []byte("tail")) || bytes.Contains(all, []byte("after")) {
			t.Errorf("%s: %.200s", kind, all)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.Contains(fmt.Sprint(w.events), token) {
		t.Error("the token is on record")
	}
}

// TestRedirects follows a repository that moved only to where a credential is.
func TestRedirects(t *testing.T) {
	w := newWorld()
	var location string
	roots := secureSite(t, w, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusMovedPermanently)
	})
	p := lending(roots, UploadPack)
	p.Credentials = append(p.Credentials, Credential{Host: "example.com", Repository: "/new/home",
		Services: []string{UploadPack}, Header: authorization, Roots: roots})
	dial := w.serve(t, p)
	for to, want := range map[string]string{
		"https://example.com/new/home.git/info/refs?service=git-upload-pack":   "http://git.hako.internal/example.com/new/home.git/info/refs?service=git-upload-pack",
		"/new/home/info/refs?service=git-upload-pack":                          "http://git.hako.internal/example.com/new/home/info/refs?service=git-upload-pack",
		"https://example.com/third/home.git/info/refs?service=git-upload-pack": "",
		"https://evil.example/new/home.git/info/refs?service=git-upload-pack":  "",
		"http://example.com/new/home.git/info/refs?service=git-upload-pack":    "",
		"https://u@example.com/new/home/info/refs?service=git-upload-pack":     "",
		"https://example.com/users/sign_in":                                    "",
		"":                                                                     "",
	} {
		location = to
		resp, text := ask(t, dial, endpoint("GET", refs, ""))
		if got := resp.Header.Get("Location"); got != want || want == "" &&
			(resp.StatusCode != 403 || !strings.Contains(text, "redirects")) {
			t.Errorf("%s: %s %q %s", to, resp.Status, got, text)
		}
	}
}

func TestNoCredentialToBeHad(t *testing.T) {
	w := newWorld()
	roots := secureSite(t, w, func(http.ResponseWriter, *http.Request) { t.Error("asked") })
	for _, header := range []func() (string, string, error){
		func() (string, string, error) { return "", "", errors.New("cannot renew " + token) },
		func() (string, string, error) { return "Authorization", "", nil },
		func() (string, string, error) { return "Authorization", token + "\r\nX: y", nil },
		func() (string, string, error) { return "Bad Name", token, nil },
	} {
		p := lending(roots, UploadPack)
		p.Credentials[0].Header = header
		dial := w.serve(t, p)
		if resp, text := ask(t, dial, endpoint("GET", refs, "")); resp.StatusCode != 502 || strings.Contains(text, token) {
			t.Errorf("%s %s", resp.Status, text)
		}
	}
}

// TestStreams has both sides wait for the other in the middle of a body: whoever
// buffers would wait for ever.
func TestStreams(t *testing.T) {
	w := newWorld()
	roots := secureSite(t, w, func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		piece := make([]byte, 4)
		for {
			if _, err := io.ReadFull(r.Body, piece); err != nil {
				return
			}
			w.Write(bytes.ToUpper(piece))
			w.(http.Flusher).Flush()
		}
	})
	dial := w.serve(t, lending(roots, UploadPack))
	c := open(t, dial)
	c.send(endpoint("POST", "/example.com/group/project.git/git-upload-pack",
		"Content-Type: application/x-git-upload-pack-request\r\nTransfer-Encoding: chunked\r\n"))
	c.send("4\r\nabcd\r\n")
	resp, err := http.ReadResponse(c.in, &http.Request{Method: "POST"})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		got := make([]byte, 4)
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != "ABCD" {
			t.Fatalf("%q %v", got, err)
		}
		c.send("4\r\nabcd\r\n")
	}
	c.send("0\r\n\r\n")
	if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "ABCD" {
		t.Errorf("%q %v", rest, err)
	}
}

func TestGuard(t *testing.T) {
	secret := "tok-tok-token"
	for text, want := range map[string]string{
		"": "", "plain": "plain", "tok-tok-toke": "tok-tok-toke", "tok-tok-tok-tok-toke!": "tok-tok-tok-tok-toke!",
	} {
		for _, from := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)),
			iotest.DataErrReader(strings.NewReader(text))} {
			if got, err := io.ReadAll(newSecretReader(from, []string{secret})); err != nil || string(got) != want {
				t.Errorf("%q: %q %v", text, got, err)
			}
		}
	}
	for _, text := range []string{secret, "a" + secret + "b", "tok-" + secret, strings.Repeat("x", 32<<10-5) + secret} {
		for _, from := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)),
			iotest.HalfReader(strings.NewReader(text))} {
			got, err := io.ReadAll(newSecretReader(from, []string{"other-secret", secret}))
			if !errors.Is(err, errLeak) || bytes.Contains(got, []byte("tok-tok-")) && text != "tok-"+secret {
				t.Errorf("%.30q: %.30q %v", text, got, err)
			}
		}
	}
	torn := io.MultiReader(strings.NewReader("xtok-tok-toke"), iotest.ErrReader(errors.New("torn")))
	if got, _ := io.ReadAll(newSecretReader(torn, []string{secret})); string(got) != "x" {
		t.Errorf("torn: %q", got)
	}
}

func TestSecrets(t *testing.T) {
	_, value, _ := authorization()
	if got := secrets(value); len(got) != 3 || got[2] != token {
		t.Error(got)
	}
	if got := secrets("Bearer " + token); len(got) != 2 || got[1] != token {
		t.Error(got)
	}
	if got := secrets("abc"); len(got) != 0 {
		t.Error(got)
	}
	if fault.KindOf(errLeak) != fault.Denied {
		t.Error(errLeak)
	}
}

// A forge is a real git server that wants the token.
func forge(t *testing.T, root string) http.HandlerFunc {
	t.Helper()
	where, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(where)), "git-http-backend"), Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=oauth2", "HOME=" + root,
			"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}}
	return func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != token {
			w.Header().Set("Www-Authenticate", `Basic realm="forge"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.TransferEncoding = nil // package cgi minds chunks, git does not
		backend.ServeHTTP(w, r)
	}
}

// A hand runs git the way it runs in a container.
type hand struct {
	t    *testing.T
	home string
	env  []string
}

func (h *hand) git(dir string, args ...string) (string, error) {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.home, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"},
		h.env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (h *hand) must(dir string, args ...string) string {
	h.t.Helper()
	out, err := h.git(dir, args...)
	if err != nil {
		h.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("HAKO_REQUIRE_TOOLS") != "" {
			t.Fatal(err)
		}
		t.Skip("no git here")
	}
}

// TestGit clones, fetches and pushes with a real git, a large file among it, over
// bridge, socket and proxy, and looks for the token in everything that is inside.
func TestGit(t *testing.T) {
	needGit(t)
	root, inside := t.TempDir(), t.TempDir()
	h := &hand{t: t, home: inside}
	bare := filepath.Join(root, "group", "project.git")
	h.must(root, "init", "-q", "--bare", "-b", "main", bare)
	h.must(root, "init", "-q", "--bare", "-b", "main", filepath.Join(root, "group", "other.git"))
	w := newWorld()
	roots := secureSite(t, w, forge(t, root))
	bridge := startBridge(t, w.serve(t, lending(roots, UploadPack, ReceivePack)))
	h.env = []string{"http_proxy=http://" + bridge.address, "https_proxy=http://" + bridge.address,
		"GIT_TRACE_CURL=" + filepath.Join(inside, "trace")}
	h.must(inside, "config", "--global", "url.http://git.hako.internal/example.com/.insteadOf", "https://example.com/")

	h.must(inside, "clone", "-q", "https://example.com/group/project.git", "one")
	one := filepath.Join(inside, "one")
	large := make([]byte, 6<<20)
	rand.Read(large)
	if err := os.WriteFile(filepath.Join(one, "large"), large, 0o600); err != nil {
		t.Fatal(err)
	}
	h.must(one, "add", ".")
	h.must(one, "commit", "-q", "-m", "first")
	h.must(one, "push", "-q", "origin", "HEAD:main")
	h.must(inside, "clone", "-q", "--depth", "1", "https://example.com/group/project", "two")
	if got, err := os.ReadFile(filepath.Join(inside, "two", "large")); err != nil || !bytes.Equal(got, large) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	h.must(filepath.Join(inside, "two"), "fetch", "-q", "origin")
	if out, err := h.git(inside, "clone", "https://example.com/group/other.git"); err == nil ||
		!strings.Contains(out, "403") {
		t.Errorf("another repository: %v %s", err, out)
	}
	bridge.stop(t)
	nothingHolds(t, inside, w)
}

// nothingHolds looks for the token in every file of a directory and on record.
func nothingHolds(t *testing.T, dir string, w *world) {
	t.Helper()
	_, value, _ := authorization()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, secret := range secrets(value) {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("the token is in %s", path)
			}
		}
		files++
		return err
	})
	if err != nil || files < 20 {
		t.Errorf("looked into %d files: %v", files, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.Contains(fmt.Sprint(w.events), token) {
		t.Error("the token is on record")
	}
}

// TestGitMayOnlyFetch has a credential that is not for pushing.
func TestGitMayOnlyFetch(t *testing.T) {
	needGit(t)
	root, inside := t.TempDir(), t.TempDir()
	h := &hand{t: t, home: inside}
	h.must(root, "init", "-q", "--bare", "-b", "main", filepath.Join(root, "group", "project.git"))
	w := newWorld()
	dial := w.serve(t, lending(secureSite(t, w, forge(t, root)), UploadPack))
	bridge := startBridge(t, dial)
	h.env = []string{"http_proxy=http://" + bridge.address}
	h.must(inside, "clone", "-q", "http://git.hako.internal/example.com/group/project.git", "one")
	one := filepath.Join(inside, "one")
	h.must(one, "commit", "-q", "--allow-empty", "-m", "first")
	if out, err := h.git(one, "push", "origin", "HEAD:main"); err == nil || !strings.Contains(out, "403") {
		t.Errorf("%v %s", err, out)
	}
	bridge.stop(t)
}

// TestClientsDoNotShare gives nobody a connection that another one opened.
func TestClientsDoNotShare(t *testing.T) {
	w := newWorld()
	roots := secureSite(t, w, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
	dial := w.serve(t, lending(roots, UploadPack))
	for range 2 {
		c := open(t, dial)
		for range 2 {
			c.send(endpoint("GET", refs, ""))
			c.answer("GET")
		}
	}
	if got := w.dials(); len(got) != 2 {
		t.Errorf("dialled %v", got)
	}
}

// TestManyAtOnce is for the race detector.
func TestManyAtOnce(t *testing.T) {
	w, dial := siteWorld(t, &Proxy{Open: true})
	errs := make(chan error)
	for i := range 40 {
		go func() {
			transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return dial() },
				Proxy: http.ProxyURL(mustURL("http://proxy"))}
			defer transport.CloseIdleConnections()
			for range 5 {
				resp, err := (&http.Client{Transport: transport}).Post("http://ok.example/echo", "text/plain",
					strings.NewReader(strings.Repeat("x", 1000*i)))
				if err != nil {
					errs <- err
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			errs <- nil
		}()
	}
	for range 40 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	w.told(t, Closed, 200)
}
