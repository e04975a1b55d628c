//go:build unix

package clone

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// TestSecondTimeIsFaster measures a repository of fifty megabytes.
func TestSecondTimeIsFaster(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it takes seconds")
	}
	w := newWorld(t)
	for _, dir := range []string{w.work, w.bare()} {
		w.git(dir, "config", "core.compression", "0") // noise cannot be compressed
	}
	noise := rand.NewChaCha8([32]byte{1})
	for i := range 50 {
		text := make([]byte, 1<<20)
		noise.Read(text)
		writeFile(t, w.work, "data/"+strconv.Itoa(i), text)
	}
	w.commit("README", "large\n")
	w.push("main")
	start := time.Now()
	first := w.mustClone(Source{})
	took := time.Since(start)
	start = time.Now()
	second := w.mustClone(Source{})
	again := time.Since(start)
	t.Logf("%s: first %v, second %v (%.2f)", bytesText(first.Bytes), took, again, again.Seconds()/took.Seconds())
	if first.Bytes < 50<<20 || !second.Cached || second.Bytes != first.Bytes {
		t.Errorf("%+v, %+v", first.Checkout, second.Checkout)
	}
	if again > took { // half of it on a quiet machine; this only notices a cache that is none
		t.Error("the cache does not help")
	}
}
