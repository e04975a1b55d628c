package policy

import "testing"

// TestTemporaryFiles holds what mktemp makes against what only looks like it.
func TestTemporaryFiles(t *testing.T) {
	p := hostPolicy()
	for _, path := range []string{"/tmp/tmp.AbCdEf1234", "/tmp/tmp.AbCdEf1234/a/b.txt",
		"/tmp/hako-host-1a2b/tmp/tmp.AbCdEf1234"} {
		if v := p.Call([]string{"rm", path}); v.Effect != Allow {
			t.Errorf("rm %s: %+v", path, v)
		}
		if v := p.Redirect(">", path); v.Effect != Allow {
			t.Errorf("> %s: %+v", path, v)
		}
		if vs, err := p.Script("cat " + path); err != nil || Strictest(vs) != Deny {
			t.Errorf("cat %s, written out: %v, %v", path, vs, err)
		}
	}
	if v := p.Call([]string{"tar", "czf", "out.tgz", "-C", "/tmp/tmp.AbCdEf1234", "."}); v.Effect != Allow {
		t.Errorf("%+v", v)
	}
	if v := p.CallAt("/tmp/tmp.AbCdEf1234", []string{"cat", "a.txt"}); v.Effect != Allow {
		t.Errorf("%+v", v)
	}
	if v := p.CallAt("/tmp/tmp.AbCdEf1234", []string{"cat", "../a.txt"}); v.Effect != Deny {
		t.Errorf("%+v", v)
	}
	for _, argv := range [][]string{{"ln", "-s", "/tmp/tmp.AbCdEf1234", "l"}, {"ln", "-st", ".", "/tmp/tmp.AbCdEf1234/a"},
		{"cp", "-rs", "/tmp/tmp.AbCdEf1234", "l"}} {
		if v := p.Call(argv); v.Effect != Deny {
			t.Errorf("%q: %+v", argv, v)
		}
	}
	for _, path := range []string{"/tmp/x", "/tmp/tmp.short", "/tmp/tmp.AbCdEf12345", "/tmp/tmp.AbCdEf1234/../x",
		"/var/tmp/tmp.AbCdEf1234", "/tmp/y/tmp.AbCdEf1234", "/tmp/tmp.AbCdEf1234/.git/config"} {
		if v := p.Redirect(">", path); v.Effect != Deny {
			t.Errorf("> %s: %+v", path, v)
		}
	}
}
