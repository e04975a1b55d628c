package shell_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"hako/internal/testload"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/shell"
	"hako/shell/command"
	"hako/shell/vfs"
)

// What must never come out of the shell, and by which names the host has it.
const (
	secretText = "canary-5f1d-of-the-host"
	secretName = "HAKO_TEST_SECRET"
)

// A host is a place on the real disk with a granted directory and a secret
// beside it, and with ways that seem to lead from the one to the other.
type host struct {
	box, outside string
	before       string
}

func newHost(t testing.TB) *host {
	t.Helper()
	t.Setenv(secretName, secretText)
	top := t.TempDir()
	h := &host{box: filepath.Join(top, "box"), outside: filepath.Join(top, "outside")}
	for _, err := range []error{
		os.Mkdir(h.box, 0o777), os.Mkdir(h.outside, 0o777),
		os.WriteFile(filepath.Join(h.outside, "secret.txt"), []byte(secretText+"\n"), 0o666),
		os.Symlink(filepath.Join(h.outside, "secret.txt"), filepath.Join(h.box, "link")),
		os.Symlink("../outside", filepath.Join(h.box, "out")),
		os.WriteFile(filepath.Join(h.box, "f.txt"), []byte("a\n"), 0o666),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	h.before = h.look(t)
	return h
}

// look describes everything outside the granted directory.
func (h *host) look(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(filepath.Dir(h.outside), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == h.box {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(name + " " + info.Mode().String())
		if info.Mode().IsRegular() {
			text, _ := os.ReadFile(name)
			b.Write(text)
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// attack runs a script in a box with the directory granted for writing, and
// without a policy: what the shell cannot do needs nobody to forbid it.
func (h *host) attack(t testing.TB, setup, script string) {
	t.Helper()
	limits := quota.Lenient()
	limits.Time, limits.Memory, limits.Loops, limits.Output = 2*time.Second, 64<<20, 100_000, 4<<20
	g := quota.NewLimiter(limits)
	tree := vfs.New(vfs.Options{Limiter: g})
	if err := tree.Mount(h.box, h.box, true); err != nil {
		t.Fatal(err)
	}
	s := shell.New(shell.Options{Commands: command.All(), Limiter: g, FS: tree, Dir: h.box, Parse: policy.ParseScript})
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), testload.Bound(10*time.Second))
	defer cancel()
	began := time.Now()
	for _, src := range []string{setup, script} {
		_, _ = s.Run(ctx, &run.Request{Script: src, Stdout: &out, Stderr: &out})
	}
	if took := time.Since(began); took > testload.Bound(8*time.Second) {
		t.Errorf("%q took %v", script, took)
	}
	// The shell may echo the name of the secret, but never what it holds.
	if strings.Contains(out.String(), secretText) {
		t.Errorf("%q printed the secret:\n%.1000s", script, out.String())
	}
	if now := h.look(t); now != h.before {
		t.Errorf("%q changed the host:\n%s\nwas\n%s", script, now, h.before)
	}
}

// TestAttacks runs every attack of the policy's corpus where nothing is denied.
func TestAttacks(t *testing.T) {
	for _, file := range []string{"attacks.jsonl", "attacks-own.jsonl"} {
		src, err := os.ReadFile(filepath.Join("../policy/testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(file, func(t *testing.T) {
			h := newHost(t)
			places := strings.NewReplacer("@PWN@", h.outside+"/pwn", "@SECRET@", h.outside+"/secret.txt", "@OUT@", h.outside,
				"@ROOT@", h.box)
			for line := range bytes.Lines(src) {
				var a struct{ Setup, Command string }
				if err := json.Unmarshal(line, &a); err != nil {
					t.Fatal(err)
				}
				h.attack(t, places.Replace(a.Setup), places.Replace(a.Command))
			}
		})
	}
}

// ways are scripts that look for a hole in this shell in particular.
var ways = []string{
	`cat link`, `cat out/secret.txt`, `cat < link`, `cat < out/../outside/secret.txt`,
	`cat "$OLDPWD/../outside/secret.txt"`,
	`cd out && cat secret.txt`, `cd .. && cd outside && cat *`, `find / -name 'secret*' -exec cat {} +`,
	`find -L . -type f | xargs cat`,
	`ln -s / root; cat root@SECRET@`, `ln link hard; cat hard`, `cp -L link copy; cat copy`,
	`cp -rL out copies; cat copies/*`, `tar chf - . | tar xf - -O`, `zip -r - . | funzip`,
	`mv out/secret.txt .; cat secret.txt`, `rm -rf out/ out/* link ../outside`, `echo x > out/new`, `echo x > link`,
	`echo x >> link`, `tee link out/pwn < f.txt`, `> @PWN@`,
	`touch out/pwn; mkdir out/d; ln -s x out/l; mv f.txt out/; cp f.txt out/; truncate -s 0 link; sed -i s/a/b/ link; sort -o link f.txt; split -b 1 f.txt out/x`,
	`grep -r canary / ../outside out/ link`, `grep -R canary .`,
	`ls -laR / out/ | cat; stat -L link; file -L link; du -L .; tree -l; realpath link; readlink -f link | xargs cat`,
	`echo "$HAKO_TEST_SECRET"; env; printenv HAKO_TEST_SECRET; export -p; declare -p; set; awk 'BEGIN{for(k in ENVIRON) print k, ENVIRON[k]}'; jq -n 'env, $ENV'; echo ${!H*} ${!HAKO*}; bash -c 'env'; sh -c 'echo $HAKO_TEST_SECRET'`,
	`cat /proc/self/environ /proc/1/environ /proc/self/cmdline /proc/self/fd/* /dev/fd/9 /dev/mem /etc/passwd`,
	`exec 3< /proc/self/environ; cat <&3; read x < /dev/tcp/127.0.0.1/80; exec 4<> /dev/udp/127.0.0.1/53`,
	`awk 'BEGIN{while((getline l < "@SECRET@")>0) print l; system("cat @SECRET@"); "cat link" | getline x; print x; print "x" > "@PWN@"; print "x" | "cat > @PWN@"}'`,
	`sed 'r @SECRET@' f.txt; sed 'w @PWN@' f.txt; sed '1e cat @SECRET@' f.txt; sed -n 's/a/cat link/ep' f.txt; sed -f @SECRET@ f.txt; sed 'R link' f.txt`,
	`jq -n 'input_filename, $__prog_args' --rawfile x @SECRET@; jq -n --slurpfile x link '$x'; jq -f @SECRET@; jq -L @OUT@ 'include "secret"; .'; jq -n 'include "@OUT@/secret"; .'; jq -n 'import "../outside/secret" as $x; $x'`,
	`. @SECRET@; source link; bash link; sh < link; . /dev/stdin < out/secret.txt`,
	`mapfile -t x < link; echo "${x[@]}"; read y < @SECRET@; echo "$y"; x=$(<link); echo "$x"; x=$(< @SECRET@); echo "$x"`,
	`wc --files0-from=@SECRET@; sort --files0-from=@SECRET@; date -f @SECRET@; grep -f @SECRET@ f.txt -v; xargs -a @SECRET@ echo; diff link f.txt; comm link f.txt; join link f.txt; paste link; od -c link; xxd link; base64 link; uuencode link x; patch -i link; bc link; dc -f link; cksum link | cat; tail -n 1 link; head -c 9 link; tac link; rev link; nl link; fold link; cut -c1- link; tr a b < link; column link; expand link; fmt link; strings link; tsort link`,
	`gzip -c link | gzip -dc; bzip2 -dc link; xz -dc link; tar cf - link out/ | tar xOf -; tar cf x.tar -C @OUT@ secret.txt; tar xOf x.tar; zip x.zip link; unzip -p x.zip; tar xf x.tar -C ..; tar --absolute-names -cf y.tar @SECRET@; tar xOf y.tar`,
	`printf 'a\n' > ../outside/pwn; printf 'x' > $PWD/../outside/pwn; cd /; cat .@SECRET@ ./..@SECRET@`,
	`mktemp -p @OUT@; mktemp @OUT@/XXXX; TMPDIR=@OUT@ mktemp; csplit f.txt 1 -f @OUT@/xx; tee @PWN@ < f.txt; install f.txt @PWN@; dd if=link; dd if=f.txt of=@PWN@`,
	`which cat | xargs cat; type -P cat | xargs cat; cat /usr/bin/env; ls /usr/bin /bin /home /root /tmp ~ ~root; echo ~root ~nobody ~/ ~+ ~-; cat ~/.bash_history ~root/.ssh/id_rsa`,
	`curl file://@SECRET@; wget @SECRET@; nc -l 9; git clone x; ssh host; python3 -c 'print(open("@SECRET@").read())'; perl -ne print link; @SECRET@; ./link; /bin/cat link; /bin/../bin/cat link; command cat link; builtin cat link; exec cat link`,
	`while read -r l; do echo "$l"; done < link; for f in out/* ../*/* /*/*/outside/*; do cat "$f"; done; echo ../* ../outside/* out/*; shopt -s globstar dotglob; cat **/*; cat ../**`,
	`[ -e @SECRET@ ] && echo there; test -r link && echo readable; [[ -f out/secret.txt ]] && cat out/secret.txt; [ link -nt f.txt ]; ls -l link out ../outside; du ../outside; stat @SECRET@; find @OUT@; wc -c @SECRET@`,
}

// TestWays runs them.
func TestWays(t *testing.T) {
	h := newHost(t)
	places := strings.NewReplacer("@PWN@", h.outside+"/pwn", "@SECRET@", h.outside+"/secret.txt", "@OUT@", h.outside)
	for _, script := range ways {
		h.attack(t, "", places.Replace(script))
	}
}

// FuzzScript looks for a script that reaches the host, panics or does not end.
func FuzzScript(f *testing.F) {
	for _, script := range ways {
		f.Add(script)
	}
	files, _ := filepath.Glob("testdata/bash/*.txtar")
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, script := range ar.Files {
			if !strings.HasSuffix(script.Name, ".out") {
				f.Add(string(script.Data))
			}
		}
	}
	src, err := os.ReadFile("../policy/testdata/attacks.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(src) {
		var a struct{ Command string }
		if json.Unmarshal(line, &a) == nil {
			f.Add(a.Command)
		}
	}
	f.Fuzz(func(t *testing.T, script string) {
		h := newHost(t)
		places := strings.NewReplacer("@PWN@", h.outside+"/pwn", "@SECRET@", h.outside+"/secret.txt", "@OUT@", h.outside)
		h.attack(t, "", places.Replace(script))
	})
}
