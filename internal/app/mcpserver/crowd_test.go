package mcpserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hako/audit"
)

// crowd is a thousand callers with a virtual sandbox each, over HTTP in the
// current protocol, by a client that costs next to nothing: it shares the cores.
type crowd struct {
	url  string
	web  *http.Client
	ids  []string
	next atomic.Int64
}

const current = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func (c *crowd) post(caller int, tool, arguments string) (string, error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments +
		`,` + current + `}}`
	req, err := http.NewRequest(http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"},
		"Mcp-Method":           {"tools/call"}, "Mcp-Name": {tool}, "Authorization": {fmt.Sprintf("Bearer c%d", caller)}}
	res, err := c.web.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

// gather makes the sandboxes.
func gather(t testing.TB, n int) (*crowd, *Server) {
	t.Helper()
	maker := newVirtual("")
	maker.log = nothing{}
	d := open(t, Options{Maker: maker, Caller: byHeader, Limits: Limits{Total: n}})
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	c := &crowd{url: overHTTP(t, d), web: &http.Client{Transport: transport}}
	for i := range n {
		text, err := c.post(i, "sandbox_create", `{"kind":"virtual"}`)
		_, data, _ := strings.Cut(text, "data: ")
		var out struct {
			Result struct {
				StructuredContent struct {
					ID string `json:"sandbox_id"`
				}
			}
		}
		if json.Unmarshal([]byte(data), &out) != nil || err != nil || out.Result.StructuredContent.ID == "" {
			t.Fatalf("%s %v", text, err)
		}
		c.ids = append(c.ids, out.Result.StructuredContent.ID)
	}
	return c, d
}

// echo runs a command in the next sandbox.
func (c *crowd) echo(t testing.TB) time.Duration {
	i := int(c.next.Add(1)) % len(c.ids)
	began := time.Now()
	text, err := c.post(i, "execute", `{"sandbox_id":"`+c.ids[i]+`","command":"echo hi"}`)
	if err != nil || !strings.Contains(text, `"stdout_text":"hi\n"`) {
		t.Errorf("%s %v", text, err)
	}
	return time.Since(began)
}

// rush runs commands, so many at the same time, and returns how long each took.
func (c *crowd) rush(t testing.TB, atOnce, each int) (took []time.Duration) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			var mine []time.Duration
			for range each {
				mine = append(mine, c.echo(t))
			}
			mu.Lock()
			took = append(took, mine...)
			mu.Unlock()
		})
	}
	all.Wait()
	slices.Sort(took)
	return took
}

func at(sorted []time.Duration, part float64) time.Duration {
	return sorted[int(float64(len(sorted)-1)*part)].Round(time.Microsecond)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// nothing is a log that keeps nothing.
type nothing struct{}

func (nothing) Append(audit.Event) error { return nil }

// TestThousandSandboxes holds what is promised: a thousand virtual sandboxes at
// once cost no more than 300 KB each, and "echo hi" in them takes no more than 10
// ms for 95 of 100. How long it takes says little on a machine that is busy with
// other things: it is only checked where HAKO_BENCH is set, at the best of three
// tries, and told in any case.
func TestThousandSandboxes(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as hako mcp and hako serve have it
	n, calls := 1000, 800
	if raced {
		n, calls = 100, 80
	}
	before := heap()
	c, _ := gather(t, n)
	c.rush(t, 8, n/8) // each has run something
	each := (int64(heap()) - int64(before)) / int64(n)
	t.Logf("%d KB for each of %d sandboxes", each/1024, n)
	if each > 300<<10 && !raced {
		t.Errorf("%d bytes for each sandbox", each)
	}
	for _, atOnce := range []int{1, 4, 16} {
		if p95 := c.best(t, atOnce, calls/atOnce); p95 > 10*time.Millisecond && os.Getenv("HAKO_BENCH") != "" {
			t.Errorf("%d at once: p95 is %v", atOnce, p95)
		}
	}
}

// best is the p95 of a rush, or of the best of three where it matters.
func (c *crowd) best(t *testing.T, atOnce, each int) time.Duration {
	tries, best := 1, time.Hour
	if os.Getenv("HAKO_BENCH") != "" {
		tries = 3
	}
	for range tries {
		took := c.rush(t, atOnce, each)
		t.Logf("%d at once: median %v, p95 %v, p99 %v", atOnce, at(took, 0.5), at(took, 0.95), at(took, 0.99))
		best = min(best, at(took, 0.95))
	}
	return best
}

func BenchmarkExecute(b *testing.B) {
	c, _ := gather(b, 1000)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		c.echo(b)
	}
}
