package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"hako/internal/lazyregexp"
	"hako/run/fault"
)

// A Build describes an image to build.
type Build struct {
	Context    io.Reader // a tar archive; read until the build ends, and not closed
	Dockerfile string    // its path in the archive; empty means Dockerfile
	Tags       []string
	Args       map[string]string // visible to everybody who sees the image: no secrets
	Labels     map[string]string
	NoCache    bool   // do not use cached steps
	Network    string // of the steps: "none", "host"; empty means the engine's default

	CPUs   float64 // of a step; zero means no limit
	Memory int64   // bytes of a step, without swap; zero means no limit
}

// Build builds an image and reports every line of output to progress, which may be nil. An error names the failed
// step.
func (e *Engine) Build(ctx context.Context, b Build, progress func(line string)) error {
	ctx, cancel := e.bound(ctx, 0)
	defer cancel()
	in := &errorReader{from: b.Context}
	r := request{op: "build image", subject: strings.Join(b.Tags, ", "), method: http.MethodPost, path: "/build",
		query: b.query(), raw: in}
	res, err := e.do(ctx, r)
	if err == nil {
		defer discard(res.Body)
		if res.StatusCode != http.StatusOK {
			err = refuse(r, res)
		} else {
			err = e.follow(ctx, r, res.Body, progress)
		}
	}
	if wrong := in.wrong(); wrong != nil && err != nil {
		return &fault.Error{Kind: fault.KindOf(wrong), Op: r.op, Subject: r.subject, Why: "its files cannot be read",
			Err: wrong}
	}
	return err
}

func (b Build) query() url.Values {
	q := url.Values{"rm": {"1"}, "forcerm": {"1"}, "t": b.Tags}
	for key, value := range map[string]string{"dockerfile": b.Dockerfile, "networkmode": b.Network} {
		if value != "" {
			q.Set(key, value)
		}
	}
	for key, limit := range b.limits() {
		if limit > 0 {
			q.Set(key, strconv.FormatInt(limit, 10))
		}
	}
	for key, all := range map[string]map[string]string{"buildargs": b.Args, "labels": b.Labels} {
		if len(all) > 0 {
			text, _ := json.Marshal(all) // strings can always be encoded
			q.Set(key, string(text))
		}
	}
	if b.NoCache {
		q.Set("nocache", "1")
	}
	return q
}

// limits returns those of a step. The CPU quota is per 100 ms.
func (b Build) limits() map[string]int64 {
	const period = 100_000 // µs
	l := map[string]int64{"memory": b.Memory, "memswap": b.Memory}
	if b.CPUs > 0 {
		l["cpuperiod"], l["cpuquota"] = period, int64(math.Round(b.CPUs*period))
	}
	return l
}

// follow reads a build's messages to the end.
func (e *Engine) follow(ctx context.Context, r request, body io.Reader, progress func(string)) error {
	if progress == nil {
		progress = func(string) {}
	}
	j := buildOutput{tell: progress}
	err := j.read(body)
	var broke *brokenStep
	switch {
	case errors.As(err, &broke):
		return &fault.Error{Kind: fault.Invalid, Op: r.op, Subject: r.subject, Why: broke.Error()}
	case errors.Is(err, errGarbled):
		return garbled(r)
	case err != nil:
		return e.connFailure(ctx, r.op, err)
	case !j.done:
		return e.connFailure(ctx, r.op, io.ErrUnexpectedEOF)
	}
	return nil
}

const maxMessage = 1 << 20 // bytes of one message of a build

var errGarbled = errors.New("garbled")

// A brokenStep is a failed step.
type brokenStep struct {
	step string // "Step 2/5 : RUN make"; empty before the first
	why  string
}

func (b *brokenStep) Error() string {
	if b.step == "" {
		return b.why
	}
	return strings.ToLower(b.step[:4]) + strings.Replace(b.step[4:], " : ", ", ", 1) + ": " + b.why
}

// A buildOutput parses the output of a build: a JSON object per line.
type buildOutput struct {
	tell func(line string)
	part []byte // an incomplete line of output
	step string
	done bool // an image was built
}

type buildMessage struct {
	Stream, Status, ID string
	Error              string
	ErrorDetail        struct{ Message string }
	ProgressDetail     struct{ Current, Total int64 }
	Aux                struct{ ID string }
}

func (j *buildOutput) read(body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 8<<10), maxMessage)
	for lines.Scan() {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		var m buildMessage
		if json.Unmarshal(text, &m) != nil {
			return errGarbled
		}
		if err := j.take(m); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return errGarbled
	}
	j.line()
	return lines.Err()
}

func (j *buildOutput) take(m buildMessage) error {
	switch {
	case m.Error != "" || m.ErrorDetail.Message != "":
		j.line()
		return &brokenStep{j.step, reason(m)}
	case m.Aux.ID != "":
		j.done = true
	case m.Stream != "":
		j.output(m.Stream)
	case m.Status != "" && m.ProgressDetail.Current == 0 && m.ProgressDetail.Total == 0:
		j.line()
		j.say(strings.TrimPrefix(m.ID+": "+m.Status, ": "))
	}
	return nil
}

func reason(m buildMessage) string {
	if m.Error != "" {
		return lowerFirst(clean(m.Error))
	}
	return lowerFirst(clean(m.ErrorDetail.Message))
}

// output adds output of a step, which may end within a line.
func (j *buildOutput) output(text string) {
	for {
		before, after, ended := strings.Cut(text, "\n")
		if room := maxText - len(j.part); len(before) > room {
			before = before[:room]
		}
		j.part = append(j.part, before...)
		if !ended {
			return
		}
		j.line()
		text = after
	}
}

// line ends the current line of output.
func (j *buildOutput) line() {
	text := string(j.part)
	j.part = j.part[:0]
	j.say(text)
}

func (j *buildOutput) say(text string) {
	text = strings.TrimRight(strings.ReplaceAll(cleanLines(lastState(text)), "\n", " "), " \t")
	if text == "" {
		return
	}
	if stepLine.Get().MatchString(text) {
		j.step = text
	}
	if strings.HasPrefix(text, "Successfully built ") {
		j.done = true
	}
	j.tell(text)
}

var stepLine = lazyregexp.New(`^S(?:tep|TEP) \d+(?:/\d+)? ?: `)

// lastState returns the visible part of a line with carriage returns.
func lastState(line string) string {
	line = strings.TrimRight(line, "\r")
	return line[strings.LastIndexByte(line, '\r')+1:]
}
