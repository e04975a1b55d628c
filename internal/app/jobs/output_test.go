package jobs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"hako/run"
	"hako/run/fault"
)

// printing is a job that prints one part whenever it is told to go on.
type printing struct {
	next, printed chan struct{}
	parts         []func(req *run.Request)
}

func print(parts ...func(*run.Request)) *printing {
	return &printing{next: make(chan struct{}), printed: make(chan struct{}), parts: parts}
}

func (p *printing) run(_ context.Context, req *run.Request) (run.Result, error) {
	for _, part := range p.parts {
		<-p.next
		part(req)
		p.printed <- struct{}{}
	}
	<-p.next
	return run.Result{}, nil
}

func (p *printing) step() {
	p.next <- struct{}{}
	<-p.printed
}

func out(s string) func(*run.Request) {
	return func(req *run.Request) { io.WriteString(req.Stdout, s) }
}

func errs(s string) func(*run.Request) {
	return func(req *run.Request) { io.WriteString(req.Stderr, s) }
}

func page(t *testing.T, d *List, h run.JobHandle, offset, limit int64) run.JobPage {
	t.Helper()
	p, err := d.Output(h, offset, limit)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func expect(t *testing.T, p run.JobPage, data string, next int64, more, ended bool) {
	t.Helper()
	if string(p.Data) != data || p.Next != next || p.More != more || p.Ended != ended {
		t.Errorf("%q, next %d, more %v, ended %v; want %q, %d, %v, %v", p.Data, p.Next, p.More, p.Ended, data, next, more,
			ended)
	}
}

func TestOutputWhileItGrows(t *testing.T) {
	job := print(out("one\n"), errs("two\n"), out("日\xe6"), out("\x9c\xac"))
	d := desk(t, Options{}, job.run)
	h := start(t, d, "x")
	expect(t, page(t, d, h, 0, 0), "", 0, false, false)
	expect(t, page(t, d, h, 1000, 0), "", 1000, false, false)
	job.step()
	expect(t, page(t, d, h, 0, 0), "one\n", 4, false, false)
	expect(t, page(t, d, h, 0, 3), "one", 3, true, false)
	job.step()
	expect(t, page(t, d, h, 4, 0), "two\n", 8, false, false)
	job.step() // the second character is only half there
	expect(t, page(t, d, h, 8, 0), "日", 11, false, false)
	expect(t, page(t, d, h, 11, 0), "", 11, false, false)
	job.step()
	expect(t, page(t, d, h, 11, 0), "本", 14, false, false)
	job.next <- struct{}{}
	if s := wait(t, d, h); s.Bytes != 14 {
		t.Errorf("%+v", s)
	}
	expect(t, page(t, d, h, 0, 0), "one\ntwo\n日本", 14, false, true)
	expect(t, page(t, d, h, 14, 0), "", 14, false, true)
	expect(t, page(t, d, h, 1<<62, 0), "", 1<<62, false, true)
}

// ended runs a job that prints a text and returns its handle.
func ended(t *testing.T, o Options, text string) (*List, run.JobHandle) {
	t.Helper()
	d := desk(t, o, func(_ context.Context, req *run.Request) (run.Result, error) {
		n, err := io.WriteString(req.Stdout, text)
		if n != len(text) || err != nil {
			t.Errorf("wrote %d of %d: %v", n, len(text), err)
		}
		return run.Result{}, nil
	})
	h := start(t, d, "x")
	wait(t, d, h)
	return d, h
}

func TestPagesDoNotCutCharacters(t *testing.T) {
	d, h := ended(t, Options{}, "a日本😀")
	expect(t, page(t, d, h, 0, 1), "a", 1, true, true)
	expect(t, page(t, d, h, 0, 3), "a", 1, true, true)
	expect(t, page(t, d, h, 0, 4), "a日", 4, true, true)
	expect(t, page(t, d, h, 1, 1), "日", 4, true, true) // longer than the page
	expect(t, page(t, d, h, 2, 4), "本", 7, true, true) // from the middle of one
	expect(t, page(t, d, h, 8, 1), "", 11, false, true)
	if p := page(t, d, h, 2, 4); p.Offset != 4 || p.Total != 11 {
		t.Errorf("%+v", p)
	}
}

func TestBadPages(t *testing.T) {
	d, h := ended(t, Options{}, "x")
	for name, c := range map[string]struct {
		offset, limit int64
	}{
		"below 0":       {-1, 0},
		"far below 0":   {-1 << 63, 0},
		"negative size": {0, -1},
		"huge":          {0, maxPage + 1},
	} {
		if _, err := d.Output(h, c.offset, c.limit); fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	expect(t, page(t, d, h, 1<<63-1, maxPage), "", 1<<63-1, false, true)
}

func TestOverTheLimit(t *testing.T) {
	d, h := ended(t, Options{Limit: 10}, strings.Repeat("日", 5))
	p := page(t, d, h, 0, 0)
	expect(t, p, "日日日", 9, false, true)
	if p.Total != 15 || p.Dropped != 5 {
		t.Errorf("%+v", p)
	}
	s, _ := d.Status(h)
	if s.State != run.JobDone || s.Bytes != 15 || s.Dropped != 5 || s.DropWhy != "it is over the limit of 10 bytes" {
		t.Errorf("%+v", s)
	}
	d, h = ended(t, Options{Limit: 15}, strings.Repeat("日", 5))
	if s, _ := d.Status(h); s.Dropped != 0 || s.DropWhy != "" {
		t.Errorf("just so much: %+v", s)
	}
}

// A full file takes a few bytes more and then none.
type full struct {
	file
	room int
}

func (f *full) Write(p []byte) (int, error) {
	n, _ := f.file.Write(p[:min(len(p), f.room)])
	f.room -= n
	if n < len(p) {
		return n, &os.PathError{Op: "write", Path: "/a/secret/place", Err: syscall.ENOSPC}
	}
	return n, nil
}

// A full disk neither stops a job nor hides how it ended.
func TestFullDisk(t *testing.T) {
	for name, c := range map[string]struct {
		room   int
		create error
		want   string
	}{
		"in the middle": {5, nil, "12345"},
		"at once":       {0, nil, ""},
		"no file":       {0, &os.PathError{Op: "open", Path: "/a/secret/place", Err: syscall.ENOSPC}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			job := print(out("1234567890"), out("more"))
			d := desk(t, Options{}, job.run)
			d.create = func() (file, error) {
				if c.create != nil {
					return nil, c.create
				}
				f, err := d.createFile()
				return &full{f, c.room}, err
			}
			h := start(t, d, "x")
			job.step()
			job.step()
			job.next <- struct{}{}
			s := wait(t, d, h)
			if s.State != run.JobDone || s.Bytes != 14 || s.Dropped != 14-int64(len(c.want)) ||
				s.DropWhy != "it cannot be written: "+syscall.ENOSPC.Error() {
				t.Errorf("%+v", s)
			}
			expect(t, page(t, d, h, 0, 0), c.want, int64(len(c.want)), false, true)
		})
	}
}

// A directory that somebody removed is as bad as a full disk, and no worse.
func TestSpoolIsGone(t *testing.T) {
	job := print(out("x"))
	d := desk(t, Options{}, job.run)
	h := start(t, d, "x")
	os.RemoveAll(d.dir.Path)
	job.step()
	job.next <- struct{}{}
	if s := wait(t, d, h); s.State != run.JobDone || s.Dropped != 1 || strings.Contains(s.DropWhy, d.dir.Path) {
		t.Errorf("%+v", s)
	}
}

// Nobody else can open what a job prints.
func TestFilesArePrivate(t *testing.T) {
	d, h := ended(t, Options{}, "x")
	f := d.jobs[0].log.file.(unnamed)
	info, err := f.Stat()
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: %v", info.Mode(), err)
	}
	if _, err := os.Lstat(f.Name()); err == nil && os.PathSeparator == '/' {
		t.Errorf("%s has a name", f.Name())
	}
	expect(t, page(t, d, h, 0, 0), "x", 1, false, true)
}

// A file that breaks later is an error of who reads, with no path in it.
func TestUnreadableOutput(t *testing.T) {
	d, h := ended(t, Options{}, "x")
	d.jobs[0].log.file.(unnamed).File.Close()
	_, err := d.Output(h, 0, 0)
	if fault.KindOf(err) != fault.Unavailable || strings.Contains(err.Error(), d.dir.Path) {
		t.Errorf("%v", err)
	}
	d.jobs[0].log.file = nil
}

// upper stands for what takes secrets out: it holds text back until a line is whole.
type upper struct {
	to   io.Writer
	held bytes.Buffer
}

func (u *upper) Write(p []byte) (int, error) { return u.held.Write(bytes.ToUpper(p)) }
func (u *upper) Close() error {
	_, err := u.held.WriteTo(u.to)
	return errors.Join(err, errors.New("nobody listens"))
}

func TestOutputIsCleaned(t *testing.T) {
	job := print(out("out\n"), errs("err\n"))
	d := desk(t, Options{Clean: func(w io.Writer) io.WriteCloser { return &upper{to: w} }}, job.run)
	h := start(t, d, "x")
	job.step()
	job.step()
	expect(t, page(t, d, h, 0, 0), "", 0, false, false)
	job.next <- struct{}{}
	wait(t, d, h)
	expect(t, page(t, d, h, 0, 0), "OUT\nERR\n", 8, false, true)
}

// What a runner writes when it has come back already goes nowhere.
func TestLateWrites(t *testing.T) {
	var late io.Writer
	d := desk(t, Options{}, func(_ context.Context, req *run.Request) (run.Result, error) {
		late = req.Stdout
		return run.Result{}, nil
	})
	h := start(t, d, "x")
	wait(t, d, h)
	if n, err := io.WriteString(late, "late"); n != 4 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if s, _ := d.Status(h); s.Bytes != 0 {
		t.Errorf("%+v", s)
	}
}

// Whatever is printed, in whatever pieces, and however it is paged, nothing is
// lost, repeated or cut.
func FuzzPages(f *testing.F) {
	f.Add("日本語😀abc", 1, 1)
	f.Add("a\xffb\xe3\x81", 3, 2)
	f.Add("\x93\xfa\x96{\x8c\xea\x82\xcc", 2, 3)
	f.Add(strings.Repeat("\x80", 20), 1, 7)
	f.Fuzz(func(t *testing.T, in string, piece, limit int) {
		piece, limit = max(piece%16, 1), max(limit%16, 1)
		s := &outputFile{limit: 1 << 20, create: func() (file, error) { return &memory{}, nil }}
		var got []byte
		var next int64
		take := func(ended bool) {
			for more := true; more; {
				p, err := s.page(next, int64(limit), ended)
				if err != nil || p.Offset != next || len(p.Data) > max(limit, utf8.UTFMax) {
					t.Fatalf("%+v: %v", p, err)
				}
				if utf8.ValidString(in) && !utf8.Valid(p.Data) {
					t.Fatalf("%q is cut out of %q", p.Data, in)
				}
				if p.More && len(p.Data) == 0 {
					t.Fatalf("%+v leads nowhere", p)
				}
				got, next, more = append(got, p.Data...), p.Next, p.More
			}
		}
		for rest := in; rest != ""; rest = rest[min(piece, len(rest)):] {
			io.WriteString(s, rest[:min(piece, len(rest))])
			take(false)
		}
		take(true)
		if string(got) != in {
			t.Fatalf("%q became %q", in, got)
		}
	})
}

// memory is a file that is none.
type memory struct{ bytes.Buffer }

func (m *memory) ReadAt(p []byte, at int64) (int, error) {
	return bytes.NewReader(m.Bytes()).ReadAt(p, at)
}
func (m *memory) Close() error { return nil }
