package tool

import (
	"strings"
	"testing"

	"hako/run/fault"
)

func TestAwk(t *testing.T) {
	e, ran := newExecutor(t, map[string]string{"a.csv": "x,1\ny,20\nz,300\n", "b.csv": "y,b\n"}, nil)
	tests := []struct{ command, want string }{
		{`awk -F, '{s += $2} END {print s}' a.csv`, "321\n"},
		{`awk -F, -v n=10 '$2 > n {print $1 "|" $2}' a.csv`, "y|20\nz|300\n"},
		{`awk -F , 'NR == FNR {seen[$1]; next} $1 in seen' b.csv a.csv`, "y,20\n"},
		{`awk '{print FS, n, $0}' FS=: n=1 b.csv n=2 b.csv`, ": 1 y,b\n: 2 y,b\n"},
		{`cat a.csv | awk -F, '{print $2}' - b.csv`, "1\n20\n300\nb\n"},
		{`awk --csv '{print NF}' b.csv`, "2\n"},
		{`awk -- '/a|>/ {print} /y|x/ && 2 > 1 {n++} END {print n}' a.csv`, "2\n"},
		{`awk 'BEGIN {getline; getline x; print $0, x, length(ENVIRON)}' a.csv`, "x,1 y,20 0\n"},
		{`awk --sandbox 1 b.csv`, "y,b\n"},
	}
	for _, tt := range tests {
		out := e.Call(t.Context(), Input{Command: tt.command})
		if !out.OK || out.StdoutText != tt.want {
			t.Errorf("%s: %+v %v", tt.command, out, out.Error)
		}
	}
	for _, script := range ran.scripts {
		if i := strings.Index(script, "awk"); !strings.HasPrefix(script[i:], "awk --sandbox ") {
			t.Errorf("ran %s", script)
		}
	}
}

// TestAwkRefused has what is refused before awk is asked.
func TestAwkRefused(t *testing.T) {
	e, ran := newExecutor(t, map[string]string{"a.txt": "BEGIN {system(\"id\")}\n"}, nil)
	for command, why := range map[string]string{
		`awk -f a.txt`:                                     "unseen",
		`awk -fa.txt a.txt`:                                "unseen",
		`awk --file=a.txt a.txt`:                           "unseen",
		`awk --fil=a.txt a.txt`:                            "not known to be read-only",
		`awk -e 1 a.txt`:                                   "the program is the first word",
		`awk --source 1 a.txt`:                             "not known",
		`awk -i inplace 1 a.txt`:                           "writes the file",
		`awk --include=inplace 1 a.txt`:                    "not known",
		`awk -l filefuncs 1 a.txt`:                         "not known",
		`awk --load=filefuncs 1 a.txt`:                     "not known",
		`awk -E a.txt`:                                     "not known",
		`awk --exec a.txt`:                                 "not known",
		`awk -o 1 a.txt`:                                   "not known",
		`awk -oout 1 a.txt`:                                "not known",
		`awk --profile=out 1 a.txt`:                        "not known",
		`awk --dump-variables=out 1 a.txt`:                 "not known",
		`awk -D 1 a.txt`:                                   "not known",
		`awk --posix 1 a.txt`:                              "not known",
		`awk -W sandbox 1 a.txt`:                           "not known",
		`awk --sandbox=no 1 a.txt`:                         "takes no value",
		`awk --no-sandbox 1 a.txt`:                         "not known",
		`awk --sand 1 a.txt`:                               "not known",
		`awk 1 b.txt`:                                      "b.txt was not granted",
		`awk 1 /etc/passwd`:                                "was not granted",
		`awk 1 /dev/stdin`:                                 "was not granted",
		`awk 1 ./x=/etc/passwd`:                            "was not granted",
		`awk 1 1x=a.txt`:                                   "was not granted",
		`awk 1 =a.txt`:                                     "was not granted",
		`awk 1 -F a.txt`:                                   "-F was not granted",
		`awk 1 -- a.txt`:                                   "-- was not granted",
		`awk 1 --file=a.txt`:                               "--file=a.txt was not granted",
		`awk '{print $1}' > out`:                           "redirections",
		`awk "{print $1}" a.txt`:                           "variables",
		`gawk 1 a.txt`:                                     "the command gawk",
		`awk 'BEGIN {print}' a.txt | sh`:                   "the command sh",
		`sort --reverse=x a.txt`:                           "takes no value",
		`awk 'BEGIN {while (("ls" | getline) > 0` + "\x00": "NUL",
	} {
		out := e.Call(t.Context(), Input{Command: command})
		if out.OK || out.Error == nil || !strings.Contains(out.Error.Error(), why) || out.Error.Hint == "" {
			t.Errorf("%s: %+v %v, want %q", command, out, out.Error, why)
		}
		if out.Error != nil && out.Error.Kind != fault.Denied && out.Error.Kind != fault.Invalid {
			t.Errorf("%s: kind %v", command, out.Error.Kind)
		}
	}
	if len(ran.scripts) != 0 {
		t.Errorf("refused but run: %q", ran.scripts)
	}
}

// TestAwkAttacks has programs that the sandbox of awk itself must stop, before
// they print a byte.
func TestAwkAttacks(t *testing.T) {
	e, _ := newExecutor(t, map[string]string{"a.txt": "secret.txt\n"}, nil)
	for _, program := range []string{
		`BEGIN{print "on"; system("id")}`, `BEGIN{print "on"; system ( "id" )}`, `BEGIN{print "on"; if (0) system("")}`,
		"BEGIN{print \"on\"; system\\\n(\"id\")}",
		`{print "on" > "x"}`, `{print "on" >> "a.txt"}`, `{print "on" > $1}`, `{print("on")>"/box/a.txt"}`,
		`{printf "on" > "/dev/stderr"}`, `{print "on" > ("x" NR)}`,
		`{print "on" | "sh"}`, `{printf("%s", "on") | "cat"}`, `{print "on" |& "cat"}`, `{print | $0}`,
		`BEGIN{"id" | getline; print "on"}`, `BEGIN{"id" |& getline x; print "on"}`,
		`BEGIN{c = "id"; while ((c | getline x) > 0) print "on"}`,
		`BEGIN{getline < "/etc/passwd"; print "on"}`, `BEGIN{getline x < "a.txt"; print "on"}`,
		`BEGIN{while ((getline l < ARGV[1]) > 0) print "on"}`, `{getline y < $1; print "on"}`,
		`BEGIN{ARGV[1] = "/etc/passwd"} {print "on"}`, `BEGIN{ARGV[1] = ""; ARGV[ARGC++] = "/etc/passwd"} {print "on"}`,
		`function f(v) {v[1] = "b.txt"} BEGIN{f(ARGV)} {print "on"}`,
		`BEGIN{ARGV[1] = "/proc/self/environ"} {print "on"}`,
		`BEGIN{delete ARGV; ARGC = 2; ARGV[1] = "/dev/stdin"} {print "on"}`,
		`@load "filefuncs"; BEGIN{print "on"}`, `@include "inplace"; {print "on"}`,
		`BEGIN{f = "system"; @f("id"); print "on"}`, `BEGIN{SYMTAB["x"] = 1; print "on" > "x"}`,
		`BEGIN{print "on" > "/inet/tcp/0/127.0.0.1/80"}`, `BEGIN{"/inet/tcp/0/h/80" |& getline; print "on"}`,
	} {
		out := e.Call(t.Context(), Input{Command: "awk '" + program + "' a.txt"})
		if out.OK || strings.Contains(out.StdoutText, "on") || out.ExitCode == 0 || out.StderrText == "" {
			t.Errorf("%s: %+v %v", program, out, out.Error)
		}
	}
	if out := e.Call(t.Context(), Input{Command: "cat a.txt"}); out.StdoutText != "secret.txt\n" {
		t.Errorf("the file became %q", out.StdoutText)
	}
	if out := e.Call(t.Context(),
		Input{Command: `awk 'BEGIN {for (k in ENVIRON) print k; print ENVIRON["PATH"] "."}'`}); out.StdoutText != ".\n" {
		t.Errorf("the environment is seen: %+v", out)
	}
}
