package console

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"hako/internal/fakes/browser"
)

// tab is one page of a browser that is watched, at a door.
type tab struct {
	*browser.Tab
	*door
	t testing.TB
}

// open makes a tab at a door, logged in, with cookies of its own.
func open(t testing.TB, chromium context.Context, d *door) *tab {
	t.Helper()
	b := &tab{browser.Open(t, chromium, d.Server.URL), d, t}
	b.Cookie("hako_session", goodCookie)
	return b
}

// quiet fails if the page complained, asked others for something, or asked
// without the proof that it may.
func (b *tab) quiet() {
	b.t.Helper()
	b.Quiet()
	b.door.mu.Lock()
	defer b.door.mu.Unlock()
	for _, r := range b.bad {
		b.t.Errorf("request without session or proof: %s", r)
	}
}

const pictures = "../../../docs/images"

// shot keeps a picture of the page for the documents.
func (b *tab) shot(name string) {
	b.t.Helper()
	b.Until("!document.querySelector('.moving')") // what cannot be clicked yet is grey
	png, path := b.Picture(), filepath.Join(pictures, name+".png")
	if err := os.WriteFile(path, png, 0o644); err != nil {
		b.t.Fatal(err)
	}
	if len(png) > 150<<10 {
		b.t.Errorf("%s has %d KB, most is 150", path, len(png)>>10)
	}
}
