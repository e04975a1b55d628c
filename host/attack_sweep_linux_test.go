package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/run"
)

// chains start processes that do nothing but fork and end: each lives for a few
// microseconds, and whoever looks for it finds it gone.
const chains = `
#include <unistd.h>
#include <signal.h>
int main(int n, char **v) {
	for (int s = 1; s < 32; s++) signal(s, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			setsid();
			for (;;) if (fork() > 0) _exit(0);
		}
	return 0;
}
`

// TestChainsAreEnded has processes left behind that are never the same twice.
func TestChainsAreEnded(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		if os.Getenv("HAKO_REQUIRE_TOOLS") != "" {
			t.Fatal("gcc is required")
		}
		t.Skip("this needs gcc")
	}
	name := "hako-chain"
	source := filepath.Join(t.TempDir(), "chain.c")
	write(t, filepath.Dir(source), "chain.c", chains)
	eachLevel(t, nil, func(t *testing.T, s *scene, r *Runner) {
		if out, err := exec.Command("gcc", "-O1", "-o", s.root+"/"+name, source).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
		for range 3 {
			o := attempt(t, r, run.Request{Script: "env ./" + name + "; echo begun"}, 10*time.Second)
			if !strings.Contains(o.text, "begun") {
				t.Errorf("%+v", o)
			}
			if left := named(name); left != 0 {
				t.Fatalf("%d processes are left", left)
			}
		}
		_ = attempt(t, r, run.Request{Script: "env ./" + name + "; env sleep 100"}, time.Second)
		if left := named(name); left != 0 {
			t.Fatalf("%d processes are left", left)
		}
	})
}

// named counts the processes of a program.
func named(name string) (n int) {
	all, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, file := range all {
		if text, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(text)) == name {
			n++
		}
	}
	return n
}
