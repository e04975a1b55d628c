package policy

import "testing"

const fiveStages = `cat access.log | grep -v '^#' | cut -d' ' -f1 | sort | uniq -c > out.txt`

func BenchmarkPipeline(b *testing.B) {
	for _, profile := range []string{"virtual", "host", "container"} {
		b.Run(profile, func(b *testing.B) {
			p := Default(profile, Options{Root: testRoot})
			b.ReportAllocs()
			for b.Loop() {
				vs, err := p.Script(fiveStages)
				if err != nil || Strictest(vs) != Allow {
					b.Fatal(err, vs)
				}
			}
		})
	}
}

func BenchmarkCallVirtual(b *testing.B) {
	p := Default("virtual", Options{})
	argv := []string{"cat", "a.txt"}
	b.ReportAllocs()
	for b.Loop() {
		if p.Call(argv).Effect != Allow {
			b.Fatal("denied")
		}
	}
}

func BenchmarkCallHost(b *testing.B) {
	p := hostPolicy()
	argv := []string{"grep", "-rn", "x", "src"}
	b.ReportAllocs()
	for b.Loop() {
		if p.Call(argv).Effect != Allow {
			b.Fatal("denied")
		}
	}
}

func BenchmarkDefaultHost(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		hostPolicy()
	}
}
