package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/run/fault"
)

const mcpByName = `
mcp_servers:
  github:
    command: [github-mcp-server, stdio]
    env: {GITHUB_TOKEN: "${MY_TOKEN}", GITHUB_TOOLSETS: all}
    tools: [create_issue, get_issue]
    timeout_seconds: 90
  local:
    command: ./bin/server
    args: [--fast, "7"]
  wiki:
    url: https://mcp.example.com/mcp
    headers: {Authorization: "Bearer ${WIKI_KEY}", X-Team: blue}
  nothing:
`

const mcpAsList = `
mcp_servers:
  - mcp_server_name: github
    command: ["github-mcp-server", "stdio"]
    env:
      GITHUB_TOKEN: "${MY_TOKEN}"
      GITHUB_TOOLSETS: all
    tools: [create_issue, get_issue]
    timeout_seconds: 90
  - name: local
    command: [./bin/server, --fast, 7]
  - name: wiki
    url: https://mcp.example.com/mcp/
    headers:
      Authorization: Bearer ${WIKI_KEY}
      X-Team: blue
`

func TestMCPForms(t *testing.T) {
	for _, file := range []string{mcpByName, mcpAsList} {
		w := newWorld(t, file)
		w.env["MY_TOKEN"], w.env["WIKI_KEY"] = " ghp_token\n", "w-key"
		c := mustLoad(t, w.named())
		got, err := c.MCPServers()
		want := []MCPServer{
			{Name: "github", Command: []string{"github-mcp-server", "stdio"}, Env: map[string]string{"GITHUB_TOKEN": "ghp_token",
				"GITHUB_TOOLSETS": "all"},
				Tools: []string{"create_issue", "get_issue"}, Timeout: 90 * time.Second},
			{Name: "local", Command: []string{filepath.Join(w.dir, "bin", "server"), "--fast", "7"}},
			{Name: "wiki", URL: "https://mcp.example.com/mcp", Header: map[string]string{"Authorization": "Bearer w-key",
				"X-Team": "blue"}},
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			type open MCPServer // prints all of it
			for _, m := range got {
				t.Errorf("%+v", open(m))
			}
			t.Error(err)
		}
		if again, _ := c.MCPServers(); !reflect.DeepEqual(again, want) {
			t.Error("not the same the second time")
		}
		k, _ := c.find("mcp_servers", "")
		if s := k.show(c); s.Value != "github, local, wiki" || !strings.HasSuffix(s.From, fileName+":3") {
			t.Errorf("%+v", s)
		}
	}
	if none, err := mustLoad(t, newWorld(t, "").source()).MCPServers(); err != nil || len(none) != 0 {
		t.Error(none, err)
	}
}

// Nothing that is printed of a server shows its keys.
func TestMCPSecrets(t *testing.T) {
	w := newWorld(t, "")
	path := w.private(t, fileName,
		`mcp_servers: {a: {command: x, env: {A: literal-key, B: "pre-${VAR}", C: "", D: "on"}}, b: {url: "https://h/", headers: {Authorization: Bearer header-key, X-One: "Bearer ${NONE}", X-Two: "Bearer ${PART}-${NONE}"}}}`)
	w.env["VAR"], w.env["PART"] = "from-env", "part-of-it"
	c := mustLoad(t, w.named())
	got := c.Secrets()
	slices.Sort(got)
	if want := []string{"Bearer header-key", "from-env", "header-key", "literal-key", "part-of-it",
		"pre-from-env"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	w.env["NONE"] = "none-of-it"
	servers, err := mustLoad(t, w.named()).MCPServers()
	if err != nil {
		t.Fatal(err)
	}
	shown := fmt.Sprintf("%v %+v %s %v %v", c.Show(), servers, servers, mcpList.Of(c), err)
	for _, secret := range append(got, "none-of-it") {
		if strings.Contains(shown, secret) {
			t.Errorf("%s is shown in %s", secret, shown)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	os.Chmod(path, 0o644)
	if _, err := Load(w.named()); !strings.Contains(fault.Hint(err), "chmod 600") {
		t.Errorf("a key that others can read: %v", err)
	}
}

// A variable that is missing bothers only who needs it.
func TestMCPVariables(t *testing.T) {
	w := newWorld(t, `mcp_servers: {docs: {url: "https://h", headers: {Authorization: "Bearer ${DOCS_KEY}"}}}`)
	file := w.named().File
	for value, want := range map[string]string{
		"":                "set mcp_servers: " + file + ":1: docs: Authorization: the variable DOCS_KEY is not set",
		"key-1\nX-Evil:1": "docs: Authorization: the value has a line break",
	} {
		w.env["DOCS_KEY"] = value
		c := mustLoad(t, w.named())
		_, err := c.MCPServers()
		if got := fmt.Sprint(err); fault.KindOf(err) != fault.Invalid || !strings.Contains(got, want) ||
			fault.Hint(err) == "" || strings.Contains(got, "key-1") {
			t.Errorf("%q: %v | %s", value, err, fault.Hint(err))
		}
	}
	w.env["DOCS_KEY"] = "${HOME}"
	if got, err := mustLoad(t, w.named()).MCPServers(); err != nil || got[0].Header["Authorization"] != "Bearer ${HOME}" {
		t.Error("what a variable holds is not looked at again", err)
	}
	c := mustLoad(t, w.named())
	if err := c.Set("mcp_servers", "--mcp", "x"); !strings.Contains(fmt.Sprint(err), "it can only be set in a file") {
		t.Error(err)
	}
}

func TestMCPMistakes(t *testing.T) {
	for servers, want := range map[string]string{
		"x":                               "it must hold servers by name, or a list of them",
		"{a: x}":                          "a: it must hold names and values",
		"[x]":                             "server 1: it must hold names and values",
		"[{command: x}]":                  "server 1: a server's name has 1 to 32 letters",
		"{a_b: {command: x}}":             "a_b: a server's name has 1 to 32 letters, digits and dashes",
		"{-a: {command: x}}":              "a server's name",
		"[{name: a, mcp_server_name: a}]": "mcp_server_name: it has a name already",
		"{a: {name: a, command: x}}":      `a: there is no setting "name"`,
		"[{name: a, command: x}, {name: a, url: 'http://x'}]": "a is there twice",
		"{a: {command: x}, a: {command: y}}":                  "a is set twice",
		"{a: {command: x, command: y}}":                       "a: command is set twice",
		"{a: {comand: x}}":                                    `a: there is no setting "comand"; did you mean command?`,
		"{a: {command: x, header: {A: b}}}":                   "did you mean headers?",
		"{a: {command: x, type: stdio}}":                      `there is no setting "type"; a server has command, args`,
		"{a: {}}":                                             "a: it has neither a command nor a url",
		"{a: {command: x, url: 'http://y'}}":                  "it has both a command and a url",
		"{a: {url: 'http://y', env: {A: b}}}":                 "args and env are for a command",
		"{a: {url: 'http://y', args: [b]}}":                   "args and env are for a command",
		"{a: {command: x, headers: {A: b}}}":                  "headers are for a url",
		"{a: {command: npx -y server}}":                       "command: several words are a list",
		"{a: {command: []}}":                                  "command: the program is missing",
		"{a: {command: ['']}}":                                "command: the program is missing",
		"{a: {command: {x: y}}}":                              "command: it must be a list of words",
		"{a: {command: [[x]]}}":                               "command: it must be a list of words",
		`{a: {command: ["x\0"]}}`:                             "command: it must be a list of words",
		"{a: {url: [x]}}":                                     "url: it must be a single value",
		"{a: {url: mcp.example.com}}":                         "url: it is not an address such as",
		"{a: {url: 'https://me:pw123456@x'}}":                 "url: it is not an address such as",
		"{a: {url: 'https://x/?key=pw123456'}}":               "keys go into headers",
		"{a: {command: x, env: [pw123456]}}":                  "env: it must hold names and values",
		"{a: {command: x, env: {A-B: pw123456}}}":             "env: A-B: it is not a name",
		"{a: {command: x, env: {A: [pw123456]}}}":             "env: A: it must be a single value",
		`{a: {command: x, env: {A: "pw123456\nB=1"}}}`:        "env: A: the value has a line break",
		"{a: {command: x, env: {A: 'pw123456${'}}}":           "env: A: there is a ${ that does not go on",
		"{a: {command: x, env: {A: '${pw123456-}'}}}":         "env: A: there is a ${ that does not go on",
		"{a: {command: x, env: {A: '${}'}}}":                  "env: A: there is a ${ that does not go on",
		"{a: {url: 'http://x', headers: {'A B': pw123456}}}":  "headers: A B: it is not a name",
		"{a: {command: x, tools: {a: b}}}":                    "tools: it must be a list of words",
		"{a: {command: x, timeout_seconds: 0}}":               "timeout_seconds: ",
		"{a: {command: x, timeout_seconds: 3601}}":            "from 1 to 3600",
		"{a: &a {command: x}, b: *a}":                         "b: aliases are not supported",
		"{[a]: {command: x}}":                                 "a value without a name",
	} {
		_, err := Load(newWorld(t, "mcp_servers: "+servers).named())
		got := fmt.Sprint(err)
		if fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(got, "set mcp_servers: ") ||
			!strings.Contains(got, want) || fault.Hint(err) == "" {
			t.Errorf("%s\n got %s\nwant %s", servers, got, want)
		}
		if strings.Contains(got, "pw123456") {
			t.Errorf("%s: a key is shown: %s", servers, got)
		}
	}
}

func TestMCPRepositories(t *testing.T) {
	for word, good := range map[string]bool{
		"github.com/owner/project": true, "https://github.com/owner/project.git": true, "github.com/owner/*": true,
		"http://git.corp.example:8080/a/b/*": true,
		"owner/project":                      false, "owner/*": false, "*": false, "github.com/*": false,
		"github.com/*/project":  false,
		"github.com/owner/pro*": false, "*/owner/project": false,
		"github.com/owner/**": false, "https://me:pw@github.com/a/b": false, "ssh://github.com/a/b": false,
		"github.com/a/b?x": false, "github.com/a/b#x": false,
		"github.com/a%2fb/c": false, "": false, "github.com//a/b": false, "github.com/a/b c": false,
	} {
		_, err := Load(newWorld(t, "mcp: {repositories: ['"+word+"']}").named())
		if (err == nil) != good {
			t.Errorf("%q: %v", word, err)
		}
	}
}
