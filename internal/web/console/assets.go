package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"
)

//go:embed assets
var assetFiles embed.FS

// assets are the files that pages load, by name.
type assets map[string]asset

// An asset is a file and the hash of its content, which is part of its URL, so that browsers can cache it for ever.
type asset struct {
	content []byte
	mark    string
}

func loadAssets() assets {
	all := assets{}
	entries, _ := assetFiles.ReadDir("assets")
	for _, e := range entries {
		content, _ := assetFiles.ReadFile("assets/" + e.Name())
		sum := sha256.Sum256(content)
		all[e.Name()] = asset{content, hex.EncodeToString(sum[:6])}
	}
	return all
}

// address returns the URL of an asset.
func (a assets) address(name string) string { return "/assets/" + name + "?v=" + a[name].mark }

var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

func (a assets) serve(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	one, ok := a[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", assetTypes[path.Ext(name)])
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", `"`+one.mark+`"`)
	if r.URL.Query().Get("v") == one.mark {
		h.Set("Cache-Control", "max-age=31536000, immutable")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(one.content))
}
