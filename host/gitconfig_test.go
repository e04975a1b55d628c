package host

import "testing"

func TestHarmlessConfig(t *testing.T) {
	const made = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
	for text, want := range map[string]bool{
		"": true, made: true, "# nothing\n; else\n": true,
		made + "[remote \"origin\"]\n\turl = https://example.com/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n": true,
		made + "[remote \"o\"]\n\turl = git@example.com:x/y.git\n[submodule \"s\"]\n\tactive = true\n\turl = ../s\n":                                                                      true,
		"[core]\n\tworktree = ../../../sub\n": true, "[user]\n\tname = a\n\temail = a@b\n": true,

		"[core]\n\tfsmonitor = ./evil\n": false, "[CORE]\n\tFSMonitor=./evil": false, "[core] fsmonitor = ./evil\n": false,
		"[core]\n\thooksPath = x\n":    false,
		"[core]\n\tbare = \\\nfalse\n": false, "[core \"x\"]\n\tpager = x": false, "[core.x]\n": false,
		"[include]\n\tpath = x\n": false, "[includeIf \"gitdir:/\"]\n\tpath = x\n": false,
		"[alias]\n\tst = !x\n": false, "[filter \"x\"]\n\tclean = x\n": false, "[diff]\n\texternal = x\n": false,
		"[remote \"o\"]\n\turl = ext::sh -c x\n": false, "[remote \"o\"]\n\turl = --upload-pack=x\n": false,
		"[remote \"o\"]\n\tuploadpack = x\n": false, "[remote \"o\"]\n\tvcs = x\n": false,
		"[submodule \"s\"]\n\tupdate = !x\n": false, "[credential]\n\thelper = x\n": false,
		"[url \"ext::x\"]\n\tinsteadOf = https://\n": false,
		"\ufeff[core]\n\tfsmonitor = x\n":            false, "fsmonitor = x\n": false, "[core]\n\tbare\n": false,
		"[extensions]\n\tworktreeConfig = true\n": false, "[core]\r\n\tfsmonitor = x\r\n": false,
		"[user]\n\tname = a\\\n[core]\n\tfsmonitor = x\n": false,
	} {
		if got := harmlessConfig(text, ""); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	own := "[core]\n\tfsmonitor = ./mine\n"
	if !harmlessConfig(own+"[user]\n\tname = a\n", own) {
		t.Error("what was there before is not new")
	}
	if harmlessConfig("[core]\n\tfsmonitor = ./evil\n", own) || harmlessConfig("[alias]\n\tfsmonitor = ./mine\n", own) {
		t.Error("another value, or another section, is new")
	}
}
