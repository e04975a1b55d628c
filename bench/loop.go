package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"hako/agent"
	"hako/agent/tool"
	"hako/audit"
	"hako/llm"
	"hako/llm/replay"
	"hako/quota"
)

// loopTurns is the length of the scripted conversation.
const loopTurns = 1000

// loopFigures measures the agent loop: the cost of a turn without the model, and the memory
// of a long conversation.
func loopFigures(dir string) ([]figure, error) {
	d, cost, err := converse(dir)
	if err != nil {
		return nil, err
	}
	return []figure{
		{name: "one turn of the loop beside the model: time", got: cost.time / loopTurns, target: 2 * time.Millisecond},
		{name: "one turn of the loop: allocations, payload included", count: float64(cost.allocs) / loopTurns, limit: 100},
		{name: "memory after 1000 turns, as a multiple of their text", count: float64(cost.heap) / float64(textOf(d)),
			limit: 2, unit: "×"},
	}, nil
}

// A loopCost is the cost of a whole conversation.
type loopCost struct {
	time   time.Duration
	allocs uint64
	heap   uint64
}

// converse runs a conversation of many turns, each with one call whose output is 1 KB,
// through the agent loop with budget and audit log.
func converse(dir string) (*llm.Dialog, loopCost, error) {
	var turns strings.Builder
	for i := range loopTurns - 1 {
		fmt.Fprintf(&turns, `{"text":"step %d","calls":[{"id":"c%d","name":"say","arguments":{"n":%d}}],"usage":{"input_tokens":9,"output_tokens":3}}`+"\n", i, i, i)
	}
	turns.WriteString(`{"text":"done"}`)
	model, err := replay.Parse(strings.NewReader(turns.String()))
	if err != nil {
		return nil, loopCost{}, err
	}
	log, err := audit.Open(filepath.Join(dir, "audit-loop.jsonl"), audit.Options{})
	if err != nil {
		return nil, loopCost{}, err
	}
	defer log.Close()
	meter := quota.New(quota.Unlimited())
	a := &agent.Agent{
		Model: &agent.ChargedModel{Model: model, Name: "script", Budget: meter, Log: log},
		Tools: []tool.Tool{sayTool()}, Budget: meter, Log: log, Turns: loopTurns, Context: 1 << 40,
	}
	d := new(llm.Dialog)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	_, err = a.Run(context.Background(), d, agent.Request{Text: "go"})
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	allocs := after.Mallocs - before.Mallocs
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(model)
	return d, loopCost{took, allocs, after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)}, err
}

// sayTool returns a kilobyte for each call.
func sayTool() tool.Tool {
	type input struct {
		N int `json:"n"`
	}
	return tool.New("say", "says a kilobyte", func(_ context.Context, in input) (string, error) {
		return fmt.Sprintf("%01024d", in.N), nil
	})
}

func textOf(d *llm.Dialog) (n int) {
	for _, it := range d.Items {
		n += len(it.Text)
		for _, c := range it.Calls {
			n += len(c.ID) + len(c.Name) + len(c.Arguments)
		}
	}
	return n
}

// wireFigures measures the latency of hako run with a server on this machine: of its request,
// and of the streamed answer.
func wireFigures(hako, dir string) ([]figure, error) {
	var asked, passed []time.Duration
	for range 21 {
		a, p, err := oneRun(hako, dir)
		if err != nil {
			return nil, err
		}
		asked, passed = append(asked, a), append(passed, p)
	}
	return []figure{
		{name: "start of hako run to its request on the wire", got: median(asked), target: 30 * time.Millisecond},
		{name: "a streamed byte's arrival to its showing on standard output", got: median(passed),
			target: 5 * time.Millisecond},
	}, nil
}

// oneRun starts hako with a server that sends one word at once and the end a while later.
func oneRun(hako, dir string) (asked, passed time.Duration, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, 0, err
	}
	arrived, sent := make(chan time.Time, 1), make(chan time.Time, 1)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- time.Now()
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		stream(w, sent)
	})}
	go srv.Serve(ln)
	defer srv.Close()
	cmd := exec.Command(hako, "run", "--no-config", "--audit", filepath.Join(dir, "audit-wire.jsonl"), "--model", "chat:m",
		"hello")
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=bench", "OPENAI_BASE_URL=http://"+ln.Addr().String()+"/v1",
		"XDG_STATE_HOME="+filepath.Join(dir, "state"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	if _, err := bufio.NewReader(out).ReadByte(); err != nil {
		return 0, 0, fmt.Errorf("hako run printed nothing: %w", err)
	}
	shown := time.Now()
	asked, passed = (<-arrived).Sub(began), shown.Sub(<-sent)
	return asked, passed, cmd.Wait()
}

// stream sends a word, waits, and ends the stream.
func stream(w http.ResponseWriter, sent chan<- time.Time) {
	chunk := func(rest string) {
		fmt.Fprintf(w, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,%s}]}\n\n", rest)
		w.(http.Flusher).Flush()
	}
	chunk(`"delta":{"role":"assistant","content":"hello"},"finish_reason":null`)
	sent <- time.Now()
	time.Sleep(50 * time.Millisecond)
	chunk(`"delta":{},"finish_reason":"stop"`)
	fmt.Fprint(w, "data: [DONE]\n\n")
}
