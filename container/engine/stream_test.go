package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"hako/run/fault"
)

// frame spells a piece of a stream.
func frame(stream byte, text string) string {
	head := []byte{stream, 0, 0, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(head[4:], uint32(len(text)))
	return string(head) + text
}

func TestDemux(t *testing.T) {
	long := strings.Repeat("x", 3*maxPiece+1)
	for in, want := range map[string]string{
		"": " ",
		frame(1, "a") + frame(2, "b") + frame(1, ""): "a b",
		frame(0, "a") + frame(3, "trouble"):          "a trouble",
		frame(1, long):                               long + " ",
	} {
		for _, reader := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in)),
			iotest.DataErrReader(strings.NewReader(in))} {
			var out, err strings.Builder
			if wrong := demux(reader, &out, &err); wrong != nil || out.String()+" "+err.String() != want {
				t.Errorf("%.40q: %.40q, %.40q, %v", in, out.String(), err.String(), wrong)
			}
		}
	}
	for in, want := range map[string]error{
		"\x01\x00":                         io.ErrUnexpectedEOF,
		frame(1, "abc")[:9]:                io.ErrUnexpectedEOF,
		frame(1, "abc")[:8]:                io.ErrUnexpectedEOF,
		"\x01\x00\x00\x00\xff\xff\xff\xff": io.ErrUnexpectedEOF,
		frame(4, "a"):                      errFrame,
		"HTTP/1.1 500":                     errFrame,
		"\x01\x01\x00\x00\x00\x00\x00\x00": errFrame,
	} {
		if err := demux(strings.NewReader(in), io.Discard, io.Discard); err != want {
			t.Errorf("%q: %v, want %v", in, err, want)
		}
	}
}

func FuzzDemux(f *testing.F) {
	f.Add([]byte(frame(1, "a") + frame(2, "b")))
	f.Add([]byte(frame(1, "abc")[:9]))
	f.Add([]byte("\x01\x00\x00\x00\xff\xff\xff\xffx"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out, err bytes.Buffer
		wrong := demux(bytes.NewReader(in), &out, &err)
		if out.Len()+err.Len() > len(in) {
			t.Errorf("%d bytes of %d", out.Len()+err.Len(), len(in))
		}
		if wrong == nil && (len(in)-out.Len()-err.Len())%8 != 0 {
			t.Errorf("something is lost of %q", in)
		}
	})
}

// execing is an engine that runs a command by what script does with the
// connection, and says this and that about how it ended.
func execing(t *testing.T, script func(net.Conn), ends ...string) *fake {
	var asked atomic.Int32
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/start"):
			io.Copy(io.Discard, r.Body)
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
			script(conn)
		case strings.HasSuffix(r.URL.Path, "/exec"):
			io.WriteString(w, `{"Id":"abc"}`)
		default:
			end := ends[min(int(asked.Add(1)), len(ends))-1]
			if end == "" {
				panic(http.ErrAbortHandler)
			}
			io.WriteString(w, end)
		}
	})
}

func TestExecWhoseEngineFails(t *testing.T) {
	say := func(text string) func(net.Conn) { return func(c net.Conn) { io.WriteString(c, text) } }
	for name, c := range map[string]struct {
		script func(net.Conn)
		ends   []string
		want   string
	}{
		"reset while it runs": {func(c net.Conn) { io.ReadFull(c, make([]byte, 1)) }, []string{`{"Running":true}`},
			"hung up"},
		"cut in a frame":      {say(frame(1, "hello")[:10]), nil, "hung up: it ended in the middle"},
		"cut in a head":       {say("\x01\x00"), nil, "hung up"},
		"garbage":             {say("garbage garbage"), nil, "is invalid"},
		"dead afterwards":     {say(frame(1, "a")), []string{""}, "hung up"},
		"no status":           {say(frame(1, "a")), []string{`{"Running":false}`}, "is invalid"},
		"garbage of a status": {say(""), []string{"x"}, "is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			f := execing(t, c.script, c.ends...)
			var out bytes.Buffer
			x := Exec{Argv: []string{"a"}, Stdout: &out}
			if strings.HasPrefix(name, "reset") {
				x.Stdin = strings.NewReader("input")
			}
			_, err := f.Exec(t.Context(), "x", x)
			if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestExecThatEndsAfterItsStreams(t *testing.T) {
	f := execing(t, func(net.Conn) {}, `{"Running":true}`, `{"Running":true,"ExitCode":0}`,
		`{"Running":false,"ExitCode":5}`)
	if exit, err := f.Exec(t.Context(), "x", Exec{Argv: []string{"a"}}); exit != 5 || err != nil {
		t.Errorf("%d, %v", exit, err)
	}
}

func TestExecThatReadsNoInput(t *testing.T) {
	f := execing(t, func(net.Conn) {}, `{"ExitCode":0}`)
	endless := readerFunc(func(p []byte) (int, error) { return len(p), nil })
	if _, err := f.Exec(t.Context(), "x", Exec{Argv: []string{"a"}, Stdin: endless}); err != nil {
		t.Error(err)
	}
}

func TestExecWithoutUpgrade(t *testing.T) {
	f := serve(t, answer(200, `{"Id":"abc"}`))
	if _, err := f.Exec(t.Context(), "x", Exec{Argv: []string{"a"}}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("%v", err)
	}
}

func TestLogsThatAreNotKept(t *testing.T) {
	for _, h := range []http.HandlerFunc{answer(501, ""),
		answer(500, `{"message":"configured logging driver does not support reading"}`)} {
		if got, err := serve(t, h).Logs(t.Context(), "x", 5); got != "" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := serve(t, answer(500, `{"message":"disk"}`)).Logs(t.Context(), "x", 5); fault.KindOf(
		err) != fault.Unavailable {
		t.Errorf("another fault: %v", err)
	}
}

func TestLogsAreBounded(t *testing.T) {
	f := serve(t, answer(200, strings.Repeat(frame(1, strings.Repeat("a", 1000)+"\n"), 200)+frame(2, "end\x1b\n")))
	got, err := f.Logs(t.Context(), "x", 5)
	if err != nil || len(got) != maxText-len("\x1b") || !strings.HasSuffix(got, "a\nend\n") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// building reads a build's messages.
func building(t *testing.T, body string) ([]string, error) {
	var lines []string
	err := serve(t, answer(200, body)).Build(t.Context(), Build{Tags: []string{"x"}, Context: strings.NewReader("")},
		func(line string) { lines = append(lines, line) })
	return lines, err
}

func TestBuildProgress(t *testing.T) {
	lines, err := building(t, strings.Join([]string{
		`{"stream":"Step 1/2 : FROM x\n"}`,
		`{"status":"Pulling from library/x","id":"latest"}`,
		`{"status":"Downloading","id":"a","progressDetail":{"current":5,"total":9}}`,
		`{"status":"Pull complete","id":"a"}`, ``,
		`{"stream":"one "}`, `{"stream":"two\nthree"}`, `{"stream":"\n\n"}`,
		`{"stream":"10%\r50%\r100%\r\n"}`,
		`{"stream":"\u001b[1;31mred\u001b[0m\u202e \u0007bell\n"}`,
		`{"stream":"rest"}`,
		`{"aux":{"ID":"sha256:abc"}}`, ``,
	}, "\r\n"))
	want := []string{"Step 1/2 : FROM x", "latest: Pulling from library/x", "a: Pull complete", "one two", "three", "100%",
		"red bell", "rest"}
	if err != nil || !slices.Equal(lines, want) {
		t.Errorf("%q, %v", lines, err)
	}
}

func TestBuildLimits(t *testing.T) {
	q := Build{Memory: 1 << 20, CPUs: 1.5, Network: "none"}.query()
	for key, want := range map[string]string{"memory": "1048576", "memswap": "1048576", "cpuperiod": "100000",
		"cpuquota": "150000", "networkmode": "none"} {
		if q.Get(key) != want {
			t.Errorf("%s is %q, want %s", key, q.Get(key), want)
		}
	}
	if q = (Build{}).query(); q.Has("memory") || q.Has("cpuquota") {
		t.Errorf("no limit: %v", q)
	}
}

func TestBuildsThatFail(t *testing.T) {
	for body, want := range map[string]string{
		`{"stream":"Step 2/3 : RUN make\n"}` + "\n" +
			`{"errorDetail":{"code":2,"message":"x"},"error":"The command returned 2"}`: "build image x: step 2/3, RUN make: the command returned 2",
		`{"stream":"STEP 2: RUN make\n"}` + "\n" +
			`{"error":"building"}`: "build image x: step 2: RUN make: building",
		`{"errorDetail":{"message":"pull access\ndenied"}}`: "build image x: pull access denied",
		`{"stream":"Step 1/3 : FROM x\n"}`:                  "build image: docker at ",
		"":                                                  "build image: docker at ",
		"garbage":                                           "build image x: docker's answer is invalid",
		`{"stream":` + strings.Repeat("a",
			maxMessage): "build image x: docker's answer is invalid",
	} {
		if _, err := building(t, body); err == nil || !strings.HasPrefix(err.Error(), want) ||
			fault.KindOf(err) == fault.Other {
			t.Errorf("%.80s: %v", body, err)
		}
	}
	f := serve(t, answer(500, `{"message":"dockerfile parse error line 2"}`))
	if err := f.Build(t.Context(), Build{Tags: []string{"x"}, Context: strings.NewReader("")}, nil); err == nil ||
		err.Error() != "build image x: dockerfile parse error line 2" {
		t.Errorf("%v", err)
	}
}

func TestBuildOfAnEndlessLine(t *testing.T) {
	piece := fmt.Sprintf(`{"stream":%q}`, strings.Repeat("a", 10000)) + "\n"
	lines, err := building(t, strings.Repeat(piece, 50)+`{"stream":"\nSuccessfully built abc\n"}`)
	if err != nil || len(lines) != 2 || len(lines[0]) != maxText {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

func FuzzBuildProgress(f *testing.F) {
	f.Add([]byte(`{"stream":"Step 1/2 : FROM x\n"}` + "\n" + `{"error":"bad"}`))
	f.Add([]byte(`{"status":"Pull complete","id":"a"}` + "\r\n" + `{"aux":{"ID":"x"}}`))
	f.Add([]byte("{\"stream\":\"\\u001b[31m\\r\\n\"}\n"))
	f.Add([]byte(`{"stream":"Step 1 : "}` + "\n" + `{"errorDetail":{"message":" "}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		j := buildOutput{tell: func(line string) {
			if line == "" || len(line) > maxText || strings.ContainsAny(line, "\n\r\x1b\x00") {
				t.Errorf("line %q", line)
			}
		}}
		var broke *brokenStep
		if err := j.read(bytes.NewReader(in)); errors.As(err, &broke) && strings.ContainsAny(broke.Error(), "\n\r\x1b\x00") {
			t.Errorf("error %q", broke.Error())
		}
	})
}

func TestTextIsCleaned(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[31mb\r\n c":  "ab c",
		"\u202eabc\xff\x00": "abc\ufffd",
		" 日本語 ":             "日本語",
	} {
		if got := clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := clean(strings.Repeat("a", maxText) + "end"); len(got) != maxText || !strings.HasSuffix(got, "end") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestUsageOfBothKindsOfControlGroups(t *testing.T) {
	for body, want := range map[string]Usage{
		`{"cpu_stats":{"cpu_usage":{"total_usage":5}},"memory_stats":{"usage":100,"limit":200,"stats":{"total_inactive_file":30,"inactive_file":1}},"pids_stats":{"current":3,"limit":9}}`: {CPU: 5, Memory: 70, MemoryLimit: 200, Pids: 3},
		`{"memory_stats":{"usage":100,"stats":{"inactive_file":30}},"pids_stats":{"limit":18446744073709551615}}`:                                                                          {Memory: 70},
		`{"memory_stats":{"usage":100,"stats":{"inactive_file":300}}}`:                                                                                                                     {Memory: 100},
		`{"pids_stats":{},"memory_stats":{}}`: {},
	} {
		if got, err := serve(t, answer(200, body)).Usage(t.Context(), "x"); err != nil || got != want {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}
