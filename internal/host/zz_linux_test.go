package host
import ("testing";"hako/internal/host/cage";"hako/internal/run")
func BenchmarkNew(b *testing.B){
 for _, l := range []cage.Level{cage.Full,cage.LandlockOnly} {
 b.Run(l.String(), func(b *testing.B){ 
  for b.Loop() { s,_ := newScene(b.TempDir(), furnish); r,err := runnerAt(b, Options{Root:s.root},l); if err!=nil {b.Fatal(err)}; attempt(b,r,run.Request{Script:"env true"},patience); r.Close(); s.close() } }) 
 b.Run(l.String()+"-build", func(b *testing.B){ s,_ := newScene(b.TempDir(), furnish)
  for b.Loop() { r,err := runnerAt(b, Options{Root:s.root},l); if err!=nil {b.Fatal(err)};  r.Close() } }) 
  }
 b.Run("scene",func(b *testing.B){  for b.Loop() { s,_ := newScene(b.TempDir(), furnish); s.close()}})
}
