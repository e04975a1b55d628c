package policy

import (
	"strings"
	"testing"

	"hako/run/fault"
)

const terraform = `# a program with subcommands
name: terraform
also: tofu
options: chdir@ version
operands: none

name: terraform plan
options: out> var: no-color
operands: none

name: terraform fmt
options: check recursive
operands: write...

# one that runs others
name: retry
options: n: v
operands: text command

name: deployer
options: dry-run hook:
operands: text...
takes: hook:
runs: hook

name: anything
options: *
forbidden-options: --unsafe
`

func taughtPolicy(t *testing.T) *Policy {
	programs, err := ParsePrograms("mine.txt", strings.NewReader(terraform))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := Parse("mine.policy",
		strings.NewReader("allow terraform # x\nallow retry # x\nallow deployer # x\nallow anything # x\n"))
	if err != nil {
		t.Fatal(err)
	}
	return hostPolicy().With(rules).Teach(programs)
}

func TestTaughtPrograms(t *testing.T) {
	p := taughtPolicy(t)
	for command, want := range map[string]Effect{
		"terraform --version":                            Allow,
		"terraform plan --out=p.tfplan":                  Allow,
		"terraform plan --out=/etc/p":                    Deny,
		"terraform plan --out=.git/config":               Deny,
		"terraform plan x":                               Deny,
		"terraform plan --auto-approve":                  Deny,
		"terraform --chdir=/etc plan":                    Deny,
		"terraform --chdir sub plan --no-color":          Allow,
		"terraform apply":                                Deny,
		"terraform fmt --check main.tf":                  Allow,
		"terraform fmt ../main.tf":                       Deny,
		"tofu plan":                                      Deny, // no rule allows it
		"retry -n 3 5 ls -l":                             Allow,
		"retry -n 3 5 rm -rf /":                          Deny,
		"retry -n 3 5 unknown-program":                   Deny,
		"retry --exec x 5 ls":                            Deny,
		"deployer --dry-run stage":                       Allow,
		"deployer --hook 'ls -l' stage":                  Allow,
		"deployer --hook 'rm -rf /' stage":               Deny,
		"deployer --hook='curl x | sh' stage":            Deny,
		"anything --at-all x":                            Allow,
		"anything --unsafe":                              Deny,
		"xargs retry 5 < /dev/null":                      Deny,
		"ls | xargs retry -n 3 5 touch":                  Allow,
		"'terraform plan' --out=x":                       Deny,
		"find . -name '*.tf' -exec retry 5 rm -rf / \\;": Deny,
	} {
		vs, err := p.Script(command)
		if err != nil || Strictest(vs) != want {
			t.Errorf("%s: %v, want %v: %+v", command, Strictest(vs), want, vs)
		}
	}
}

func TestTaughtAllowsNothing(t *testing.T) {
	programs, err := ParsePrograms("mine.txt", strings.NewReader(terraform))
	if err != nil {
		t.Fatal(err)
	}
	for _, profile := range []string{"host", "container"} {
		p := Default(profile, Options{Root: testRoot}).Teach(programs)
		if vs, _ := p.Script("terraform plan"); Strictest(vs) != Deny {
			t.Errorf("%s: %+v", profile, vs)
		}
		if vs, _ := p.Script("retry 5 ls"); Strictest(vs) != Deny {
			t.Errorf("%s: %+v", profile, vs)
		}
	}
}

func TestBadPrograms(t *testing.T) {
	for text, want := range map[string]string{
		"":                                         "x.txt:",
		"name: a\noption: b\n":                     `x.txt:2: there is no field "option"`,
		"name: a\n\nname: b\noptions: c!=\n":       "x.txt:4: ",
		"# x\nname: ls\n":                          "x.txt:2: hako knows ls itself",
		"name: a\n\nname: git push\n":              "x.txt:3: hako knows git itself",
		"name: sudo\noperands: command\n":          "x.txt:1: hako knows sudo itself",
		"name: find\n":                             "hako knows find itself",
		"name: timeout\n":                          "hako knows timeout itself",
		"name: a\nalso: cat\n":                     "hako knows cat itself",
		"name: a\njudged: code\n":                  "x.txt:1: judged: code",
		"name: a\nreads: always\n":                 `x.txt:2: there is no field "reads"`,
		"name: a\n\nname: b\n\nname: a\n":          "x.txt:5: a is there twice",
		"name: a\n\nname: b\nalso: a\n":            "x.txt:3: a is there twice",
		"name: a b\n":                              "x.txt:1: there is no program a",
		"name: ./a\n":                              "x.txt:1: ",
		"name: a\noptions: *\noperands: command\n": "x.txt:1: where the command begins",
		"name: a\nruns: x\n":                       "x.txt:1: runs: the field takes does not list x",
		"name: -a\n":                               "x.txt:1: \"-a\" is not a command name",
		"name: a\noperands: text... read\n":        "x.txt:2: ",
		strings.Repeat("# x\n", 300_000):           "more than 1048576 bytes",
	} {
		programs, err := ParsePrograms("x.txt", strings.NewReader(text))
		if programs != nil || fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

func FuzzPrograms(f *testing.F) {
	f.Add(terraform)
	f.Add("name: a\noptions: b: c? d@ e> #\noperands: text command\n")
	rules, _ := Parse("x", strings.NewReader("allow a\n"))
	f.Fuzz(func(t *testing.T, text string) {
		programs, err := ParsePrograms("x", strings.NewReader(text))
		if err != nil {
			return
		}
		p := hostPolicy().With(rules).Teach(programs)
		if vs, err := p.Script("rm -rf /; sudo ls; env X=1 cat /etc/passwd"); err == nil && Strictest(vs) != Deny {
			t.Errorf("%q lets what is denied through", text)
		}
		_, _ = p.Script("a --b c -d e f; a sub /etc/x")
	})
}
