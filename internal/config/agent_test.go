package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hako/run/fault"
)

func TestAgentDefaults(t *testing.T) {
	c := mustLoad(t, newWorld(t, "").source())
	for got, want := range map[string]string{
		fmt.Sprintln(AgentPoll.Of(c).V, AgentParallel.Of(c).V, AgentHealth.Of(c).V, AgentHealthPublic.Of(c).V,
			AgentLogFormat.Of(c), AgentAuthor.Of(c).V): "60 1  false {text default}",
		fmt.Sprintln(Key[bool]("planning.enabled").Of(c).V, PlanningTurns.Of(c).V, PlanningActions.Of(c).V, PlanningTokens.Of(c).V,
			PlanningCost.Of(c).V): "true 100 200 2000000 0",
		fmt.Sprintln(PlanningUserTokens.Of(c).V, PlanningUserCost.Of(c).V, PlanningReplans.Of(c).V, PlanningReflect.Of(c).V,
			PlanningSame.Of(c).V): "0 0 2 15 5",
		fmt.Sprintln(len(PlanningVerify.Of(c).V), QueueName.Of(c).V, QueueReplicas.Of(c).V, QueueTries.Of(c).V,
			QueueLease.Of(c).V): "0 hako 1 20 30",
		fmt.Sprintln("q", QueueURL.Of(c).V, QueueCredentials.Of(c).V,
			QueueCA.Of(c).V): "q",
		fmt.Sprintln(GitHubAppID.Of(c).V, GitHubAppInstallation.Of(c).V,
			GitHubAppKey.Of(c).V): "0 0",
	} {
		if strings.TrimSpace(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, forge := range []ForgeKeys{GitHub, GitLab} {
		var labels []string
		for _, k := range forge.labels() {
			labels = append(labels, k.Of(c).V)
		}
		want := []string{"coding agent", "coding agent processing", "coding agent done", "coding agent failed",
			"coding agent paused", "coding agent stopped"}
		if !slices.Equal(labels, want) {
			t.Errorf("%q", labels)
		}
		if forge.Enabled.Of(c).V || forge.NeedAssignee.Of(c).V || len(forge.Repositories.Of(c).V) > 0 ||
			forge.APIURL.Of(c).V+forge.CA.Of(c).V+forge.BotName.Of(c).V+forge.Token.Of(c).V != "" {
			t.Errorf("%s is not empty", forge.Token)
		}
	}
}

// TestAgentFile has every section as a whole file has them.
func TestAgentFile(t *testing.T) {
	w := newWorld(t, `
github:
  api_url: https://github.example.com/api/v3/
  bot_name: hako[bot]
  bot_label: やって
  repositories: [a/b, c/d.e]
  require_assignee: true
  ca_certificates: ca.pem
  app: {id: 12, installation_id: 3456789012, private_key_file: ~/app.pem}
gitlab:
  enabled: true
  repositories: [group/sub/name]
  failed_label: broken
planning: {max_turns: 7, max_tokens: 5000000000, max_cost: 1.5, max_replans: 0, reflect_every: 0, verify: ["make test", "grep -q 'a, b' x"]}
queue: {url: "nats://a:4222, tls://b:4222", credentials: q.creds, name: two, replicas: 3}
agent: {health: ":9464", health_public: true, log_format: json, author: "箱 <bot@example.com>"}
`)
	c := mustLoad(t, w.named())
	at := func(name string) string { return filepath.Join(w.dir, name) }
	for _, check := range []struct{ got, want any }{
		{GitHub.APIURL.Of(c), Value[string]{"https://github.example.com/api/v3", at(fileName) + ":3"}},
		{GitHub.BotName.Of(c).V, "hako[bot]"},
		{GitHub.Ready.Of(c).V, "やって"},
		{GitHub.Repositories.Of(c).V, []string{"a/b", "c/d.e"}},
		{GitHub.NeedAssignee.Of(c).V, true},
		{GitHub.CA.Of(c).V, at("ca.pem")},
		{GitHubAppID.Of(c).V, 12},
		{GitHubAppInstallation.Of(c).V, 3456789012},
		{GitHubAppKey.Of(c).V, at("home/app.pem")},
		{GitHub.Enabled.Of(c).V, true},
		{GitLab.Enabled.Of(c).V, true},
		{GitLab.Repositories.Of(c).V, []string{"group/sub/name"}},
		{GitLab.Failed.Of(c).V, "broken"},
		{PlanningTurns.Of(c).V, 7},
		{PlanningTokens.Of(c).V, 5000000000},
		{PlanningCost.Of(c).V, 1.5},
		{PlanningReplans.Of(c).V, 0},
		{PlanningReflect.Of(c).V, 0},
		{PlanningVerify.Of(c).V, []string{"make test", "grep -q 'a, b' x"}},
		{string(QueueURL.Of(c).V), "nats://a:4222, tls://b:4222"},
		{QueueCredentials.Of(c).V, at("q.creds")},
		{QueueName.Of(c).V, "two"},
		{QueueReplicas.Of(c).V, 3},
		{AgentHealth.Of(c).V, ":9464"},
		{AgentHealthPublic.Of(c).V, true},
		{AgentLogFormat.Of(c).V, "json"},
		{AgentAuthor.Of(c).V, "箱 <bot@example.com>"},
		{len(c.Secrets()), 0},
	} {
		if fmt.Sprint(check.got) != fmt.Sprint(check.want) {
			t.Errorf("got %v, want %v", check.got, check.want)
		}
	}
}

// TestAgentRanges has the ends of every range and what lies beyond them; | stands
// between values.
func TestAgentRanges(t *testing.T) {
	long := strings.Repeat("字", 50)
	for name, tt := range map[string]struct{ good, bad string }{
		"github.enabled": {"true|no", "maybe"},
		"github.api_url": {"https://ghe.example|http://127.0.0.1:1/api/v3/|",
			"ghe.example|ftp://x|https://x/?a=b|https://a:b@c"},
		"github.bot_name":             {"hako-bot|hako[bot]|", "@hako|a b|a/b|[bot]"},
		"github.bot_label":            {"x|" + long, "|a,b|" + long + "字| "},
		"gitlab.stopped_label":        {"x", "a,b"},
		"github.repositories":         {"a/b|a-b/c.d_e", "a|a/b/c|https://github.com/a/b|a/b.git|../b|a/..|a/b?x|/a|a/"},
		"gitlab.repositories":         {"a/b|a/b/c/d", "a|a//b|a/b c"},
		"gitlab.require_assignee":     {"on", "x"},
		"github.app.id":               {"0|1", "-1|x|1.5"},
		"github.app.installation_id":  {"9000000000", "-1|99999999999999999999"},
		"github.app.private_key_file": {"a.pem|", ""},
		"planning.enabled":            {"false", "x"},
		"planning.max_turns":          {"1|10000", "0|10001"},
		"planning.max_actions":        {"1|100000", "0|100001|x"},
		"planning.max_tokens":         {"1000|1000000000000", "999|1000000000001|1e6"},
		"planning.max_cost":           {"0|0.01|1000000", "-1|1000001|NaN|$5"},
		"planning.max_user_tokens":    {"0|1000000000000000", "-1|1000000000000001"},
		"planning.max_user_cost":      {"0|2.5", "-0.1|Inf"},
		"planning.max_replans":        {"0|20", "-1|21"},
		"planning.reflect_every":      {"0|10000", "-1|10001"},
		"planning.max_same_errors":    {"1|1000", "0|1001"},
		"planning.verify":             {"make test", " |a\\nb"},
		"queue.url":                   {"nats://a|a:4222|a, b|wss://a/nats|tls://[::1]:1|", "http://a|nats://|a,|nats://a b"},
		"queue.name":                  {"a|A_b-3|" + strings.Repeat("x", 32), "|a.b|a b|" + strings.Repeat("x", 33)},
		"queue.replicas":              {"1|5", "0|6"},
		"queue.tries":                 {"1|1000", "0|1001"},
		"queue.lease_seconds":         {"1|3600", "0|3601"},
		"agent.poll_seconds":          {"5|86400", "4|86401"},
		"agent.parallel":              {"1|64", "0|65"},
		"agent.health": {"127.0.0.1:9464|:1|[::1]:0|localhost:65535|",
			"9464|127.0.0.1|a:65536|a:-1|a:+1|a:b|http://a:1|a/b:1|a@b:1|::1:1"},
		"agent.health_public": {"true", "x"},
		"agent.log_format":    {"text|json", "xml|JSON"},
		"agent.ci_files":      {"true|false", "x"},
		"agent.author":        {"A B <a@b>|箱 <x>|", "A|<a@b>|A <a b>|A <a@b> x|A<a@b>|A <a><b>"},
	} {
		for word := range strings.SplitSeq(tt.good, "|") {
			mustLoad(t, newWorld(t, yamlOf(name, `"`+word+`"`)).named())
		}
		for word := range strings.SplitSeq(tt.bad, "|") {
			if tt.bad == "" {
				break
			}
			w := newWorld(t, yamlOf(name, `"`+word+`"`))
			_, err := Load(w.named())
			want := fmt.Sprintf("set %s: %s:%d", name, w.named().File, 1+strings.Count(name, "."))
			if fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(fmt.Sprint(err), want) || fault.Hint(err) == "" {
				t.Errorf("%s: %s: %v | %s", name, word, err, fault.Hint(err))
			}
		}
	}
}

func TestAgentEnvironment(t *testing.T) {
	w := newWorld(t, "github: {bot_label: file}\nqueue: {name: file}")
	for name, value := range map[string]string{
		"GITHUB_API_URL": "https://ghe.example/", "GITLAB_API_URL": "http://git.example/api/v4",
		"HAKO_GITHUB_BOT_LABEL": "env", "HAKO_GITLAB_REPOSITORIES": "a/b, c/d",
		"HAKO_PLANNING_MAX_TURNS": "9", "HAKO_QUEUE_URL": "a:1,b:2", "HAKO_AGENT_PARALLEL": "3",
		"HAKO_GITHUB_REQUIRE_ASSIGNEE": "1",
	} {
		w.env[name] = value
	}
	c := mustLoad(t, w.named())
	got := fmt.Sprint(GitHub.APIURL.Of(c), GitLab.APIURL.Of(c), GitHub.Ready.Of(c), GitLab.Repositories.Of(c).V,
		PlanningTurns.Of(c), string(QueueURL.Of(c).V), AgentParallel.Of(c), GitHub.NeedAssignee.Of(c).V, QueueName.Of(c).V)
	want := "{https://ghe.example env GITHUB_API_URL} {http://git.example/api/v4 env GITLAB_API_URL} {env env HAKO_GITHUB_BOT_LABEL} [a/b c/d] {9 env HAKO_PLANNING_MAX_TURNS}a:1,b:2{3 env HAKO_AGENT_PARALLEL} truefile"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A forge is worked for if there is an account, unless somebody says otherwise.
func TestForgeEnabled(t *testing.T) {
	for file, want := range map[string]string{
		"":                             "false false",
		"github: {token: ghp_1234567}": "true false",
		"gitlab: {token: glpat-12345}": "false true",
		"github: {token: ghp_1234567, enabled: false}": "false false",
		"github: {app: {private_key_file: x.pem}}":     "true false",
		"gitlab: {enabled: true}":                      "false true",
	} {
		w := newWorld(t, "")
		w.private(t, fileName, file)
		c := mustLoad(t, w.named())
		if got := fmt.Sprint(GitHub.Enabled.Of(c).V, " ", GitLab.Enabled.Of(c).V); got != want {
			t.Errorf("%s: %s", file, got)
		}
	}
}

// A label with two meanings would have a task begun again that is done.
func TestLabelsDiffer(t *testing.T) {
	for file, want := range map[string]string{
		"github: {bot_label: 'Coding Agent Done'}":         `set github.done_label: default: "coding agent done" is also github.bot_label`,
		"gitlab: {failed_label: x, done_label: x}":         `is also gitlab.done_label`,
		"github: {bot_label: x}\ngitlab: {done_label: x}":  "",
		"github: {bot_label: x, done_label: coding agent}": "",
	} {
		_, err := Load(newWorld(t, file).named())
		if want == "" && err != nil || want != "" &&
			(!strings.Contains(fmt.Sprint(err), want) || fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "") {
			t.Errorf("%s: %v", file, err)
		}
	}
	c := mustLoad(t, newWorld(t, "").source())
	if err := c.Set("github.bot_label", "--label", "coding agent done"); err == nil {
		t.Error("a flag did it")
	}
}

func TestTokens(t *testing.T) {
	w := newWorld(t, "")
	w.private(t, fileName, "github: {token: ghp_infile1}\ngitlab: {token: glpat-infile}")
	w.env["GITHUB_PERSONAL_ACCESS_TOKEN"] = "ghp_inenv11\n"
	c := mustLoad(t, w.named())
	if v := GitHub.Token.Of(c); v != (Value[string]{"ghp_inenv11", "env GITHUB_PERSONAL_ACCESS_TOKEN"}) {
		t.Errorf("%+v", v)
	}
	if got := c.Secrets(); !slices.Equal(got, []string{"ghp_infile1", "glpat-infile", "ghp_inenv11"}) {
		t.Errorf("%q", got)
	}
	shown := fmt.Sprint(c.Show())
	for _, secret := range c.Secrets() {
		if strings.Contains(shown, secret) {
			t.Errorf("%s is shown", secret)
		}
	}
	w.env["GITLAB_PERSONAL_ACCESS_TOKEN"] = "glpat-one two"
	if _, err := Load(w.named()); fault.KindOf(err) != fault.Invalid || strings.Contains(fmt.Sprint(err, fault.Hint(err)),
		"glpat-one") {
		t.Error(err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	os.Chmod(w.named().File, 0o644)
	delete(w.env, "GITLAB_PERSONAL_ACCESS_TOKEN")
	if _, err := Load(w.named()); !strings.Contains(fault.Hint(err), "chmod 600") {
		t.Errorf("a token that others can read: %v", err)
	}
}

// The address of the queue is a secret only where there is one in it.
func TestQueuePasswords(t *testing.T) {
	const url = "nats://me:p%40ss-one@a:1, tls://s3cret-token@b:2,c:3"
	w := newWorld(t, "")
	w.private(t, fileName, "queue: {url: '"+url+"'}")
	c := mustLoad(t, w.named())
	if got := c.Secrets(); !slices.Equal(got, []string{"p@ss-one", "p%40ss-one", "s3cret-token"}) {
		t.Errorf("%q", got)
	}
	k, _ := c.find("queue.url", "")
	if got := k.show(c).Value; got != "nats://[redacted]@a:1, tls://[redacted]@b:2, c:3" ||
		string(QueueURL.Of(c).V) != url {
		t.Error(got)
	}
	w.env["HAKO_QUEUE_URL"] = "nats://me:pw123456@"
	if _, err := Load(w.named()); err == nil || strings.Contains(fmt.Sprint(err, fault.Hint(err)), "pw123456") {
		t.Error(err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	delete(w.env, "HAKO_QUEUE_URL")
	os.Chmod(w.named().File, 0o644)
	if _, err := Load(w.named()); !strings.Contains(fault.Hint(err), "chmod 600") {
		t.Errorf("a password that others can read: %v", err)
	}
	mustLoad(t, newWorld(t, "queue: {url: 'nats://a:1'}").named())
}

func TestAgentNearest(t *testing.T) {
	for file, want := range map[string]string{
		"githb: {}":                     "did you mean github?",
		"github: {bot_lable: x}":        "did you mean github.bot_label?",
		"github: {app: {ide: 1}}":       "did you mean github.app.id?",
		"gitlab: {app: {id: 1}}":        `there is no setting "gitlab.app"`,
		"planning: {max_turn: 1}":       "did you mean planning.max_turns?",
		"queue: {uri: x}":               "did you mean queue.url?",
		"agent: {pol_seconds: 9}":       "did you mean agent.poll_seconds?",
		"mcp_server: {}":                "did you mean mcp_servers?",
		"llm: {openai: {base_uri: x}}":  "did you mean llm.openai.base_url?",
		"llm: {anthropic: {model: x}}":  `there is no setting "llm.anthropic"`,
		"planning: {verify: {a: b}}":    "planning.verify must be a list of words",
		"github: {repositories: [[a]]}": "github.repositories must be a list of words",
		"github: {token: [a]}":          "github.token must be a single value",
	} {
		_, err := Load(newWorld(t, file).named())
		if got := fmt.Sprint(err, " | ", fault.Hint(err)); fault.KindOf(err) != fault.Invalid ||
			!strings.Contains(got, want) {
			t.Errorf("%s\n got %s\nwant %s", file, got, want)
		}
	}
}
