package policy

import (
	"strings"
	"testing"
)

// linked is a scene with links that lie in the root already: gg leads to .git,
// sub/hooks to .git/hooks, cfg to .git/config, set to hako.yaml, ed to .vscode,
// plain to a directory that holds nothing.
func linked(missing bool) Options {
	links := map[string]string{"/gg": "/.git", "/sub/hooks": "/.git/hooks", "/cfg": "/.git/config", "/set": "/hako.yaml",
		"/ed": "/.vscode", "/plain": "/src"}
	return Options{Root: testRoot, Dir: testRoot, Resolve: func(abs string) string {
		for link, to := range links {
			if abs == testRoot+link || !missing && within(testRoot+link, abs) {
				return testRoot + to + strings.TrimPrefix(abs, testRoot+link)
			}
		}
		return abs // as it is, for whoever does not follow what is not there yet
	}}
}

var guardedWrites = []string{
	// Through links.
	"echo x >> gg/config", "echo x > cfg", "echo x &> gg/config", "echo x >| gg/hooks/pre-commit", "cat <> cfg",
	"ls >& cfg", "echo x > ./gg//config", "echo x > gg/nope/deeper/still", "echo x >> " + testRoot + "/gg/config",
	"cp x gg/config", "cp x gg", "cp -t gg x", "mv x gg/config", "mv gg/config x", "tee cfg", "tee -a gg/config",
	"ln x gg/x", "ln gg/config x", "ln -s gg/config x", "sed -i s/a/b/ cfg", "touch gg/x", "mkdir gg/x", "mkdir -p gg/a/b",
	"rm gg/config", "rmdir gg/x", "chmod +x sub/hooks/x", "truncate -s 0 cfg", "sort -o cfg x", "split x gg/x",
	"patch cfg x", "patch -i x cfg",
	"tar -C gg -xf a.tar", "tar xf a.tar -C gg", "tar xCf gg a.tar", "unzip -d gg a.zip", "gzip cfg", "xxd x cfg",
	"shuf -o cfg x", "curl -o cfg https://x.example", "curl --output-dir gg -o config https://x.example",
	"wget -O cfg https://x.example", "wget -P gg https://x.example/config",
	"git apply --directory=gg x.patch", "git mv x gg/x", "git archive -o gg/x HEAD", "git format-patch -o gg HEAD",
	"git -C gg archive -o config HEAD", "git -C " + testRoot + "/gg archive -o config HEAD",
	"git -C " + testRoot + "/.git archive -o config HEAD",
	"awk '{ print > \"gg/config\" }' x", "sed 'w cfg' x", "env tee cfg", "timeout 5 cp x cfg", "find . -exec cp {} gg \\;",
	"find gg/ -exec cp x {} \\;", "find .git -exec cp x {} \\;", "ls | xargs -I{} cp {} gg/{}",
	"cd gg && echo x > config", "cd sub/hooks; cp ../x pre-commit", "pushd gg", "(cd gg; tee config)",
	"cp x sub/hooks/../config", "tee " + testRoot + "/sub/hooks/../config",
	"echo x > set", "cp x ed/settings.json", "mkdir ed/x", "cd ed && tee settings.json",

	// By names that are .git to some system.
	"echo x > .git/config", "echo x > .GIT/config", "echo x > .Git/hooks/x", "echo x > ./.git/./config",
	"cp x a/../.git/config", "cp x src/./../.git//config", "echo x > '.git./config'", "echo x > '.git /config'",
	"echo x > '.git::$INDEX_ALLOCATION/config'", "echo x > git~1/config", "cp x GIT~1/config", "echo x > '.git\\config'",
	"cp x 'a\\..\\.git\\config'", "echo x > .gi$'\\u200c't/config", "cp x .g$'\\ufeff'it/config",
	"echo x > .gi[t]/config", "cp x .g?t/config", "tee .git*/config", "echo x > HEAD", "echo x > sub/HEAD.gz",
	"echo x > HEAD.",

	// What other programs believe.
	"echo x > hako.yaml", "echo x > sub/hako.yaml", "cp x Hako.YAML", "tee .aicli.json", "mv x .llmcmdrc",
	"echo x >> .envrc", "touch sub/.envrc", "rm .envrc", "gunzip .envrc.gz", "mkdir .vscode", "cp x .vscode/settings.json",
	"echo x > a/.vscode/tasks.json", "mkdir -p .idea/runConfigurations", "cp -r x .idea", "tar xf a.tar -C .vscode",
	"unzip a.zip -d .idea", "sed -i s/a/b/ hako.yaml", "ln -s x .envrc", "ln hako.yaml x", "cp -l hako.yaml x",
	"mv .vscode x", "cd .vscode && echo x > tasks.json", "cd .vscode; tee tasks.json",
	"split x .envr", "split --additional-suffix=.yaml x ha", "csplit -f .llmcmdr x 5",
	"patch <<'E'\n--- a/.envrc\n+++ b/.envrc\n@@ -0,0 +1 @@\n+x\nE", "curl -O https://x.example/hako.yaml",
	"wget https://x.example/.envrc", "cp -S c x .envr", "sed -i.yaml s/a/b/ hako",
}

var unguardedWrites = []string{
	"echo x > plain/a", "cp x plain/a/b", "cd plain && tee a", "mkdir -p plain/x/y", "sed -i s/a/b/ src/a.go",
	"echo x > config", "cp x src/config", "echo x > .gitignore", "echo x > .github/workflows/ci.yaml", "touch head",
	"echo x > heading", "cp x .vscode.md", "echo x > envrc", "echo x > hako.yaml.md", "echo x > my-hako.yaml",
	"echo x > .idea.txt", "echo x > 'a:b'", "echo x > git.md",
	"cat hako.yaml .envrc .vscode/settings.json", "cat < .envrc", "cp hako.yaml old.yaml", "cp -t old hako.yaml .envrc",
	"cp -r .vscode old", "cd .vscode && cat settings.json", "grep -r x .idea", "git add hako.yaml .vscode",
	"find .vscode -name '*.json' -exec cat {} +", "find .git -type f -exec wc -c {} +", "ls gg", "cat cfg", "ls -la .git",
	"find src -name '*.go' -exec sed -i s/a/b/ {} +", "patch <<'E'\n--- a/x.md\n+++ b/x.md\n@@ -0,0 +1 @@\n+x\nE",
}

func TestGuardedPlaces(t *testing.T) {
	for _, missing := range []bool{false, true} {
		p := Default("host", linked(missing))
		for _, src := range guardedWrites {
			vs, err := p.Script(src)
			if err != nil || Strictest(vs) != Deny {
				t.Errorf("%q: %v, %v", src, err, vs)
			}
			for _, v := range vs {
				if v.Effect == Deny && (v.Why == "" || v.Hint == "" || v.Late) {
					t.Errorf("%q: %+v", src, v)
				}
			}
		}
		for _, src := range unguardedWrites {
			if vs, err := p.Script(src); err != nil || Strictest(vs) != Allow {
				t.Errorf("%q: %v, %v", src, err, vs)
			}
		}
	}
}

// TestGuardedAtRunTime asks as the shell does, when words are expanded and the
// directory is known.
func TestGuardedAtRunTime(t *testing.T) {
	p := Default("host", linked(false))
	for _, c := range []struct {
		dir, op, file string
		want          Effect
	}{
		{"", ">>", "gg/config", Deny}, {"/sub", ">", "hooks/pre-commit", Deny}, {"/gg", ">", "x", Deny},
		{"/ed", ">", "x", Deny}, {"/.vscode", ">", "x", Deny}, {"/.git", ">", "x", Deny},
		{"/sub", "<", "hooks/pre-commit", Allow}, {"/sub", ">", "x", Allow}, {"/plain", ">", "x", Allow},
		{"/plain", ">", testRoot + "/set", Deny},
	} {
		if v := p.RedirectAt(testRoot+c.dir, c.op, c.file); v.Effect != c.want {
			t.Errorf("%v: %+v", c, v)
		}
		if v := p.CallAt(testRoot+c.dir, []string{"tee", c.file}); v.Effect != c.want && c.op != "<" {
			t.Errorf("tee %v: %+v", c, v)
		}
	}
}

// TestRootMayBeCalledAnything keeps what the root's own path says out of it.
func TestRootMayBeCalledAnything(t *testing.T) {
	p := Default("host", Options{Root: "/home/a/.vscode/extensions/b", Dir: "/home/a/.vscode/extensions/b",
		Resolve: func(s string) string { return s }})
	check(t, p, []string{"echo x > a", "cp x a", "tee /home/a/.vscode/extensions/b/a"}, Allow)
	check(t, p, []string{"echo x > .idea/a", "cp x .git/a"}, Deny)
}

// TestDenyListHolds adds lines to a whitelist that say more than the rules that
// deny what they allow.
func TestDenyListHolds(t *testing.T) {
	for line, reason := range map[string]string{
		"sh -c": "a shell runs", "/bin/sh -c": "a shell runs", "/usr/local/bin/bash -c": "a shell runs",
		"sudo -n": "raises privileges", "sudo ls": "raises privileges", "mkfs.ext4": "makes file systems",
		"rm -rf build": "can not be undone", "rm --force --recursive x": "can not be undone",
		"chmod 777 x": "grants everybody", "chmod a+rwx x": "grants everybody", "docker ps": "controls the machine",
		"eval x": "text as commands",
	} {
		list, err := Whitelist("names.list", strings.NewReader("ls\n\n"+line+"  # please\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = list.Instead("host", Options{Root: testRoot})
		if err == nil || !strings.HasPrefix(err.Error(), "read policy names.list:3: ") ||
			!strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), "host.policy:") {
			t.Errorf("%s: %v", line, err)
		}
	}
	// What only overlaps with a denied command is accepted, and gives way.
	p := hostList(t, "rm -r -v\nrm -r -v build\n/bin/sh\n")
	check(t, p, []string{"rm -r -v x", "rm -r -v build"}, Allow)
	check(t, p, []string{"rm -r -f -v x", "rm -rfv build", "sh -c ls", "bash -c ls", "sudo -n x", "mkfs.ext4 x", "/bin/sh",
		"/opt/sh -c ls"}, Deny)
	// So it is with lists of other kinds.
	q, err := AllowedCommands{UseDefault: true, Additional: []string{"sh -c", "*sh -c", "s* -n x", "*", "'mk* x'",
		"sudo -n", "mkfs.ext4", "rm -rf build", "/bin/sh", "git status"}, Exclude: []string{"git"}}.Compile("host",
		Options{Root: testRoot})
	if err != nil {
		t.Fatal(err)
	}
	check(t, q, []string{"git status"}, Allow)
	check(t, q, []string{"sh -c ls", "bash -c ls", "/opt/sh -c ls", "sudo -n ls", "sudo -n x", "mkfs.ext4 x",
		"rm -rf build", "/bin/sh", "git log"}, Deny)
	list, err := Whitelist("names.list", strings.NewReader("sh -c\n/bin/sh\nmkfs.ext4\n"))
	if err != nil {
		t.Fatal(err)
	}
	check(t, hostPolicy().With(list), []string{"sh -c ls", "/bin/sh", "mkfs.ext4 x"}, Deny)
	// A rule that somebody wrote as such is more than a line on a list.
	check(t, hostPolicy().With(mustParse(t, "allow rm -rf build")), []string{"rm -rf build"}, Allow)
}
