package redact

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestNoValueSurvives has the value hunter2 in every spelling that the shell
// takes for a value.
func TestNoValueSurvives(t *testing.T) {
	for _, text := range []string{
		`PASSWORD=$'hunter2' cmd`, `PASSWORD=$'a\'hunter2' cmd`, `PASSWORD=-hunter2 cmd`, `PASSWORD+=hunter2 cmd`,
		`PASSWORD="a\"hunter2" cmd`, `PASSWORD=a\ hunter2 cmd`, `PASSWORD=a,hunter2 cmd`, `PASSWORD="$A"hunter2 cmd`,
		`PASSWORD=$A'hunter2' cmd`, `PASSWORD=${X:-hunter2} cmd`, `PASSWORD=$(echo hunter2) cmd`,
		`PASSWORD="$(echo "a hunter2")" cmd`,
		"PASSWORD=`echo hunter2` cmd", `PASSWORD='$hunter2' cmd`, `PASSWORD='a'"b "hunter2 cmd`,
		`PASSWORD=[redacted]hunter2 cmd`,
		`PASSWORD=a}hunter2 cmd`, `PASSWORD=a"b c"'d hunter2' cmd`, `PASSWORD="a"\ hunter2 cmd`,
		`PASSWORD=$(echo $(echo hunter2)) cmd`,
		`DB_PASS=hunter2 cmd`, `MYSQL_PWD=hunter2 cmd`, `pass=hunter2 cmd`, `SECRET_KEY_BASE=hunter2 cmd`,
		`SSHPASS=hunter2 cmd`,
		`m[password]=hunter2 cmd`, `m["password"]=hunter2 cmd`, `m['api_key']+=hunter2 cmd`,
		`printf -v PASSWORD %s hunter2 ; cmd`,
		`printf -v PASSWORD '%s;%s' a "b hunter2"; cmd`, `printf  -vPASSWORD hunter2; cmd`, "password = hunter2\ncmd",
		"password\t=\thunter2\ncmd",
		"Password := hunter2\ncmd", `[ "$PASSWORD" = hunter2 ] cmd`, `[ $PASSWORD != hunter2 ] cmd`,
		`[[ $PASSWORD == "hunter2" ]] cmd`,
		"mysql --password  hunter2 cmd", "mysql --password\thunter2 cmd", "mysql \\\n--password hunter2 cmd",
		"mysql\t--password 'a hunter2' cmd",
		"curl -u user:hunter2 cmd", `curl -s -u "user:hunter2" cmd`, "curl -uuser:hunter2 cmd", "curl -sSu user:hunter2 cmd",
		"curl --user user:hunter2 cmd", "curl --user=user:hunter2 cmd", "curl --proxy-user 'user:hunter2' cmd",
		"/usr/bin/curl -U u:hunter2 cmd",
		"get https://u:p/hunter2@h cmd", "get https://u:p#hunter2@h/x cmd", "get https://u:hunter2/a/b?c@h/x cmd",
		`${PASSWORD:-hunter2} cmd`, `${PASSWORD:=a hunter2} cmd`, `env 'PASSWORD=a hunter2' cmd`,
		`env "PASSWORD=a hunter2"x cmd`,
		`sh -c "export PASSWORD=hunter2" cmd`, `curl -d '{"password":"a\"hunter2","x":1}' cmd`,
		`curl -d "{\"password\":\"hunter2\"}" cmd`,
		`{"db_pass": "hunter2"} cmd`, `{"password":12,"token":"hunter2"} cmd`, `x 'PASSWORD=hunter2' 'y' cmd`,
		"--password hunter2 cmd",
	} {
		got := Text(text)
		if strings.Contains(got, "hunter2") || !strings.Contains(got, Mark) {
			t.Errorf("%q became %q", text, got)
		}
		if !strings.HasSuffix(got, "cmd") {
			t.Errorf("of %q too much is gone: %q", text, got)
		}
		if again := Text(got); again != got {
			t.Errorf("a second pass changes %q to %q", got, again)
		}
	}
}

func TestTokensInQuotes(t *testing.T) {
	const rest = "abcdefghijklmnop1234"
	for _, text := range []string{
		`sk-"` + rest + `"`, `"s"k-` + rest, `ghp_\` + rest, `gh"p"_` + rest, `'ghp'_'` + rest + `'`, `s\k-` + rest,
		`sk\-` + rest,
		`sk-abcdefgh"ijklmnop1234"`, `glpat-''` + rest, `"ghp_` + rest + `"`, `xoxb"-"` + rest,
	} {
		got := Text("x " + text + " y")
		if strings.Contains(got, "ijklmnop1234") || !strings.HasPrefix(got, "x ") || !strings.HasSuffix(got, " y") {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestOrdinaryText(t *testing.T) {
	for _, text := range []string{
		"pass the salt", "key=value", "a = b\nkey = value\nkey2 = value2", "PATH=/usr/bin:/bin", "grep password file",
		"grep -rn 'password' .",
		"cat: /etc/passwd: No such file or directory", "the file /etc/passwd: it was not granted", "PWD=/a OLDPWD=/b",
		"--- PASS: TestName12 (0.00s)", "PASS: 12 FAIL: 3", "pass=10 fail=2", "bypass=1 compass=north",
		"sort -u a:b", "docker run -u 1000:1000 x", "date -u +%H:%M", "curl -u $U:$P x", `curl -u "$U:$P" x`,
		"curl -s x; date -u +%H:%M",
		"http://localhost:8080/a@b", "https://example.com/a@b", "http://[::1]:80/a@b", `PASSWORD="$OTHER" x`,
		`PASSWORD=${OTHER} x`, "PASSWORD=$1 x",
		"PASSWORD= cmd", `PASSWORD="" cmd`, "${PASSWORD:?is not set}", "${TOKEN:-}", "token = lexer.next()",
		"if token == end {",
		"unset PASSWORD; echo done", `echo "$PASSWORD"`, "cmd --password --verbose", "cmd --token $TOKEN -x",
		"printf -v NAME %s value",
		`strings.HasPrefix(s, "sk-")`, `{"ghp_", 12}, {"gho_", 12}`, "read -rs PASSWORD", "the password is asked for",
		"it's a token - isn't it", "use --password-file x", "a_b-c.d e_f", "tokens: 12", "secrets/token.go:12: bad",
	} {
		if got := Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestArgvByPlace(t *testing.T) {
	for in, want := range map[string]string{
		"env|PASSWORD=two words|cmd":         "env|PASSWORD=[redacted]|cmd",
		"printf|-v|PASSWORD|%s|v":            "printf|-v|PASSWORD|[redacted]|[redacted]",
		"printf|-vPASSWORD|v":                "printf|-vPASSWORD|[redacted]",
		"printf|-v|NAME|%s|v":                "printf|-v|NAME|%s|v",
		"printf|%s|-v":                       "printf|%s|-v",
		"printf":                             "printf",
		"curl|-u|user:a b|x":                 "curl|-u|user:[redacted]|x",
		"/usr/bin/curl|-sSu|user:v|http://x": "/usr/bin/curl|-sSu|user:[redacted]|http://x",
		"curl|-uuser:v|--user=user:v":        "curl|-uuser:[redacted]|--user=user:[redacted]",
		"curl|-u|user|x:y":                   "curl|-u|user|x:y",
		"sort|-u|a:b":                        "sort|-u|a:b",
		"x|--password|-v":                    "x|--password|-v",
		"x|--password|a b":                   "x|--password|[redacted]",
		"x|PASSWORD=-v|PASSWORD=|--token=$T": "x|PASSWORD=[redacted]|PASSWORD=|--token=$T",
		"grep|password|file":                 "grep|password|file",
	} {
		if got := strings.Join((Filter{}).Argv(strings.Split(in, "|")), "|"); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
	if got := (Filter{}).Argv(nil); !slices.Equal(got, nil) {
		t.Errorf("nothing became %q", got)
	}
}

// hostile are pieces that, over and over, would take a careless search forever.
var hostile = []string{
	"token:", "password=$(", `password="$(`, "password=", "password=$A ", "a://u:p/", `"`, `'password="`, "curl -u ",
	"sk-'", "printf -v PASSWORD ",
	"${PASSWORD:-", "token = a", `"token":\"`, "--password ", "-", "_\\", "password:a,", "= ", "password=`",
	` curl -u a:$("`, " curl -u a:$(\"\n", "curl -u a:${", "curl -u a:'", "-eyJ", "-eyJ.", "-----BEGIN ",
	"-----BEGIN PRIVATE KEY\n", `x --password "$A"'`, `printf -v PASSWORD x"$( `,
	`"token":"$A","`, "${TOKEN:-$A}", "a://b:c", `password="$A`, `'token='$A `, "Bearer aaaaaaaaaaaa ", `\n--token $A`,
	"curl ", "pass=1 ", `\`, "ghp_''", "curl -u :$A ",
	"token=\n", `token="`, "token='$(\n", `"token":'`, `[token]!= "${`, "AKIA ", "://a:b", "curl -uu\t",
	"Cookie: ", "Cookie: a=", "Cookie: a=$A;", "cookie:a=b;", "cookie:a=;b", ";b", `Cookie: a="`, "curl -b a=$A;b=",
	"curl -b $A ", "a-b ", " -p ", " -p$A", "mysql -p$A ", "sshpass -p $A ", "docker login -p ", "htpasswd -nb ",
	"htpasswd -b $A $A $A ", " -b -C",
	"smbclient -U a%$A ", "-passin pass:$A ", "://hooks.slack.com/services/a/", "://discord.com",
	"://a.logic.azure.com/invoke?", `\u0026`, "SG.a.",
}

// TestHostileText has each of them fill a megabyte.
func TestHostileText(t *testing.T) {
	for _, piece := range hostile {
		text := strings.Repeat(piece, (1<<20)/slower/len(piece))
		for name, do := range map[string]func(){
			"text": func() { Text(text) }, "find": func() { Find(text) }, "writer": func() { written(t, nil, text) },
		} {
			took := cost(do)
			if t.Logf("%8v %s %q", took.Round(time.Millisecond), name, piece); took > 200*time.Millisecond {
				t.Errorf("%q: %s took %v", piece, name, took)
			}
		}
	}
}
