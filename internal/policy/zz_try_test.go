package policy

import ("testing";"os";"strings";"fmt")

func TestTry(t *testing.T) {
	b, err := os.ReadFile("/tmp/try.txt")
	if err != nil { t.Skip() }
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		src := places.Replace(strings.ReplaceAll(l, `\NL`, "\n"))
		vs, err := hostPolicy().Script(src)
		if err != nil { fmt.Println("ERR  ", l, err); continue }
		e := Strictest(vs)
		if e != Deny { fmt.Println(e, "   ", l) }
	}
}
