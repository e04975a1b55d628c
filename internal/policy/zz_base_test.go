package policy
import ("testing";"os")
func TestZZBase(t *testing.T) {
	p := containerPolicy()
	var out string
	for _, file := range []string{"benign.jsonl", "benign-own.jsonl"} {
		n, all := 0, 0
		for _, c := range readCorpus(t, file) {
			all++
			vs, err := p.Script(c.Command)
			if err == nil && goes(vs) { n++; out += "ok " + c.ID + " " + c.Command + "\n" } else { out += "no " + c.ID + " " + c.Command + "\n" }
		}
		t.Logf("%s %d/%d", file, n, all)
	}
	os.WriteFile(os.Getenv("ZZOUT"), []byte(out), 0o644)
}
