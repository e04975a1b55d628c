package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/internal/app/coder"
	"hako/internal/app/coder/queue"
	"hako/internal/app/questions"
	"hako/internal/fakes"
	"hako/internal/fakes/browser"
	"hako/internal/testload"
)

// A served house is hako serve as a process.
type served struct {
	t                *testing.T
	cmd              *exec.Cmd
	dir              string // its home
	URL, Page, Token string
	out              *bufio.Reader
	errs             *strings.Builder
	logTo            *os.File // instead of errs, for who reads it meanwhile; nil means errs
}

// serveHako starts hako serve over a model that plays a scenario.
func serveHako(t *testing.T, scenario string, args ...string) *served {
	t.Helper()
	sc, err := fakes.Parse(scenario)
	if err != nil {
		t.Fatal(err)
	}
	model := fakes.Start(sc)
	t.Cleanup(model.Close)
	h := &served{t: t, dir: t.TempDir(), errs: &strings.Builder{}}
	if err := os.Mkdir(filepath.Join(h.dir, "proj"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.start(model.Env(), args...)
	return h
}

func (h *served) start(env []string, args ...string) {
	h.t.Helper()
	h.cmd = exec.Command(os.Args[0],
		append([]string{"serve", "--json", "--addr", "127.0.0.1:0", "--root", filepath.Join(h.dir, "proj")}, args...)...)
	h.cmd.Env = append([]string{asHako + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "XDG_STATE_HOME=" + h.dir},
		env...)
	h.cmd.Dir, h.cmd.Stderr = h.dir, h.errs
	if h.logTo != nil {
		h.cmd.Stderr = h.logTo
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = h.cmd.Process.Kill() })
	h.out = bufio.NewReader(out)
	line, err := h.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, h)
	}
	if err != nil {
		h.t.Fatalf("hako serve said %q: %v\n%s", line, err, h.errs)
	}
}

// stop ends it as a service manager would.
func (h *served) stop() {
	h.t.Helper()
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- h.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			h.t.Errorf("ended with %v\n%s", err, h.errs)
		}
	case <-time.After(testload.Bound(20 * time.Second)):
		h.t.Error("does not end")
	}
	if strings.Contains(h.errs.String(), h.Token) {
		h.t.Error("the token is in the log")
	}
}

// login opens a tab and goes through the login page.
func (h *served) login(chromium context.Context, next string) *browser.Tab {
	h.t.Helper()
	b := browser.Open(h.t, chromium, strings.TrimSuffix(h.Page, "/")) // which only we know
	if !strings.Contains(h.Page, ".localhost:") {
		h.t.Errorf("the page is at %s", h.Page)
	}
	b.Visit(next)
	b.Until("location.pathname === '/login'")
	b.Do(chromedp.SendKeys("#token", h.Token), chromedp.Click(".login .primary"))
	b.Until("location.pathname === '" + next + "'")
	return b
}

// ask is a request of a program with the token.
func (h *served) ask(method, path, body string) (int, string) {
	h.t.Helper()
	req, err := http.NewRequest(method, strings.TrimSuffix(h.URL, "/")+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.Token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

const served1 = `
models: [qwen3]
steps:
- on: ollama
  text: '{"text": "作ります。", "todoActions": [{"action": "add", "title": "牛乳を買う"}], "bashActions": [{"command": "touch made.txt", "reason": "印を残す"}]}'
- on: ollama
  text: '{"text": "もう一度作りました。", "bashActions": [{"command": "touch again.txt", "reason": "もう一度"}]}'
- on: ollama
  text: '{"text": "最後です。", "bashActions": [{"command": "touch last.txt", "reason": "最後"}]}'
`

// TestServe: a person logs in, talks, approves, watches a task, moves a to-do,
// searches the record, changes the language, on a screen and on a phone.
func TestServe(t *testing.T) {
	chromium := browser.Start(t)
	rules := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(rules, []byte("ask touch # it makes files\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := serveHako(t, served1, "--rules", rules)
	talk := h.login(chromium, "/secretary")
	talk.Until("document.querySelector('#compose')")
	talk.Do(chromedp.SendKeys("#text", "作って"), chromedp.Click("#compose button"))

	desk := h.login(chromium, "/approvals")
	desk.Until("document.querySelector('.ask')?.textContent.includes('made.txt') && document.querySelector('.ask').textContent.includes('印を残す') && document.querySelector('.ask').textContent.includes('it makes files')")
	desk.Insist("!document.querySelector('.ask')", chromedp.Click(".ask button[value=once]"))

	talk.Until("document.querySelector('#messages').textContent.includes('exit 0') && document.body.textContent.includes('作ります。') && document.querySelector('#todo-1')?.textContent.includes('牛乳を買う')")
	if _, err := os.Stat(filepath.Join(h.dir, "proj", "made.txt")); err != nil {
		t.Error("approved, but not done:", err)
	}
	talk.Until("document.querySelector('#stop').hidden") // she has said all
	talk.Do(chromedp.SendKeys("#text", "もう一度"), chromedp.Click("#compose button"))
	talk.Until("document.querySelector('.message:last-child .action .end')?.textContent === 'waits for an answer'")
	talk.Visit("/approvals") // which does not end her turn
	talk.Until("document.querySelector('.ask')?.textContent.includes('again.txt')")
	talk.Visit("/secretary")
	talk.Until("document.querySelector('#answering .ask button[value=once]')")
	talk.Insist("!document.querySelector('#answering').firstChild", chromedp.Click("#answering .ask button[value=once]"))
	talk.Until("!document.querySelector('#answering').firstChild && document.querySelector('#messages').textContent.includes('もう一度作りました。')")
	talk.Until("document.querySelector('#stop').hidden") // she has said all
	talk.Do(chromedp.SendKeys("#text", "最後に"), chromedp.Click("#compose button"))
	talk.Until("document.querySelector('.message:last-child .action button[value=deny]')")
	talk.Do(chromedp.Click(".message:last-child .action button[value=deny]"))
	talk.Until("document.querySelector('.message:last-child .action .end').textContent === 'Not run'")
	for name, made := range map[string]bool{"again.txt": true, "last.txt": false} {
		if _, err := os.Stat(filepath.Join(h.dir, "proj", name)); (err == nil) != made {
			t.Errorf("%s: %v", name, err)
		}
	}
	talk.Insist("document.querySelector('.lane-done #todo-1')", chromedp.Focus("#todo-1 .grip"), chromedp.KeyEvent(" "),
		chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(" "))

	h.watchTask(desk)

	desk.Visit("/audit?text=made.txt")
	desk.Until("document.querySelector('main').textContent.includes('touch made.txt') && document.querySelector('main').textContent.includes('approved')")
	desk.Visit("/budget")
	desk.Until("document.querySelector('main').textContent.includes('qwen3')")
	desk.Visit("/prefer?lang=ja&back=/now")
	desk.Until("document.documentElement.lang === 'ja' && document.querySelector('main').textContent.includes('touch made.txt')")
	desk.Do(chromedp.EmulateViewport(360, 740))
	for _, page := range []string{"/now", "/approvals", "/secretary", "/tasks", "/sandboxes", "/budget", "/audit",
		"/policy"} {
		desk.Visit(page)
		desk.Until("document.documentElement.scrollWidth <= 360")
	}
	talk.Quiet()
	desk.Quiet()
	h.stop()
}

// watchTask works on a task as another process would, and looks on.
func (h *served) watchTask(b *browser.Tab) {
	t, ctx := h.t, h.t.Context()
	q, err := queue.Open(ctx, queue.Options{Dir: filepath.Join(h.dir, "hako", "queue")})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	task := coder.Task{ID: "issue-12-k3j9x2ab", Provider: "github", Repo: "acme/shop", Kind: coder.Issue, Number: 12,
		Title: "The sum is wrong"}
	payload, _ := json.Marshal(task)
	if _, err := q.Put(ctx, queue.Item{ID: task.Thread(), Payload: payload}); err != nil {
		t.Fatal(err)
	}
	b.Visit("/tasks")
	b.Until("document.querySelector('main').textContent.includes('The sum is wrong')")
	lease, err := q.Take(ctx)
	if err != nil {
		t.Fatal(err)
	}
	step, _ := json.Marshal(coder.Record{Phase: coder.Execution, State: coder.Processing})
	if err := lease.Save(ctx, step); err != nil {
		t.Fatal(err)
	}
	told, _ := json.Marshal(coder.Event{Task: task.ID, Type: "phase", Phase: coder.Execution})
	if err := q.Publish(ctx, task.Thread(), queue.Event{What: "phase", Data: told}); err != nil {
		t.Fatal(err)
	}
	b.Until("document.querySelector('.steps [aria-current=step]')?.textContent.includes('Work')")
	orders, err := lease.Orders(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.Click(".orders form:nth-child(1) button"))
	if got := <-orders; got != queue.Pause {
		t.Errorf("ordered %s", got)
	}
}

// as is a visitor with another token.
func (h *served) as(token string) *served {
	other := *h
	other.Token = token
	return &other
}

// client connects a client of the official SDK to /mcp.
func (h *served) client(t *testing.T) mcpClient {
	t.Helper()
	return connect(t, &sdk.StreamableClientTransport{Endpoint: h.URL + "mcp",
		HTTPClient: &http.Client{Transport: bearer(h.Token)}})
}

// addToken makes a token for good.
func (h *served) addToken(name, role string) string {
	h.t.Helper()
	cmd := exec.Command(os.Args[0], "serve", "token", "add", name, "--role", role)
	cmd.Env = h.cmd.Env
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// question waits for one at the API, and returns its id.
func (h *served) question() string {
	h.t.Helper()
	for end := time.Now().Add(testload.Bound(20 * time.Second)); time.Now().Before(end); time.Sleep(
		20 * time.Millisecond) {
		var list struct{ Questions []questions.Question }
		_, text := h.ask("GET", "/api/v1/approvals", "")
		if json.Unmarshal([]byte(text), &list) == nil && len(list.Questions) > 0 {
			return list.Questions[0].ID
		}
	}
	h.t.Fatal("nobody asks")
	return ""
}

// TestServeSandboxes: clients of MCP have sandboxes of their own, whose questions
// go to the page; people see them and end them; with the server they end, too.
func TestServeSandboxes(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(rules, []byte("ask touch # it makes files\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := serveHako(t, "steps: []", "--rules", rules)
	kai, mika := h.as(h.addToken("kai", "operator")), h.as(h.addToken("mika", "reader"))
	c := h.client(t)
	id := c.make(map[string]any{"kind": "host"})
	if out := kai.client(t).call("execute",
		map[string]any{"sandbox_id": id, "command": "echo hi"}); out["error"] == false {
		t.Errorf("somebody else's sandbox: %v", out)
	}
	if status, text := mika.ask("POST", "/mcp", "{}"); status != http.StatusForbidden {
		t.Errorf("a reader at /mcp: %d %s", status, text)
	}
	if status, text := mika.ask("GET", "/api/v1/boxes", ""); status != http.StatusOK ||
		!strings.Contains(text, `"host"`) || strings.Contains(text, id) {
		t.Errorf("boxes: %d %s", status, text)
	}

	done := make(chan map[string]any, 1)
	go func() {
		done <- c.call("execute", map[string]any{"sandbox_id": id, "command": "touch made && ls"})
	}()
	q := h.question()
	if status, text := mika.ask("POST", "/api/v1/approvals/"+q+"/answer",
		`{"answer":"once"}`); status != http.StatusForbidden {
		t.Errorf("a reader decides: %d %s", status, text)
	}
	if status, text := kai.ask("POST", "/api/v1/approvals/"+q+"/answer", `{"answer":"once"}`); status >= 300 {
		t.Errorf("answer: %d %s", status, text)
	}
	if status, text := h.ask("POST", "/api/bash/approve/"+q+"?approved=false", ""); status != http.StatusBadRequest ||
		!strings.Contains(text, "answered it already") {
		t.Errorf("answered twice: %d %s", status, text)
	}
	if out := <-done; !strings.Contains(out["words"].(string), "made") {
		t.Errorf("approved: %v", out)
	}
	if _, text := h.ask("GET", "/api/v1/audit?text=answer+question", ""); !strings.Contains(text, `"serve:kai"`) ||
		!strings.Contains(text, "touch made") {
		t.Errorf("the record does not say who answered what: %s", text)
	}

	if _, text := mika.ask("GET", "/metrics", ""); !strings.Contains(text, `hako_sandboxes{kind="host"} 1`) ||
		!strings.Contains(text, "hako_approvals_waiting 0") ||
		!strings.Contains(text, `hako_requests_last_day{which="denied"} 0`) {
		t.Errorf("metrics: %s", text)
	}
	if _, text := h.ask("GET", "/api/v1/audit?text=sandbox_create", ""); !strings.Contains(text, `"mcp:operator`) {
		t.Errorf("the record does not say who made a sandbox: %s", text)
	}
	c.call("job_start", map[string]any{"sandbox_id": id, "command": "sleep 12345"})
	waitFor(t, func() bool { return len(running("sleep 12345")) > 0 })
	h.stop()
	waitFor(t, func() bool { return len(running("sleep 12345")) == 0 })
}

// waitFor waits for something to become true.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(testload.Bound(20 * time.Second)); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never came to be")
		}
	}
}

// running are the processes with such words.
func running(words string) (list []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range files {
		text, _ := os.ReadFile(name)
		if strings.Join(strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 }), " ") == words {
			list = append(list, name)
		}
	}
	return list
}

// TestServeFaults: a port that is taken, a question that nobody answers, and a
// database that somebody holds are said for what they are, and end nothing else.
func TestServeFaults(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules")
	settings := filepath.Join(t.TempDir(), "hako.yaml")
	if err := errors.Join(os.WriteFile(rules, []byte("ask touch # it makes files\n"), 0o600),
		os.WriteFile(settings, []byte("approval:\n  timeout: 1s\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	h := serveHako(t, "steps: []", "--rules", rules)
	again := exec.Command(os.Args[0], "serve", "--no-config", "--addr",
		strings.TrimSuffix(strings.TrimPrefix(h.URL, "http://"), "/"))
	again.Env = h.cmd.Env
	if out, err := again.CombinedOutput(); again.ProcessState.ExitCode() != 3 ||
		!strings.Contains(string(out), "hint: another program may hold the port") {
		t.Errorf("port in use: %v\n%s", err, out)
	}

	impatient := serveHako(t, "steps: []", "--rules", rules, "--config", settings)
	c := impatient.client(t)
	id := c.make(map[string]any{"kind": "host"})
	done := make(chan map[string]any, 1)
	go func() { done <- c.call("execute", map[string]any{"sandbox_id": id, "command": "touch made"}) }()
	q := impatient.question()
	if out := <-done; !strings.Contains(out["words"].(string), "nobody answered") {
		t.Errorf("silence: %v", out)
	}
	if status, text := impatient.ask("POST", "/api/v1/approvals/"+q+"/answer",
		`{"answer":"once"}`); status != http.StatusNotFound || !strings.Contains(text, "nobody answered in time") {
		t.Errorf("answered late: %d %s", status, text)
	}
	if _, err := os.Stat(filepath.Join(impatient.dir, "proj", "made")); err == nil {
		t.Error("done without an answer")
	}
	impatient.stop()
	h.stop()
}

// TestServeTLS: with a certificate it may listen beyond this machine, and the
// cookie is for this host and TLS alone.
func TestServeTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	pool := selfSigned(t, cert, key)
	h := serveHako(t, "steps: []", "--addr", "0.0.0.0:0", "--tls-cert", cert, "--tls-key", key, "--name",
		"box.example.com")
	port := h.URL[strings.LastIndex(h.URL, ":"):]
	if h.URL != "https://box.example.com"+port {
		t.Errorf("it is at %s", h.URL)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool,
		ServerName: "box.example.com"}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for host, want := range map[string]int{"box.example.com": http.StatusSeeOther,
		"evil.example.com": http.StatusMisdirectedRequest} {
		req, _ := http.NewRequest("POST", "https://127.0.0.1"+port+"login",
			strings.NewReader(url.Values{"token": {h.Token}}.Encode()))
		req.Host = host
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		cookie := resp.Header.Get("Set-Cookie")
		if resp.StatusCode != want || want == http.StatusSeeOther &&
			!(strings.HasPrefix(cookie, "__Host-") && strings.Contains(cookie, "HttpOnly") &&
				strings.Contains(cookie, "Secure") && strings.Contains(cookie, "SameSite=Strict")) {
			t.Errorf("%s: %d %q", host, resp.StatusCode, cookie)
		}
	}
	h.stop()
}

// selfSigned writes a certificate and its key.
func selfSigned(t *testing.T, certFile, keyFile string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"box.example.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := errors.Join(os.WriteFile(certFile, certPEM, 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600)); err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return pool
}

// TestServeSaysItsModel: who the secretary is, or what she needs, is said at the
// start and not at the first word; all else is served without her.
func TestServeSaysItsModel(t *testing.T) {
	sc, err := fakes.Parse(served1)
	if err != nil {
		t.Fatal(err)
	}
	model := fakes.Start(sc)
	defer model.Close()
	for want, env := range map[string][]string{
		`level=INFO msg="the secretary has a model" model="ollama qwen3"`: model.Env(),
		`level=WARN msg="the secretary has no model"`:                     {"OLLAMA_HOST=127.0.0.1:1"},
	} {
		out, log, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		h := &served{t: t, dir: t.TempDir(), errs: &strings.Builder{}}
		if err := os.Mkdir(filepath.Join(h.dir, "proj"), 0o700); err != nil {
			t.Fatal(err)
		}
		h.logTo = log
		h.start(env)
		log.Close()
		late := time.AfterFunc(20*time.Second, func() { out.Close() })
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil || !strings.Contains(line, want) || strings.Contains(want, "WARN") &&
			!strings.Contains(line, `error_hint="start Ollama`) {
			t.Errorf("said %q, %v, want %q", line, err, want)
		}
		if status, text := h.ask("GET", "/api/v1/todos", ""); status != http.StatusOK {
			t.Errorf("to-dos: %d %s", status, text)
		}
		h.stop()
		late.Stop()
		out.Close()
	}
}
