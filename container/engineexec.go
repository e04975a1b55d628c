package container

import (
	"context"
	"fmt"
	"math"
	"path"
	"strconv"
	"time"

	"hako/container/engine"
	"hako/container/guest"
	"hako/container/lang"
	"hako/run/fault"
)

// engineExec runs commands through the engine's API where no guest can be reached, on another machine. It is slower,
// and background processes live as long as the container.
type engineExec struct {
	engine    *engine.Engine
	container string
}

// Exec implements [guest.Executor].
func (b engineExec) Exec(ctx context.Context, cmd guest.Command) (guest.Result, error) {
	argv := append([]string{"/bin/sh", "-c", cmd.Script, "sh"}, cmd.Args...)
	if cmd.Timeout > 0 {
		seconds := strconv.Itoa(int(math.Ceil(cmd.Timeout.Seconds())))
		argv = append([]string{"timeout", "--kill-after=2", "--signal=KILL", seconds}, argv...)
	}
	dir := cmd.Dir
	if !path.IsAbs(dir) {
		dir = path.Join(Project, dir)
	}
	began := time.Now()
	exit, err := b.engine.Exec(ctx, b.container, engine.Exec{
		Argv: argv, Env: cmd.Env, Dir: dir, User: fmt.Sprintf("%d:%d", user(), user()), Stdin: cmd.Stdin, Stdout: cmd.Stdout,
		Stderr: cmd.Stderr,
	})
	r := guest.Result{Exit: exit, Duration: time.Since(began)}
	if cmd.Timeout > 0 && (exit == 137 || exit == 124) && r.Duration >= cmd.Timeout {
		r.Exit, r.TimedOut = -1, true
	}
	return r, err
}

// bareSpec describes a container without a guest. The first process prepares its workspace, a tmpfs.
func (d *Manager) bareSpec(s engine.Spec) engine.Spec {
	s.User = fmt.Sprintf("%d:%d", user(), user())
	s.CapAdd = nil
	s.Entrypoint = []string{"/bin/sh", "-c", "mkdir -p " + Project + " " + lang.Temp + " " + lang.Home +
		" && exec sleep infinity"}
	s.Tmpfs[Workspace] = "size=" + strconv.FormatInt(d.Resources.Disk, 10) + ",mode=755,exec,nosuid,nodev,uid=" +
		strconv.Itoa(user()) + ",gid=" + strconv.Itoa(user())
	return s
}

func (d *Manager) awaitWorkspace(ctx context.Context, b *box) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		exit, err := d.Engine.Exec(ctx, b.ContainerID, engine.Exec{Argv: []string{"test", "-d", lang.Home}, Dir: "/",
			User: fmt.Sprintf("%d:%d", user(), user())})
		if err == nil && exit == 0 {
			return nil
		}
		if dead := d.explainExit(ctx, b); dead != nil {
			return dead
		}
		select {
		case <-ctx.Done():
			return &fault.Error{Kind: fault.Timeout, Op: "start " + b.Environment + " environment",
				Why: "its workspace is not there", Err: err, Hint: "docker logs " + b.ContainerID}
		case <-time.After(20 * time.Millisecond):
		}
	}
}
