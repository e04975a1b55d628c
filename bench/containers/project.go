package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// up runs "hako env up" with a repository and returns the duration.
func (b *bench) up(ctx context.Context, task, url string, more ...string) (time.Duration, error) {
	task = fmt.Sprintf("%s-%d", task, os.Getpid())
	words := append([]string{"env", "up", "--task", task, "--repo", url}, more...)
	cmd := exec.CommandContext(ctx, b.hako, words...)
	cmd.Env = b.environ(url)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	began := time.Now()
	err := cmd.Run()
	took := time.Since(began)
	if err == nil && strings.Contains(said.String(), "warning: pip") {
		err = fmt.Errorf("it was not installed")
	}
	down := exec.CommandContext(ctx, b.hako, "env", "down", "--task", task)
	down.Env = cmd.Env
	gone := down.Run()
	if err != nil {
		return 0, fmt.Errorf("up: %v: %s", err, said.String())
	}
	return took, gone
}

// environ is the environment of a user with an own git server.
func (b *bench) environ(url string) []string {
	server, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	return append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(b.dir, "u"), "XDG_CACHE_HOME="+filepath.Join(b.dir, "c"),
		"GITLAB_API_URL=http://"+server+"/api/v4", "GITLAB_PERSONAL_ACCESS_TOKEN=glpat-bench-0123456789")
}

func serve(dir string) (address string, stop func(), err error) {
	core, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(core)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"},
	}
	s := &http.Server{Handler: backend}
	go s.Serve(l)
	return "http://" + l.Addr().String(), func() { s.Close() }, nil
}

// repository makes a bare repository with files.
func repository(ctx context.Context, bare string, files map[string][]byte) error {
	work := bare + ".work"
	for name, data := range files {
		path := filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	script := `git init -q -b main . && git add . && git -c user.name=b -c user.email=b@example.com commit -q -m one && git clone -q --bare . "$0"`
	cmd := exec.CommandContext(ctx, "sh", "-c", script, bare)
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make repository: %v: %s", err, out)
	}
	return nil
}

// clones measures a repository of 50 MB, twice.
func (b *bench) clones(ctx context.Context) error {
	files := make(map[string][]byte)
	for i := range 200 {
		data := make([]byte, 256<<10)
		rand.Read(data)
		files[fmt.Sprintf("d%d/f%d.bin", i%10, i)] = data
	}
	dir := filepath.Join(b.dir, "repos")
	if err := repository(ctx, filepath.Join(dir, "big.git"), files); err != nil {
		return err
	}
	address, stop, err := serve(dir)
	if err != nil {
		return err
	}
	defer stop()
	bare, err := b.bareUp(ctx)
	if err != nil {
		return err
	}
	first, err := b.up(ctx, "clone-1", address+"/big.git")
	if err != nil {
		return err
	}
	second, err := b.up(ctx, "clone-2", address+"/big.git")
	first, second = first-bare, second-bare
	b.add("clone of a 50 MB repository, second time", fmt.Sprintf("%.2f× (%s, first %s; without the %s of an empty `up`)",
		second.Seconds()/first.Seconds(), ms(second), ms(first), ms(bare)), "0.5× the first", "",
		second.Seconds() <= 0.5*first.Seconds())
	return err
}

// bareUp measures an up without a repository, the median of three.
func (b *bench) bareUp(ctx context.Context) (time.Duration, error) {
	times, err := inTurn(3, func() error {
		cmd := exec.CommandContext(ctx, b.hako, "env", "up", "--task", fmt.Sprintf("empty-%d", os.Getpid()))
		cmd.Env = b.environ("http://127.0.0.1")
		return cmd.Run()
	})
	if err != nil {
		return 0, err
	}
	down := exec.CommandContext(ctx, b.hako, "env", "down", "--task", fmt.Sprintf("empty-%d", os.Getpid()))
	down.Env = b.environ("http://127.0.0.1")
	return times[0][1], down.Run()
}

// packages measures the installation of dependencies from the registry, twice.
func (b *bench) packages(ctx context.Context) error {
	dir := filepath.Join(b.dir, "repos")
	if err := repository(ctx, filepath.Join(dir, "small.git"),
		map[string][]byte{"requirements.txt": []byte("requests==2.32.3\nPyYAML==6.0.2\n")}); err != nil {
		return err
	}
	address, stop, err := serve(dir)
	if err != nil {
		return err
	}
	defer stop()
	if _, err := b.up(ctx, "deps-0", address+"/small.git", "--no-install"); err != nil { // fills the clone cache
		return err
	}
	without, err := b.up(ctx, "deps-0", address+"/small.git", "--no-install")
	if err != nil {
		return err
	}
	first, err := b.up(ctx, "deps-1", address+"/small.git")
	if err != nil {
		return err
	}
	second, err := b.up(ctx, "deps-2", address+"/small.git")
	first, second = first-without, second-without
	b.add("dependency install (pip, two packages), unchanged files",
		fmt.Sprintf("%.2f× (%s, first %s; without the %s of the rest of `up`)", second.Seconds()/first.Seconds(), ms(second),
			ms(first), ms(without)), "0.2× the first", "", second.Seconds() <= 0.2*first.Seconds())
	return err
}
