package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// props are what attacks find in the root: names they use, links that lead out,
// and traps for programs that read settings from where they stand.
func (s *scene) props() map[string]string {
	pwn := s.outside + "/pwn"
	return map[string]string{
		"f.txt": "a\nb\n", "f": "../outside/secret.txt\n", "x": "x\n", "x.txt": "hello\n", "a.txt": "1\n2\n",
		"b.txt": "hello\n", "names": s.outside + "/secret.txt\n", "pid": "1\n",
		"list": s.outside + "/secret.txt\n", "list.txt": s.outside + "/secret.txt\n", "g": "a[$(touch ../outside/pwn)]\n",
		"d.json": "{}\n", "x.json": "{}\n",
		"src/main.go": "package main\nfunc main() {}\n", "d/f": "a\n", "sub/f": "a\n", "a/b/c": "a\n",
		"go.mod": "module x\ngo 1.24\n",
		"p.sh":   "#!/bin/sh\ntouch " + pwn + "\ncat " + s.outside + "/secret.txt\n", "evil": "#!/bin/sh\ntouch " + pwn +
			"\n",
		"payload.sh": "touch " + pwn + "\n", "f.sh": "touch " + pwn + "\n",
		"evil.sed": "1e touch " + pwn + "\n", "evil.awk": "BEGIN { system(\"touch " + pwn + "\") }\n",
		"evil.magic": "0 string a b\n",
		"Makefile":   "all:\n\ttouch " + pwn + "\n\tcat " + s.outside + "/secret.txt\n", "sub/Makefile": "all:\n\ttouch " +
			pwn + "\n",
		"rc": "url=\"file://" + s.outside + "/secret.txt\"\n", "p": "--- /dev/null\n+++ ../outside/pwn\n@@ -0,0 +1 @@\n+x\n",
		"x.py": "open('" + pwn + "','w')\nprint(open('" + s.outside + "/secret.txt').read())\n",
		"x.js": "require('fs').writeFileSync('" + pwn + "','')\n",
		"package.json": `{"name":"x","version":"1.0.0","scripts":{"test":"touch ` + pwn + `","build":"cat ` + s.outside +
			`/secret.txt"}}`,
	}
}

// build puts the props into the root.
func furnish(s *scene) error {
	var failed error
	for name, text := range s.props() {
		path := filepath.Join(s.root, name)
		mode := fs.FileMode(0o644)
		if text[0] == '#' {
			mode = 0o755
		}
		failed = errors.Join(failed, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode))
	}
	return errors.Join(failed, os.Symlink("../outside/secret.txt", s.root+"/link"), os.Symlink(s.outside, s.root+"/out"))
}

// hostileConfig names programs wherever git looks for them.
const hostileConfig = "[core]\nrepositoryformatversion = 0\nfilemode = true\nbare = false\nfsmonitor = \"@P@; false\"\npager = @P@\neditor = @P@\nsshCommand = @P@\n" +
	"[diff]\nexternal = @P@\n[diff \"d\"]\ntextconv = @P@\n[filter \"d\"]\nclean = @P@\nsmudge = @P@\n[alias]\nx = \"!@P@\"\n[user]\nname = a\nemail = a@b\n[protocol \"ext\"]\nallow = always\n[credential]\nhelper = @P@\n"

// repository is a small repository, made once.
var repository = sync.OnceValues(func() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "hako-attack-repository")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s := &scene{top: dir, root: dir}
	err = s.prepare("git init -q -b main . && git config user.email a@b && git config user.name a && echo 1 > a.txt && git add -A && git commit -qm c0 && echo 2 >> a.txt && git commit -qam c1")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	return files, filepath.WalkDir(dir+"/.git", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, ".sample") {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = text
		return err
	})
})

// furnishRepository makes the root a repository besides, one that names
// programs wherever it can.
func furnishRepository(s *scene) error {
	if err := furnish(s); err != nil {
		return err
	}
	files, err := repository()
	if err != nil {
		return nil // there is no git here
	}
	for name, text := range files {
		path := filepath.Join(s.root, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644))
	}
	evil := s.root + "/p.sh"
	err = errors.Join(err, os.MkdirAll(s.root+"/.git/refs/tags", 0o755), os.MkdirAll(s.root+"/.git/hooks", 0o755),
		os.WriteFile(s.root+"/.git/config", []byte(strings.ReplaceAll(hostileConfig, "@P@", evil)), 0o644),
		os.WriteFile(s.root+"/.gitattributes", []byte("*.txt diff=d filter=d\n"), 0o644))
	for _, hook := range []string{"pre-commit", "post-commit", "post-checkout", "reference-transaction",
		"fsmonitor-watchman"} {
		err = errors.Join(err, os.Symlink(evil, s.root+"/.git/hooks/"+hook))
	}
	return err
}

// readAll returns the text of all small files below a directory.
func readAll(dir string) string {
	var b strings.Builder
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil && info.Size() < 1<<20 {
				text, _ := os.ReadFile(path)
				b.Write(text)
			}
		}
		return nil
	})
	return b.String()
}

// inventory describes a directory closely enough to see whether it was touched.
func inventory(dir string) string {
	var b strings.Builder
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		var st syscall.Stat_t
		if err != nil || syscall.Lstat(path, &st) != nil {
			fmt.Fprintln(&b, path, err)
			return nil
		}
		fmt.Fprintln(&b, path, st.Ino, st.Mode, st.Nlink, st.Size, st.Ctim)
		return nil
	})
	return b.String()
}

// removeAll removes a tree, also where an attack took away the right to.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// empty removes what is in a directory; keep, if it is not nil, tells what stays.
func empty(dir string, keep func(name string) bool) error {
	err := os.Chmod(dir, 0o777)
	entries, lerr := os.ReadDir(dir)
	for _, e := range entries {
		if keep == nil || !keep(e.Name()) {
			removeAll(filepath.Join(dir, e.Name()))
		}
	}
	return errors.Join(err, lerr)
}
