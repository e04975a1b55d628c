package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"hako/host/sandbox"
	"hako/run"
	"hako/run/fault"
)

// project is what everyday commands are about.
var project = map[string]string{
	"README.md": "# Project\n\nfoo\n", "file.txt": "old\nfoo\n", "a.txt": "a 1\nb 2\n", "b.txt": "a 1\nc 3\n",
	"c.txt": "c\n", "f.txt": "a 1\nb 2\nfoo\n", "f": "a b c\n", "g": "a b\n",
	"in.txt": "x\n", "data.txt": "a 1 20\nb 2 30\n", "a.csv": "x,y,1\na,b,2\n", "f.csv": "1,2\n", "users.txt": "a:b\n",
	"n.txt": "4\n", "list.txt": "a b\n", "name.txt": "n\n", "report.txt": "r\n",
	"x.txt": "x\n", "y.txt": "y\n", "old.txt": "o\n", "big.txt": "1\n2\n", "big": "1\n2\n", "book": "a\nx\nb\n",
	"a.tmp": "", "b.tmp": "", "-file": "", "-weird": "w\n", "-weird-name": "", "file with spaces.txt": "s\n",
	"a b.txt": "1\n", "c d.txt": "2\n", "ログ.txt": "エラー\n", "a": "1\n", "b": "1\n", "c": "1\n", "names": "n\n",
	"config.ini": "#\nx=1\n", "app.log": "error\nok\n", "logs/x.log": "error\n",
	"d.json": `{"a":1,"items":[{"x":4,"name":"n"}],"key":1}`, "data.json": `{"key":1}`, "a.json": "[1]", "b.json": "[2]",
	"x.yml":  "a:\n  b: 1\n",
	"go.mod": "module example.com/app\n\ngo 1.21\n", "main.go": "package main\n\nfunc main() { println(\"TODO\") }\n",
	"main_test.go":    "package main\n\nimport \"testing\"\n\nfunc TestFoo(t *testing.T) {}\n",
	"cmd/app/main.go": "package main\n\nfunc main() {}\n", "internal/x/x.go": "package x\n",
	"src/main.go": "package main\n\nfunc main() {}\n", "src/a/x": "1\n", "src/a.txt": "1\n",
	"src/Makefile": "all:\n\t@echo made\n", "src/main.rs": "fn main() {}\n",
	"lib/Makefile": "all:\n\t@echo made\n", "sub/Makefile": "all:\n\t@echo made\ntest:\n\t@echo tested\n",
	"sub/f.txt": "1\n", "Makefile": "all build test a:\n\t@echo made\n", "docs/x.md": "d\n", "dir1/x": "1\n",
	"dir2/x": "2\n", "dir/x": "1\n",
	"package.json": `{"name":"app","version":"1.0.0","scripts":{"test":"echo tested","build":"echo built","lint":"echo linted"}}`, "index.js": "console.log(1)\n", "x.py": "print(1)\n", "script.py": "print(1)\n", "main.py": "print(1)\n", "server.py": "print(1)\n", "tool.py": "print(1)\n",
	"scripts/tool.py": "print(1)\n", "tests/test_a.py": "def test_b():\n    assert True\n", "requirements.txt": "",
	"run.sh": "echo run\n", "script.sh": "echo run\n", "f.bin": "\x00\x01\x02", "a.out": "\x7fELF strings",
	"image.png":      "\x89PNG\r\n",
	"CMakeLists.txt": "cmake_minimum_required(VERSION 3.10)\nproject(x NONE)\n",
	"Cargo.toml":     "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
	"fix.patch":      "--- a/c.txt\n+++ b/c.txt\n@@ -1 +1 @@\n-c\n+d\n", "data/x.csv": "1\n",
	"data.csv": "1\n", "empty/.keep": "",
}

// furnishProject puts the project into the root and makes it a repository.
func furnishProject(s *scene) error {
	var failed error
	for name, text := range project {
		path := filepath.Join(s.root, name)
		failed = errors.Join(failed, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
	}
	if failed != nil {
		return failed
	}
	return s.prepare("git init -q -b main . && git config user.email a@b && git config user.name a && echo x >.gitignore && git add -A && git commit -qm c0 && echo 2 >> README.md && git commit -qam c1 && " +
		"git branch feature && git branch old && echo 3 >> README.md && git commit -qam c2 && echo 4 >> f.txt && git commit -qam c3 && echo 5 >>a.txt && " +
		"tar cf a.tar src && tar czf a.tgz src && cp a.tgz a.tar.gz && cp a.tgz archive.tar.gz; gzip -k data.csv; gzip -c f >.gitignore.gz; mkdir -p build out bin; true")
}

// endless are everyday commands that go on until they are stopped.
var endless = map[string]bool{"OB-294": true, "OB-412": true}

// unknown finds the names that a shell did not find.
var unknown = regexp.MustCompile(
	`(?m)^(?:\S+: )?(?:line \d+: )?'?([\w.+-]+)'?: (?:command not found|not found|No such file or directory)`)

// absent reports whether a script failed because a program is not installed.
func absent(text string) bool {
	here := newSearch("/nowhere", nil)
	return slices.ContainsFunc(unknown.FindAllStringSubmatch(text, -1),
		func(m []string) bool { return here.program(m[1]) == "" })
}

// aDay is how long an everyday command may take here.
const aDay = 4 * time.Second

// days counts how everyday commands went.
type days struct{ allowed, ran, whole tally }

// benign runs everyday commands through gate and sandbox.
func benign(t *testing.T, list []corpusCase) string {
	var d days
	dir := t.TempDir()
	model, err := newScene(dir, furnishProject)
	if err != nil {
		t.Fatal(err)
	}
	defer model.close()
	each(list, func() worker {
		st := &stage{t: t, dir: dir, level: sandbox.Full, options: Options{Limits: usual, Env: committer},
			props: func(s *scene) error { return os.CopyFS(s.root, os.DirFS(model.root)) }}
		return worker{st.clear, func(c corpusCase) {
			err := st.set("")
			if err == nil {
				req := run.Request{Actor: "user", Script: st.scene.replace(c.Command)}
				err = d.judge(c, attempt(t, gated(st.scene.root, st.runner), req, aDay))
			}
			if err != nil {
				t.Errorf("%s %q: %v", c.ID, c.Command, err)
			}
		}}
	})
	if !d.allowed.reaches(100) || !d.ran.reaches(100) {
		t.Errorf("everyday commands: allowed %v, ran %v, all were aimed at", &d.allowed, &d.ran)
	}
	return fmt.Sprintf("allowed %v, ran %v of those whose programs are here (%d of them were stopped after %v)",
		&d.allowed, &d.ran, d.whole.all.Load()-d.whole.good.Load(), aDay)
}

// judge looks at how a command ended. A program may fail for its own reasons,
// such as having no network, but it must be found, started and left alone.
func (d *days) judge(c corpusCase, o runnerOutcome) error {
	if d.allowed.add(fault.KindOf(o.fault) != fault.Denied); o.fault != nil && !o.res.TimedOut {
		return o.fault
	}
	if o.res.Exit == 127 && absent(o.text) {
		return nil
	}
	d.whole.add(!o.res.TimedOut || endless[c.ID])
	end := syscall.Signal(o.res.Exit - 128)
	good := o.res.Exit != 126 && o.res.Exit != 127 && end != syscall.SIGSYS && end != syscall.SIGKILL &&
		end != syscall.SIGXFSZ && end != syscall.SIGSEGV && end != syscall.SIGABRT
	if d.ran.add(good); good {
		return nil
	}
	return fmt.Errorf("status %d\n%s", o.res.Exit, o.text)
}

// committer is who commits.
var committer = []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}

// usual are the limits that users have.
var usual = sandbox.Limits{Memory: 2 << 30, Processes: 256, Files: 1024, FileSize: 1 << 30}
