package text

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hako/quota"
	"hako/shell"
	"hako/shell/stream"
)

// call runs one command on its own, without a shell.
func call(t testing.TB, cmd shell.Command, stdin []byte, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	limiter := quota.NewLimiter(quota.Lenient())
	c := &shell.Call{
		Name: cmd.Name, Args: args, Dir: "/box", Limiter: limiter, Seed: 1, Stderr: io.Discard,
		Stdin: stream.NewReader(bytes.NewReader(stdin)), Stdout: stream.NewWriter(&out),
	}
	if err := cmd.Run(context.Background(), c); err != nil {
		t.Fatalf("%s %q: %v", cmd.Name, args, err)
	}
	c.Stdout.Flush()
	if held := limiter.Held(); held != 0 {
		t.Errorf("%s %q: %d bytes were not given back", cmd.Name, args, held)
	}
	return out.String()
}

// sortInputs are lines that meet the corners of the order: shared beginnings,
// many equals, zero bytes, numbers of all kinds, enough to be split.
func sortInputs(r *rand.Rand) map[string][]string {
	kinds := map[string]func() string{
		"short":   func() string { return fmt.Sprint(r.IntN(500)) },
		"zeros":   func() string { return "ab" + strings.Repeat("\x00", r.IntN(20)) + string(rune('a'+r.IntN(2))) },
		"endings": func() string { return "abcdefgh" + strings.Repeat("\x00", r.IntN(12)) },
		"common":  func() string { return strings.Repeat("same ", 9) + fmt.Sprint(r.IntN(9000)) },
		"case":    func() string { return strings.Repeat("aAbB", 3)[r.IntN(4):][:r.IntN(8)] + fmt.Sprint(r.IntN(90)) },
		"fields":  func() string { return fmt.Sprintf("%c %d\t%x.%d", 'a'+r.IntN(3), r.IntN(40), r.IntN(999), r.IntN(9)) },
		"numbers": func() string {
			return fmt.Sprintf("%d.%0*d%s", r.IntN(30)-15, 1+r.IntN(6), r.IntN(20), []string{"", "K", "M", " x"}[r.IntN(4)])
		},
		"huge": func() string { return fmt.Sprintf("%d%018d", r.IntN(3), r.IntN(5)) },
	}
	out := map[string][]string{}
	for name, make := range kinds {
		for range 12_000 {
			out[name] = append(out[name], make())
		}
	}
	return out
}

// TestSortAgainstPlainComparison sorts by the fast way and by the definition.
func TestSortAgainstPlainComparison(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	options := []string{"", "-r", "-f", "-fr", "-n", "-rn", "-g", "-h", "-M", "-V", "-d", "-u", "-nu", "-s -k2,2",
		"-k2,2n -k1,1r", "-k2", "-k3.2,3.3 -r", "-t. -k2,2", "-f -k1,1 -s", "-rs -k2n"}
	for name, lines := range sortInputs(r) {
		input := []byte(strings.Join(lines, "\n") + "\n")
		for i, o := range options {
			if testing.Short() && i%5 != 0 {
				continue // they differ in how two lines are compared, not in who compares them
			}
			t.Run(name+" "+o, func(t *testing.T) {
				got := call(t, Sort, input, strings.Fields(o)...)
				if want := plainSort(t, lines, strings.Fields(o)); got != want {
					t.Error("the fast order differs from the definition")
				}
			})
		}
	}
}

func plainSort(t *testing.T, lines, args []string) string {
	t.Helper()
	c := &shell.Call{Name: "sort", Args: args, Stderr: io.Discard}
	s := sorter{sep: -1, end: '\n', ctx: context.Background(), seed: 1}
	if _, err := s.parse(c); err != nil {
		t.Fatal(err)
	}
	sorted := slices.Clone(lines)
	slices.SortStableFunc(sorted, func(a, b string) int { return s.compareLines([]byte(a), []byte(b)) })
	if s.unique {
		sorted = slices.CompactFunc(sorted, func(a, b string) bool { return s.compareKeys([]byte(a), []byte(b)) == 0 })
	}
	return strings.Join(sorted, "\n") + "\n"
}

// TestLongLines crosses every buffer and block border there is.
func TestLongLines(t *testing.T) {
	if testing.Short() {
		t.Skip("long: much work for one goroutine: nothing for a race detector")
	}
	long := func(b byte, n int) string { return strings.Repeat(string(b), n) + "\n" }
	text := long('b', 5<<20) + long('a', 200<<10) + long('c', 3) + long('a', 9<<20)
	want := long('a', 200<<10) + long('a', 9<<20) + long('b', 5<<20) + long('c', 3)
	for _, x := range []struct {
		cmd  shell.Command
		args string
		want string
	}{
		{Sort, "", want},
		{Sort, "-k1,1", want},
		{Tac, "", long('a', 9<<20) + long('c', 3) + long('a', 200<<10) + long('b', 5<<20)},
		{Tail, "-n 2", long('c', 3) + long('a', 9<<20)},
		{Head, "-n -2", long('b', 5<<20) + long('a', 200<<10)},
		{Head, "-n 1", long('b', 5<<20)},
		{Uniq, "", text},
		{Cut, "-c1", "b\na\nc\na\n"},
		{Tr, "-s a-c", "b\na\nc\na\n"},
		{Wc, "-lL", "      4 9437184\n"},
	} {
		if got := call(t, x.cmd, []byte(text), strings.Fields(x.args)...); got != x.want {
			t.Errorf("%s %s: %d bytes, want %d", x.cmd.Name, x.args, len(got), len(x.want))
		}
	}
}

func FuzzTextCommands(f *testing.F) {
	f.Add("a b\nc\x00\xff日本\n", "-n")
	f.Add("1K\n2M\n\n", "-h -k1.2,3.4 -t:")
	f.Fuzz(func(t *testing.T, text, args string) {
		for _, cmd := range []shell.Command{Sort, Uniq, Cut, Tr, Wc, Head, Tail, Fold, Fmt, Nl, Expand, Unexpand, Column, Rev,
			Tac} {
			words := strings.Fields(args)
			if slices.ContainsFunc(words, func(w string) bool {
				return !strings.HasPrefix(w, "-") || strings.ContainsAny(w, "oOS") || strings.Contains(w, "from")
			}) {
				return // only options: there is no tree for files here
			}
			c := &shell.Call{
				Name: cmd.Name, Args: words, Dir: "/box", Limiter: quota.NewLimiter(quota.Strict()), Stderr: io.Discard,
				Stdin: stream.NewBytes([]byte(text)), Stdout: stream.NewWriter(nil),
			}
			cmd.Run(context.Background(), c)
		}
	})
}
