//go:build unix

package runtest

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hako/run"
)

// bash is the plainest runner there can be. That it passes shows that the suite
// asks for nothing that a real shell does not do.
type bash struct{ dir string }

func (bash) Opaque() {}

func (b bash) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	if req.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, req.Timeout)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, "bash", append([]string{"-c", req.Script, "bash"}, req.Args...)...)
	cmd.Dir = filepath.Join(b.dir, req.Dir)
	cmd.Env = append(os.Environ(), req.Env...)
	// The whole group, or the stages of a pipeline would live on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = soon / 5 // what was printed is read to its end on a busy machine, too
	if req.Stdin != nil {
		in, err := cmd.StdinPipe() // rather than cmd.Stdin: Wait would wait for a reader that never ends
		if err != nil {
			return run.Result{}, err
		}
		go func() { io.Copy(in, req.Stdin); in.Close() }()
	}
	out, errs := &counter{}, &counter{}
	cmd.Stdout, cmd.Stderr = tee(req.Stdout, out), tee(req.Stderr, errs)
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return run.Result{}, err
	}
	res := run.Result{Exit: cmd.ProcessState.ExitCode(), Bytes: out.bytes + errs.bytes}
	if cerr := ctx.Err(); cerr != nil {
		return res, cerr
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return res, err
}

func tee(w io.Writer, c *counter) io.Writer {
	if w == nil {
		return c
	}
	return io.MultiWriter(w, c)
}

func TestBash(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash here")
	}
	Test(t, func(t *testing.T) run.Runner { return bash{t.TempDir()} })
}

// TestCommandsAreNamed keeps [commands] true, as runners are built from it.
func TestCommandsAreNamed(t *testing.T) {
	text := strings.Join(commands, " ")
	for _, name := range []string{"cat", "seq", "sleep", "mkdir", "wc", "env"} {
		if !strings.Contains(text, name) {
			t.Errorf("%s is not in the list", name)
		}
	}
}
