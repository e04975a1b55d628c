package tool

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"hako/internal/redact"
)

// TestPagesFromMemory reads an output page by page: it is run once as long as
// no file changes.
func TestPagesFromMemory(t *testing.T) {
	long := strings.Repeat("日本語の行 and more\n", 1000)
	e, ran := newExecutor(t, map[string]string{"a.txt": long}, nil)
	state, told := "1", []string(nil)
	e.State = func() string { return state }
	e.Remembered = func(actor, command string) { told = append(told, actor+" "+command) }
	var all strings.Builder
	for start, hit := int64(0), false; ; hit = true {
		out := e.Call(t.Context(), Input{Command: "cat a.txt", Start: start})
		if !out.OK || out.CacheHit != hit || out.TotalBytes != int64(len(long)) {
			t.Fatalf("at %d: %+v %v", start, out, out.Error)
		}
		all.WriteString(out.StdoutText)
		if out.NextStart == nil {
			break
		}
		start = *out.NextStart
	}
	if all.String() != long || len(ran.scripts) != 1 || len(told) < 5 || told[0] != "test cat a.txt" {
		t.Errorf("%d bytes, ran %q, told %q", all.Len(), ran.scripts, told)
	}
	for i, change := range []func(){
		func() {}, // the first page is always a new run
		func() { state = "2" },
		func() { e.Fingerprint += "x" },
		func() { e.State = nil },
	} {
		change()
		if out := e.Call(t.Context(), Input{Command: "cat a.txt", Start: int64(min(i, 1) * 4095)}); out.CacheHit ||
			len(ran.scripts) != i+2 {
			t.Errorf("%d: hit %v, ran %d", i, out.CacheHit, len(ran.scripts))
		}
	}
}

// TestOtherPagesAreRun has outputs that are not kept.
func TestOtherPagesAreRun(t *testing.T) {
	big := strings.Repeat("0123456789abcde\n", maxOutput/16+1)
	e, ran := newExecutor(t, map[string]string{"big.txt": big, "a.txt": "1\n"}, nil)
	e.State = func() string { return "" }
	for _, in := range []Input{{Command: "cat big.txt"}, {Command: "cat big.txt", Start: 4096}, {Command: "cat a.txt"},
		{Command: "cat a.txt", Start: 1}, {Command: "cat  a.txt big.txt", Start: 1}} {
		before := len(ran.scripts)
		if out := e.Call(t.Context(), in); out.CacheHit || len(ran.scripts) != before+1 {
			t.Errorf("%+v: %+v", in, out)
		}
	}
}

func TestKeptOutputIsTheSame(t *testing.T) {
	e := &Executor{Runner: talker{out: strings.Repeat("x", 5000), err: "warned\n"}, Cache: NewCache(),
		State: func() string { return "" }}
	five := int64(5)
	e.Call(t.Context(), Input{Command: "cat"})
	hit := e.Call(t.Context(), Input{Command: "cat", Start: 4998, Size: &five})
	e.Cache = nil
	again := e.Call(t.Context(), Input{Command: "cat", Start: 4998, Size: &five})
	if !hit.CacheHit || again.CacheHit {
		t.Fatalf("hit %v, then %v", hit.CacheHit, again.CacheHit)
	}
	if hit.CacheHit = false; fmt.Sprint(hit) != fmt.Sprint(again) || hit.StderrText != "warned\n" {
		t.Errorf("from memory %+v, run %+v", hit, again)
	}
}

func TestOutputsAreBounded(t *testing.T) {
	c := NewCache()
	for i := range 10 {
		c.keep(fmt.Sprint(i), &output{})
	}
	if _, ok := c.output("9"); !ok || c.outputs.Len() != cacheOutputs {
		t.Errorf("%d outputs, the newest %v", c.outputs.Len(), ok)
	}
}

const token = "ghp_0123456789abcdef0123456789abcdef"

// TestSecretsAcrossPages moves a secret over the border of a page: no page has
// part of it, and the pages fit together.
func TestSecretsAcrossPages(t *testing.T) {
	secrets := new(redact.Set)
	secrets.Add("correct horse")
	for _, secret := range []string{token, "password=hunter22", "correct horse"} {
		for before := MaxPage - len(secret) - 2; before <= MaxPage+1; before++ {
			text := strings.Repeat("x", before-1) + " " + secret + " " + strings.Repeat("y", 100) + "\n"
			e := &Executor{Runner: talker{out: text, err: "cat: " + secret + "\n"}, Secrets: secrets}
			first := e.Call(t.Context(), Input{Command: "cat"})
			second := e.Call(t.Context(), Input{Command: "cat", Start: *first.NextStart})
			want := secrets.Text(text)
			if first.StdoutText+second.StdoutText != want || first.TotalBytes != int64(len(want)) || second.NextStart != nil {
				t.Fatalf("%d bytes before %s: …%q + %q", before, secret, first.StdoutText[MaxPage-40:], second.StdoutText)
			}
			if first.Redacted != 2 || second.Redacted != 2 ||
				!strings.HasPrefix(first.Note, "2 secrets were redacted from the output") {
				t.Fatalf("%d and %d places, %q", first.Redacted, second.Redacted, first.Note)
			}
			if !strings.Contains(first.StderrText, redact.Mark) {
				t.Fatalf("standard error: %s", first.StderrText)
			}
		}
	}
}

func TestVerbatim(t *testing.T) {
	e := &Executor{Runner: talker{out: token, err: token}, Verbatim: true}
	if out := e.Call(t.Context(), Input{Command: "cat"}); out.StdoutText != token || out.StderrText != token {
		t.Errorf("%+v", out)
	}
}

func TestMemoryHasNoSecrets(t *testing.T) {
	e := &Executor{Runner: talker{out: strings.Repeat(token+"\n", 1000)}, Cache: NewCache(),
		State: func() string { return "" }}
	e.Call(t.Context(), Input{Command: "cat", Idempotency: "k"})
	for _, in := range []Input{{Command: "cat", Start: 4096}, {Command: "cat", Idempotency: "k"}} {
		if out := e.Call(t.Context(), in); !out.CacheHit || strings.Contains(out.StdoutText, "0123456789") ||
			!strings.Contains(out.StdoutText, redact.Mark) {
			t.Errorf("%+v", out)
		}
	}
}

func TestExecuteConcurrently(t *testing.T) {
	e := &Executor{Runner: talker{out: strings.Repeat(token+"\n", 500)}, Cache: NewCache(),
		State: func() string { return "" }}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			out := e.Call(t.Context(), Input{Command: "cat", Start: int64(i), Idempotency: fmt.Sprint(i % 3)})
			if !out.OK || !out.Truncated || strings.Contains(out.StdoutText, "ghp") {
				t.Errorf("%+v", out)
			}
		})
	}
	all.Wait()
}
