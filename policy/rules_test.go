package policy

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"hako/run/fault"
)

func mustParse(t testing.TB, text string) *Policy {
	t.Helper()
	p, err := Parse("test.policy", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMostSpecificRuleWins(t *testing.T) {
	p := mustParse(t, `
allow git                 # look around
ask   git push            # leaves this machine
deny  git push -f         # rewrites history
allow rm
deny  rm -rf              # can not be undone
allow rm -rf build        # made again by make
allow 'my tool'           # quoted
allow npm run *
deny  npm run 'deploy*'   # not from here
ask   npm run deploy-test
deny  tie
allow tie
ask   tie
allow go test *
deny  *ctl                # controls the machine
allow chmod
deny  chmod 777           # everybody
allow env
allow xargs
allow find
allow timeout
`)
	cases := []struct {
		cmd    string
		effect Effect
		where  string
	}{
		{"git status", Allow, "test.policy:2"},
		{"git push origin main", Ask, "test.policy:3"},
		{"git push origin main -f", Deny, "test.policy:4"},
		{"git push --force", Deny, "test.policy:4"},
		{"git push --forc", Deny, "test.policy:4"},
		{"git -C sub push", Ask, "test.policy:3"},
		{"git -c a=b push -f", Deny, "test.policy:4"},
		{"git --no-pager push", Ask, "test.policy:3"},
		{"rm a", Allow, "test.policy:5"},
		{"rm -r a", Allow, "test.policy:5"},
		{"rm -rf a", Deny, "test.policy:6"},
		{"rm -fr a", Deny, "test.policy:6"},
		{"rm -r -f a", Deny, "test.policy:6"},
		{"rm a -f -R", Deny, "test.policy:6"},
		{"rm --recursive --force a", Deny, "test.policy:6"},
		{"rm --rec --fo a", Deny, "test.policy:6"},
		{"rm -Rvf a", Deny, "test.policy:6"},
		{"rm -- -rf", Allow, "test.policy:5"},
		{"rm -rf build", Allow, "test.policy:7"},
		{"'my tool' x", Allow, "test.policy:8"},
		{"npm run test", Allow, "test.policy:9"},
		{"npm run deploy-prod", Deny, "test.policy:10"},
		{"npm run deploy-test", Ask, "test.policy:11"},
		{"npm install", Deny, "no rule"},
		{"tie", Deny, "test.policy:12"},
		{"go test ./...", Allow, "test.policy:15"},
		{"go build", Deny, "no rule"},
		{"systemctl stop x", Deny, "test.policy:16"},
		{"chmod 777 a", Deny, "test.policy:18"},
		{"chmod -R 0777 a", Deny, "test.policy:18"},
		{"chmod 1777 a", Deny, "test.policy:18"},
		{"chmod a+rwx a", Deny, "test.policy:18"},
		{"chmod ugo+rwx a", Deny, "test.policy:18"},
		{"chmod =rwx a", Deny, "test.policy:18"},
		{"chmod +rwx a", Deny, "test.policy:18"},
		{"chmod a+rw,a+x a", Deny, "test.policy:18"},
		{"chmod o+w a", Allow, "test.policy:17"},
		{"chmod 755 a", Allow, "test.policy:17"},
		{"chmod a-rwx a", Allow, "test.policy:17"},
		{"env A=1 rm -rf x", Deny, "test.policy:6"},
		{"env git push", Ask, "test.policy:3"},
		{"timeout 5 xargs rm -fr", Deny, "test.policy:6"},
		{`find . -exec rm -rf {} \;`, Deny, "find: -exec (test.policy:6)"},
		{"unknown", Deny, "no rule"},
	}
	for _, c := range cases {
		vs, err := p.Script(c.cmd)
		if err != nil || len(vs) != 1 {
			t.Errorf("%s: %v, %v", c.cmd, err, vs)
			continue
		}
		if vs[0].Effect != c.effect || vs[0].Where != c.where {
			t.Errorf("%s: %s by %q, want %s by %q", c.cmd, vs[0].Effect, vs[0].Where, c.effect, c.where)
		}
		if got := p.Call(vs[0].Argv); got.Effect != c.effect {
			t.Errorf("%s: Call says %s", c.cmd, got.Effect)
		}
	}
}

func TestMalformedRules(t *testing.T) {
	cases := []struct{ text, subject, why, hint string }{
		{"alow ls", "t:1", `"alow" is not an effect`, "did you mean allow?"},
		{"allow ls\n\ndney rm", "t:3", `"dney" is not an effect`, "did you mean deny?"},
		{"permit x", "t:1", `"permit" is not an effect`, "start the line with allow, ask or deny"},
		{"allow", "t:1", "the rule names no command", "write the command after the effect: allow git status"},
		{"allow # only a reason", "t:1", "the rule names no command", "write the command after the effect: allow git status"},
		{"allow 'a", "t:1", "the quote is not closed", "close the quote; quoting works as in the shell"},
		{"match ls", "t:1", "the example stands above every rule", "put it below the rule it belongs to"},
		{"allow ls\n  match", "t:2", "the example names no command", "write the command after match"},
		{"allow ls\n  mach ls", "t:2", `"mach" is not an effect`, "did you mean match?"},
		{"  allow ls", "t:1", "a rule is not indented", "indent only the match and nomatch lines below a rule"},
		{"deny git push\n  match git pull", "t:2", `the rule "deny git push" does not match the example "git pull"`,
			"change the rule or the example"},
		{"deny git push\n  nomatch git push x", "t:2", `the rule "deny git push" matches the example "git push x"`,
			"change the rule or the example"},
	}
	for _, c := range cases {
		_, err := Parse("t", strings.NewReader(c.text))
		var fe *fault.Error
		if !errors.As(err, &fe) {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if fe.Kind != fault.Invalid || fe.Op != "read policy" || fe.Subject != c.subject || fe.Why != c.why ||
			fe.Hint != c.hint {
			t.Errorf("%q: %+v", c.text, fe)
		}
	}
}

func TestExamplesAreKept(t *testing.T) {
	p := mustParse(t, "deny git push -f # no\n  match git push origin -f\n\tnomatch git push origin\n")
	if p.Examples() != 2 || p.Test() != nil {
		t.Errorf("%d examples, %v", p.Examples(), p.Test())
	}
	for _, profile := range Profiles() {
		if err := Default(profile, Options{}).Test(); err != nil {
			t.Errorf("%s: %v", profile, err)
		}
	}
}

func TestWhitelist(t *testing.T) {
	p, err := Whitelist("w.txt", strings.NewReader("# names\nls\ngrep # search\n\ngit status\n"))
	if err != nil {
		t.Fatal(err)
	}
	for cmd, want := range map[string]Effect{"ls -l": Allow, "grep x y": Allow, "git status": Allow, "git push": Deny,
		"rm x": Deny} {
		if vs, _ := p.Script(cmd); Strictest(vs) != want {
			t.Errorf("%s: %v", cmd, vs)
		}
	}
	if v := p.Call([]string{"grep"}); v.Where != "w.txt:3" || v.Why != "search" {
		t.Errorf("%+v", v)
	}
	if _, err := Whitelist("w.txt", strings.NewReader("-x")); fault.KindOf(err) != fault.Invalid {
		t.Errorf("%v", err)
	}
}

func TestWhitelistLines(t *testing.T) {
	for line, hint := range map[string]string{
		"|| rm": "one command name per line", "rm;ls": "one command name per line", "ls > x": "--rules",
		"$(id)": "one command name per line", "../evil": "write evil", "ls,cat": "one command name per line",
		"allow cd": "--rules", "deny": "--rules", "ask git push": "--rules", "*": "name the commands", "l\xffs": "UTF-8",
		"ls # \xff": "UTF-8", "\x7fELF\x00\x01": "UTF-8", "/sbin/mkfs.ext4": "write mkfs.ext4", "/usr/bin/../x": "write x",
		"./sh":  "write sh",
		"/bin/": "one command name per line", "..": "one command name per line", "''": "one command name per line",
		"A=b ls": "one command name per line", "'mk* x'": "one command name per line", "git *": "--rules",
		"git 'a b'": "--rules", "git ''": "--rules", "ls & rm": "--rules", "ls \x1b": "--rules",
		"you may run the program ls": "one command name per line", "'ls": "close the quote",
		"-x": "one command name per line", "ls\u202e": "one command name per line",
		strings.Repeat("x", 70000): "one command name per line",
	} {
		_, err := Whitelist("w.txt", strings.NewReader("ls\n\n"+line+"\n"))
		if fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(err.Error(), "read policy w.txt:3: ") ||
			!strings.Contains(fault.Hint(err), hint) || len(err.Error()) > 200 {
			t.Errorf("%.40q: %.200v, hint %q", line, err, fault.Hint(err))
		}
	}
	p, err := Whitelist("w.txt",
		strings.NewReader("\ufeff/usr/bin/git status\r\n/bin/ls\n/usr/local/bin/x.y\n[\n.\n:\ng++\nuv run --extra=a pytest\n表示プログラム\npython3.12 # が\n"))
	if err != nil {
		t.Fatal(err)
	}
	check(t, p, []string{"git status", "ls -l", "x.y", "[ a ]", ":", "g++ a.c", "uv run --extra=a pytest", "表示プログラム a",
		"python3.12 x"}, Allow)
	check(t, p, []string{"git push", "cat x"}, Deny)
}

func TestAllowedCommands(t *testing.T) {
	opts := Options{Root: testRoot}
	cases := []struct {
		name    string
		setting AllowedCommands
		want    map[string]Effect
	}{
		{"default", AllowedCommands{UseDefault: true}, map[string]Effect{"ls": Allow, "curl https://x.example": Allow,
			"custom": Deny, "sudo ls": Deny}},
		{"more and less", AllowedCommands{UseDefault: true, Additional: []string{"custom-build-tool", "sudo"},
			Exclude: []string{"curl", "git"}},
			map[string]Effect{"ls": Allow, "custom-build-tool x": Allow, "curl https://x.example": Deny, "git status": Deny,
				"sudo ls": Deny}},
		{"custom", AllowedCommands{CustomList: []string{"npm", "python", "grep"}},
			map[string]Effect{"npm test": Allow, "grep x y": Allow, "ls": Deny, "rm -rf x": Deny}},
		{"nothing", AllowedCommands{}, map[string]Effect{"ls": Deny}},
	}
	for _, c := range cases {
		p, err := c.setting.Compile("host", opts)
		if err != nil {
			t.Fatal(err)
		}
		for cmd, want := range c.want {
			if vs, _ := p.Script(cmd); Strictest(vs) != want {
				t.Errorf("%s: %s: %v", c.name, cmd, vs)
			}
		}
	}
	if _, err := (AllowedCommands{Additional: []string{""}}).Compile("host", opts); fault.KindOf(err) != fault.Invalid {
		t.Errorf("%v", err)
	}
	if _, err := (AllowedCommands{}).Compile("hots", opts); fault.Hint(err) != "did you mean host?" {
		t.Errorf("%v", err)
	}
}

func TestCategories(t *testing.T) {
	cats := Default("host", Options{}).Categories()
	want := []string{"Build and package management", "Tests", "Linters and formatters", "Files and searching",
		"Version control", "Utilities"}
	for i, title := range want {
		if i >= len(cats) || cats[i].Title != title || len(cats[i].Commands) == 0 {
			t.Fatalf("category %d is not %q: %+v", i, title, cats)
		}
	}
	for _, c := range cats {
		for _, cmd := range c.Commands {
			if cmd.Why == "" {
				t.Errorf("%s has no reason", cmd.Name)
			}
		}
	}
}

// Every command that the design document lists is allowed, every one it
// forbids is denied.
func TestDocumentedLists(t *testing.T) {
	allowed := "npm yarn pnpm pip pip3 conda mamba python python3 cargo make cmake bundle gem composer dotnet pytest jest mocha rspec phpunit " +
		"eslint prettier black flake8 pylint mypy rubocop rustfmt clippy tsc ls cat head tail grep find wc diff tree file stat " +
		"echo pwd cd mkdir rm cp mv touch chmod env which curl wget tar unzip jq sed awk sort uniq xargs"
	denied := "sudo su chown mount umount iptables ip6tables systemctl service kill killall reboot shutdown dd mkfs fdisk parted nc netcat nmap ssh scp rsync"
	for _, profile := range []string{"host", "container"} {
		p := Default(profile, Options{Root: testRoot, Home: testRoot})
		for _, name := range strings.Fields(allowed) {
			if v := p.Call([]string{name}); v.Effect != Allow {
				t.Errorf("%s: %s: %+v", profile, name, v)
			}
		}
		for _, name := range strings.Fields(denied) {
			if v := p.Call([]string{name, "x"}); v.Effect != Deny || v.Why == "" || strings.Contains(v.Hint, "add a rule") {
				t.Errorf("%s: %s: %+v", profile, name, v)
			}
		}
		for _, sub := range []string{"status", "diff", "log", "branch", "show", "blame"} {
			if v := p.Call([]string{"git", sub}); v.Effect != Allow {
				t.Errorf("%s: git %s: %+v", profile, sub, v)
			}
		}
	}
}

func TestVerdictJSON(t *testing.T) {
	v := hostPolicy().Call([]string{"rm", "-r", "-f", "x"})
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"effect":"deny","command":"rm -r -f x","argv":["rm","-r","-f","x"],"reason":"a recursive forced removal can not be undone","rule":"` + v.Where +
		`","hint":"remove files by name with rm, and empty directories with rmdir","unlisted":true}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestNilPolicyDenies(t *testing.T) {
	var p *Policy
	if p.Call([]string{"ls"}).Effect != Deny || p.Redirect(">", "x").Effect != Deny {
		t.Error("a nil policy lets something through")
	}
	if vs, err := p.Script("ls"); err != nil || Strictest(vs) != Deny {
		t.Errorf("%v %v", vs, err)
	}
	if Default("nonesuch", Options{}) != nil {
		t.Error("an unknown profile has a policy")
	}
	var zero Verdict
	if zero.Effect != Deny {
		t.Error("the zero verdict does not deny")
	}
}
