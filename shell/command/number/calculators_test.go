package number

import (
	"context"
	"io"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/quota"
	"hako/shell"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// calculate runs a command of a language on some text, with little to spend.
func calculate(t *testing.T, cmd shell.Command, input string, args ...string) {
	t.Helper()
	limits := quota.Lenient()
	limits.Memory, limits.Time = 32<<20, 300*time.Millisecond
	limiter := quota.NewLimiter(limits)
	ctx, stop := limiter.Start(context.Background())
	defer stop()
	start := time.Now()
	_ = cmd.Run(ctx, &shell.Call{ // any answer will do, as long as there is one
		Name: cmd.Name, Args: args, Stdin: stream.NewBytes([]byte(input)), Stdout: stream.NewWriter(nil), Stderr: io.Discard,
		Dir: "/box", FS: vfs.New(vfs.Options{}), Limiter: limiter, Now: time.Now,
		Getenv: func(string) (string, bool) { return "", false },
	})
	if took := time.Since(start); took > testload.Bound(3*time.Second) {
		t.Errorf("%s %q %q took %v", cmd.Name, args, input, took)
	}
	if held := limiter.Held(); held != 0 && limiter.Err() == nil {
		t.Errorf("%s %q %q kept %d bytes", cmd.Name, args, input, held)
	}
}

func FuzzCalculators(f *testing.F) {
	for _, s := range []string{
		"scale=5; 1/3", "define f(n) { if (n < 2) return 1; return n*f(n-1) }\nf(30)", "a[1]=2; a[1]++; e(1)+l(2)+s(1)",
		"obase=16; 255.5; ibase=2; 1010", "9^9^9", "2^-5", "for(;;)x=x+1", "[d1-d0<a]sa10lax", "20k2vp", "5 3:a3;ap", "7 3~f",
		"1 2 3 4 3R f c", "16i FF p 2o p", "[lax]sa lax", "2 100000000^p", "\"text\" 5", "sqrt(-1)", "x=", "((((", "{{{",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		calculate(t, Bc, text)
		calculate(t, Bc, text, "-l")
		calculate(t, Dc, text)
	})
}
