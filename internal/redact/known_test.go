package redact

import (
	"slices"
	"strings"
	"testing"
)

// known are secrets that their surroundings give away, and what must be left.
var known = map[string]string{
	// Cookies: names and attributes stay.
	"Cookie: sid=hunter22; other=hunter22x":                                     "Cookie: sid=[redacted]; other=[redacted]",
	"> Cookie: sid=hunter22;other=hunter22x; last=hunter22\r":                   "> Cookie: sid=[redacted];other=[redacted]; last=[redacted]\r",
	"cookie:sid=hunter22":                                                       "cookie:sid=[redacted]",
	"Set-Cookie: sid=hunter22; Path=/; HttpOnly; Max-Age=3600":                  "Set-Cookie: sid=[redacted]; Path=/; HttpOnly; Max-Age=3600",
	"< set-cookie: __Host-sid=hunter22=; Expires=Thu, 01 Jan 2026 00:00:00 GMT": "< set-cookie: __Host-sid=[redacted]; Expires=Thu, 01 Jan 2026 00:00:00 GMT",
	`Cookie: sid="hunter22 x"; b=hunter22`:                                      `Cookie: sid="[redacted]"; b=[redacted]`,
	"Cookie: a=$A; b=hunter22; c=; d=hunter22":                                  "Cookie: a=$A; b=[redacted]; c=; d=[redacted]",
	"Cookie: a=it'shunter22; b=hunter22":                                        "Cookie: a=[redacted]; b=[redacted]",
	"Cookie: a=hunter22; token=hunter22; ghp_0123456789abcdef=hunter22; x=1":    "Cookie: a=[redacted]; token=[redacted]; [redacted]=[redacted]; x=[redacted]",
	"curl -H 'Cookie: sid=hunter22; b=hunter22' http://h/":                      "curl -H 'Cookie: sid=[redacted]; b=[redacted]' http://h/",
	`curl -H "Cookie: sid=hunter22" -v`:                                         `curl -H "Cookie: sid=[redacted]" -v`,
	"curl -b 'sid=hunter22; b=hunter22' http://h/?a=b":                          "curl -b 'sid=[redacted]; b=[redacted]' http://h/?a=b",
	"curl -sLb sid=hunter22 http://h/":                                          "curl -sLb sid=[redacted] http://h/",
	"curl -b sid=hunter22; a=b":                                                 "curl -b sid=[redacted]; a=b",
	"curl -bsid=hunter22 x":                                                     "curl -bsid=[redacted] x",
	`curl --cookie "sid=hunter22" x`:                                            `curl --cookie "sid=[redacted]" x`,
	"curl --cookie=sid=hunter22 x":                                              "curl --cookie=sid=[redacted] x",
	`{"Cookie": "sid=hunter22; b=hunter22", "n": "a=b"}`:                        `{"Cookie": "sid=[redacted]; b=[redacted]", "n": "a=b"}`,
	`{"set-cookie":["sid=hunter22; Path=/"]}`:                                   `{"set-cookie":["sid=[redacted]; Path=/"]}`,
	"map[Cookie:[sid=hunter22; b=hunter22] Host:[h=h]]":                         "map[Cookie:[sid=[redacted]; b=[redacted] Host:[h=h]]",
	"Cookie: a[b]=hunter22; flag; c:d=hunter22 status=200":                      "Cookie: a[b]=[redacted]; flag; c:d=[redacted] status=200",
	`{"line": "Cookie: sid=\"hunter22\"; b=hunter22"}`:                          `{"line": "Cookie: sid=\"[redacted]\"; b=[redacted]"}`,
	`{\"Cookie\":\"sid=hunter22\",\"a\":\"b=c\"}`:                               `{\"Cookie\":\"sid=[redacted]\",\"a\":\"b=c\"}`,
	"curl -H 'Cookie: a=hunter22'; b=c; d=e":                                    "curl -H 'Cookie: a=[redacted]'; b=c; d=e",
	`"curl -b \"sid=hunter22; b=hunter22\" x"`:                                  `"curl -b \"sid=[redacted]; b=[redacted]\" x"`,
	`"GET / HTTP/1.1\r\nCookie: sid=hunter22\r\nHost: h=h"`:                     `"GET / HTTP/1.1\r\nCookie: sid=[redacted]\r\nHost: h=h"`,
	"Cookie: a=hunter22\nb=c; d=e":                                              "Cookie: a=[redacted]\nb=c; d=e",

	// Addresses that anybody may write to who knows them: the host stays.
	"https://hooks.slack.com/services/T0123ABCD/B0123ABCD/hunter22hunter22 x":                                          "https://hooks.slack.com/services/T0123ABCD/B0123ABCD/[redacted] x",
	"'https://hooks.slack.com/workflows/T0123/A0123/4426602/hunter22x'":                                                "'https://hooks.slack.com/workflows/T0123/A0123/4426602/[redacted]'",
	"HTTPS://HOOKS.SLACK.COM/triggers/T0123/4426602/hunter22x":                                                         "HTTPS://HOOKS.SLACK.COM/triggers/T0123/4426602/[redacted]",
	"https://discord.com/api/webhooks/1234567890/hunter22-x_y?wait=true":                                               "https://discord.com/api/webhooks/1234567890/[redacted]?wait=true",
	"(https://ptb.discord.com/api/v10/webhooks/1234567890/hunter22/slack)":                                             "(https://ptb.discord.com/api/v10/webhooks/1234567890/[redacted]/slack)",
	"https://canary.discordapp.com/api/webhooks/1234567890/hunter22.":                                                  "https://canary.discordapp.com/api/webhooks/1234567890/[redacted].",
	"https://a.webhook.office.com/webhookb2/hunter22-1@hunter22-2/IncomingWebhook/hunter22/hunter22. Then":             "https://a.webhook.office.com/webhookb2/[redacted]. Then",
	`"https://prod-1.westus.logic.azure.com:443/workflows/ab/triggers/manual/paths/invoke?sv=1.0\u0026sig=hunter22_x"`: `"https://prod-1.westus.logic.azure.com:443/workflows/ab/triggers/manual/paths/invoke?[redacted]"`,
	"curl https://api.telegram.org/bot123456789:AAhunter22-x_y/sendMessage":                                            "curl https://api.telegram.org/bot123456789:[redacted]/sendMessage",
	"https://api.telegram.org/file/bot123456789:AAhunter22/photos/a.jpg":                                               "https://api.telegram.org/file/bot123456789:[redacted]/photos/a.jpg",
	"https://hooks.zapier.com/hooks/catch/123456/hunter22/":                                                            "https://hooks.zapier.com/hooks/catch/123456/[redacted]/",
	"https://maker.ifttt.com/trigger/door/with/key/hunter22":                                                           "https://maker.ifttt.com/trigger/door/with/key/[redacted]",

	// Passwords that their program gives away.
	"sshpass -p hunter22 ssh -p 22 me@h":                        "sshpass -p [redacted] ssh -p 22 me@h",
	"sshpass -phunter22 scp -P 22 a h:b":                        "sshpass -p[redacted] scp -P 22 a h:b",
	"sshpass -v -p 'two hunter22' ssh h":                        "sshpass -v -p '[redacted]' ssh h",
	`sshpass "-p" "hunter22" ssh h`:                             `sshpass "-p" "[redacted]" ssh h`,
	"mysql -uroot -phunter22 db":                                "mysql -uroot -p[redacted] db",
	"mysql -phunter22u -h h db":                                 "mysql -p[redacted] -h h db",
	"/usr/bin/mysqldump -u root -p'a hunter22' --all > x":       "/usr/bin/mysqldump -u root -p'[redacted]' --all > x",
	`mysql "-pa hunter22" db`:                                   `mysql "-p[redacted]" db`,
	"docker exec -i db mariadb -u root -phunter22 < x":          "docker exec -i db mariadb -u root -p[redacted] < x",
	`sh -c "mysql -phunter22"`:                                  `sh -c "mysql -p[redacted]"`,
	`{"cmd":"cd x\nmysql -phunter22 db"}`:                       `{"cmd":"cd x\nmysql -p[redacted] db"}`,
	"docker login -u me -p hunter22 h && docker run -p 80:80":   "docker login -u me -p [redacted] h && docker run -p 80:80",
	"podman login -phunter22 h":                                 "podman login -p[redacted] h",
	"docker login --password hunter22":                          "docker login --password [redacted]",
	"wget --user=me --password=hunter22 x":                      "wget --user=me --password=[redacted] x",
	"redis-cli -h h -a hunter22 ping":                           "redis-cli -h h -a [redacted] ping",
	"redis-cli --pass hunter22 ping":                            "redis-cli --pass [redacted] ping",
	"PGPASSWORD=hunter22 psql -h h":                             "PGPASSWORD=[redacted] psql -h h",
	"psql postgresql://me:hunter22@h/db":                        "psql postgresql://[redacted]@h/db",
	"openssl rsa -in k -passin pass:hunter22 -out x":            "openssl rsa -in k -passin pass:[redacted] -out x",
	`openssl enc -aes-256-cbc -pass "pass:a hunter22" -d`:       `openssl enc -aes-256-cbc -pass "pass:[redacted]" -d`,
	"ldapsearch -x -D cn=a,dc=b -w hunter22 -b dc=b":            "ldapsearch -x -D cn=a,dc=b -w [redacted] -b dc=b",
	"ldapmodify -whunter22 -f x":                                "ldapmodify -w[redacted] -f x",
	"smbclient //h/s -U me%hunter22 -c ls":                      "smbclient //h/s -U me%[redacted] -c ls",
	`smbclient //h/s -U 'D\me%a hunter22' -c ls`:                `smbclient //h/s -U 'D\me%[redacted]' -c ls`,
	"smbclient --user=me%hunter22 //h/s":                        "smbclient --user=me%[redacted] //h/s",
	"htpasswd -b file me hunter22":                              "htpasswd -b file me [redacted]",
	"htpasswd -nb me hunter22 > file":                           "htpasswd -nb me [redacted] > file",
	"htpasswd -n -B -C 10 -b me hunter22; ls":                   "htpasswd -n -B -C 10 -b me [redacted]; ls",
	"docker run --entrypoint htpasswd h:2 -Bbn me hunter22 2>x": "docker run --entrypoint htpasswd h:2 -Bbn me [redacted] 2>x",
	`x=$(htpasswd -cb file me 'a hunter22')`:                    `x=$(htpasswd -cb file me '[redacted]')`,
	`sh -c "htpasswd -nb me hunter22"`:                          `sh -c "htpasswd -nb me [redacted]"`,
}

func TestKnownSurroundings(t *testing.T) {
	for in, want := range known {
		for _, got := range []string{Text(in), written(t, nil, in, 1), written(t, nil, in, 5, 3)} {
			if got != want {
				t.Errorf("%s\n got %s\nwant %s", in, got, want)
			}
		}
		if again := Text(want); again != want {
			t.Errorf("a second pass changes %s\nto %s", want, again)
		}
	}
}

// TestKnownSurroundingsOnLongLines moves them over the places at which a long
// line is cut, and over the ends of what is looked at together.
func TestKnownSurroundingsOnLongLines(t *testing.T) {
	for in := range known {
		if strings.Contains(in, "\n") {
			continue
		}
		for _, border := range []int{windowSize, blockSize - lookAhead, 2*(blockSize-lookAhead) - keptBehind} {
			for off := -len(in) - 2; off < 3; off += 1 + len(in)/9 {
				text := strings.Repeat("some; ", blockSize)[:border+off] + "; " + in + " ; " + strings.Repeat("y z", 22_000)
				if got := written(t, nil, text, 30_000); got != Text(text) || strings.Contains(got, "hunter22") {
					t.Fatalf("%s at %d%+d: %s", in, border, off, around(got, border))
				}
			}
		}
	}
}

// TestManyCookies has a header that is longer than what is looked at together.
func TestManyCookies(t *testing.T) {
	pair := "name.of_it=" + strings.Repeat("hunter22", 40) + "; "
	text := "> Cookie: " + strings.Repeat(pair, 1000) + "last=hunter22\nnext=x; y=z\n"
	want := "> Cookie: " + strings.Repeat("name.of_it=[redacted]; ", 1000) + "last=[redacted]\nnext=x; y=z\n"
	for _, got := range []string{Text(text), written(t, nil, text, 1000)} {
		if got != want {
			t.Errorf("got %s", short(got))
		}
	}
}

func TestOrdinaryOptions(t *testing.T) {
	for _, text := range []string{
		"docker run -p 8080:80 x", "docker run --name login -p 8080:80 x", "docker run -d --name mysql -p3306:3306 mysql:8",
		"docker run --name mysql -p 127.0.0.1:3306:3306/tcp mysql",
		"mkdir -p a/b", "cp -p a b", "cp -pr a b", "curl -b cookies.txt x", "curl -b /tmp/a=b x", "curl -c jar -b jar x?a=b",
		`curl -b "$JAR" x`, "curl --cookie-jar a=b x", "ssh -p 22 h", "mysql -p mydb", "mysql -p -u root mydb",
		"mysql -uroot -p", `mysql -p"$P" x`, `mysql "-p" db`,
		"use `mysql -p` or `x`", "find / -name mysql -print", "find mysql -prune", "find /var/lib/mysql -perm 600",
		"ls /var/lib/mysql -pa", "sshpass -e ssh -p 22 h", "sshpass -f file ssh -p 22 h", "sshpass -e ./run.sh -p 22",
		"sshpass -p $P ssh h",
		"docker login -u me --password-stdin h", "docker login h; mkdir -p a/b", `"docker login h\nmkdir -p a/b"`,
		"docker login h && ssh -p 22 x", "redis-cli -h h -p 6379 ping", "redis-cli ping | grep -a x", "ls -a x",
		"grep -w word file", "ldapsearch -x -W -b dc=b",
		"smbclient //h/s -U me", "smbclient -L h -N", "date -u +%H:%M", "openssl rsa -passin env:P -in x",
		"openssl rsa -passin file:p", "htpasswd -c file me", "htpasswd -b file", "htpasswd -nb me", "sort -b file name word",
		"tar -b 20 -cf a b c",
		"the cookie: a biscuit", "Cookie: none", "cookie := http.Cookie{Name: x}", "cookies: a=b",
		`{"cookie": true, "a=b": 1}`, "Set-Cookie: sid=; Max-Age=0", "Cookie: $COOKIE", "Cookie policy: see x=y",
		"https://hooks.slack.com/services/", "https://hooks.slack.com/services/T…/B…/…",
		"https://api.slack.com/messaging/webhooks", "https://discord.com/api/webhooks/1234567890",
		"https://discord.com/developers/docs/resources/webhook", "https://notdiscord.com/api/webhooks/1234567890/abcdefgh",
		"https://api.telegram.org/bot$TOKEN/getMe", "https://api.telegram.org/bot<token>/getMe",
		"https://core.telegram.org/bots/api", "https://x.logic.azure.com/workflows/a?b=c", "https://hooks.zapier.com/",
		"https://discord.com.example.org/api/webhooks/1/abcdefgh",
	} {
		if got := Text(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
		if got := (Filter{}).Argv(strings.Fields(text)); !slices.Equal(got, strings.Fields(text)) &&
			!strings.ContainsAny(text, "\";|&`$") {
			t.Errorf("the words of %s became %q", text, got)
		}
	}
}

func TestArgvOfPrograms(t *testing.T) {
	for in, want := range map[string]string{
		"curl|-b|a=v; b=v|x":                     "curl|-b|a=[redacted]; b=[redacted]|x",
		"curl|-ba=v|--cookie=a=v|-b|jar":         "curl|-ba=[redacted]|--cookie=a=[redacted]|-b|jar",
		"curl|-H|Cookie: a=v; b=v":               "curl|-H|Cookie: a=[redacted]; b=[redacted]",
		"sudo|curl|-u|me:v|x":                    "sudo|curl|-u|me:[redacted]|x",
		"sshpass|-p|a b|ssh|-p|22|h":             "sshpass|-p|[redacted]|ssh|-p|22|h",
		"sshpass|-pa b|ssh|-p22|h":               "sshpass|-p[redacted]|ssh|-p22|h",
		"docker|exec|db|mysql|-pa b|-p|db":       "docker|exec|db|mysql|-p[redacted]|-p|db",
		"docker|login|-p|v|h":                    "docker|login|-p|[redacted]|h",
		"docker|run|-p|80:80|login":              "docker|run|-p|80:80|login",
		"/opt/x/redis-cli|-a|v|get|-a":           "/opt/x/redis-cli|-a|[redacted]|get|-a",
		"env|A=b|/usr/bin/ldapsearch|-w|v|-x":    "env|A=b|/usr/bin/ldapsearch|-w|[redacted]|-x",
		"smbclient|-U|me%a b|//h/s":              "smbclient|-U|me%[redacted]|//h/s",
		"htpasswd|-b|file|me|a b":                "htpasswd|-b|file|me|[redacted]",
		"htpasswd|-c|file|me":                    "htpasswd|-c|file|me",
		"openssl|rsa|-passin|pass:a b|-in|pass:": "openssl|rsa|-passin|pass:[redacted]|-in|pass:",
		"find|mysql|-print":                      "find|mysql|-print",
		"mysql|-p|-p$P|mydb":                     "mysql|-p|-p$P|mydb",
	} {
		if got := strings.Join((Filter{}).Argv(strings.Split(in, "|")), "|"); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}
