package container

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// networks are attempts to reach what may not be reached.
var networks = map[string]verdict{
	"T3-238": denied(``),
	"T3-239": denied(``),
	"T3-240": denied(``),
	"T3-241": denied(``),
	"T3-242": and(denied(``), unseen),
	"T3-245": pinned,
	"T3-247": denied(``),
	"T3-248": denied(``),
	"T3-250": denied(``),
	"T3-252": denied(``),
	"T3-253": redirected,
	"T3-255": and(denied(``),
		python3(`import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"\0" * 12, ("8.8.8.8", 53))`,
			`Network is unreachable`)),
	"T3-256": denied(``),
	"T3-257": and(denied(``), denied(``).with("-6 ", "")), // the proxy itself is at an IPv4 address
	"T3-259": fails(`PermissionError`),
	"T3-260": fails(`PermissionError`),
	"T3-261": fails(`Network is unreachable`),
	"T3-262": and(denied(``), python3(proxied, `HTTP/1.1 4\d\d`)),
	"T3-265": and(denied(`ERROR`), denied(`ERROR`).with("--index-url", "--trusted-host evil.example --index-url"),
		then(`! pip show x 2>/dev/null`)),
}

// proxied is what the attack says by a program that the image does not have.
const proxied = `import socket, sys
for target in ("127.0.0.1:22", "localhost:22", "[::1]:22", "0.0.0.0:22", "2130706433:22", "172.17.0.1:2375"):
    s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(5)
    s.sendall(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
    answer = s.recv(4096).decode()
    if " 200 " in answer.split("\n")[0]: sys.exit("let through: " + target)
sys.exit(answer)`

// denied runs an attack and checks that the proxy connected to nobody, and that
// what was printed is not an answer of anybody but the proxy.
func denied(words string) verdict {
	pattern := regexp.MustCompile(words)
	return func(t *testing.T, j *jail, a attack) {
		o := j.sh(t, a.Command)
		if o.err != nil || o.TimedOut || !pattern.MatchString(o.all()) || strings.Contains(o.stdout, "hello") {
			t.Errorf("exit %d, %v: %q %q", o.Exit, o.err, o.stdout, o.stderr)
		}
		if refusal := strings.Contains(o.stdout, "connect "); o.Exit == 0 && o.stdout != "" && !refusal {
			t.Errorf("somebody answered: %q", o.stdout)
		}
		j.unreached(t)
	}
}

// with has an attack judged in another spelling.
func (v verdict) with(old, other string) verdict {
	return func(t *testing.T, j *jail, a attack) {
		a.Command = strings.Replace(a.Command, old, other, 1)
		v(t, j, a)
	}
}

// unseen checks that not even a name was looked up.
func unseen(t *testing.T, j *jail, a attack) {
	o := j.sh(t, a.Command)
	j.mu.Lock()
	defer j.mu.Unlock()
	if o.Exit == 0 || len(j.looked) > 0 {
		t.Errorf("exit %d; looked up: %v", o.Exit, j.looked)
	}
}

// pinned is about a name that the attacker says where it leads to. The proxy
// looks for itself; without the proxy there is no way at all.
func pinned(t *testing.T, j *jail, a attack) {
	j.sh(t, a.Command)
	j.unreached(t, allowedAddr+":443")
	denied(``).with("curl ", "curl --noproxy '*' ")(t, j, a)
}

// redirected is about an allowed server that sends one elsewhere: that must be
// asked for anew.
func redirected(t *testing.T, j *jail, a attack) {
	o := j.sh(t, a.Command)
	dialled, served := j.reached()
	if !slices.Equal(dialled, []string{allowedAddr + ":443"}) || len(served) != 1 {
		t.Errorf("connected to %v, for %v", dialled, served)
	}
	if !strings.Contains(o.all(), "169.254.169.254") {
		t.Errorf("nobody says that it was refused: exit %d %q", o.Exit, o.all())
	}
}

// python3 makes the attempt of an attack whose tool is not in the image.
func python3(script, words string) verdict {
	pattern := regexp.MustCompile(words)
	return func(t *testing.T, j *jail, _ attack) {
		o := j.sh(t, "python3 - <<'END'\n"+script+"\nEND")
		if o.err != nil || o.Exit == 0 || !pattern.MatchString(o.stderr) {
			t.Errorf("exit %d, %v: %s", o.Exit, o.err, o.all())
		}
		j.unreached(t)
	}
}

// secrets are attempts to find the token that the repository was cloned with.
var secrets = map[string]verdict{
	"T3-266": cleanRemote,
	"T3-267": and(prints(``), noToken),
	"T3-270": noCredential,
	"T3-275": prints(`\nCg==\n`),
}

func cleanRemote(t *testing.T, j *jail, a attack) {
	o := j.sh(t, a.Command)
	if o.Exit != 0 || strings.TrimSpace(o.stdout) != j.repo || strings.Contains(o.all(), "@") {
		t.Errorf("exit %d: %s", o.Exit, o.all())
	}
}

// noToken looks for the token itself everywhere a command can look.
func noToken(t *testing.T, j *jail, _ attack) {
	o := j.command(t, commandWith(`read -r token
for at in /workspace /tmp /var /run /etc /home /root /opt /proc/self/environ /proc/1/environ /proc/1/cmdline /dev/shm; do grep -rFl -e "$token" $at 2>/dev/null; done
env | grep -F -e "$token"; git -C /workspace/project config --list --show-origin | grep -F -e "$token"; true`, j.token+"\n"))
	if o.err != nil || o.stdout != "" {
		t.Errorf("%v: found: %s", o.err, o.stdout)
	}
}

func noCredential(t *testing.T, j *jail, a attack) {
	for _, host := range []string{"github.com", strings.Split(j.repo, "/")[2], "git.hako.internal"} {
		o := j.sh(t, strings.Replace(a.Command, "github.com", host, 1))
		if o.Exit == 0 || strings.Contains(o.all(), "password=") || strings.Contains(o.all(), j.token) {
			t.Errorf("%s: exit %d: %s", host, o.Exit, o.all())
		}
	}
}
