package console

import (
	"context"
	_ "embed"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// code renders a command with highlighting. It is not a template, so that no white space is added to what somebody
// judges.
func code(command string) templ.Component { return codeWith(command, "") }

// codeWith renders a script with one marked command; empty means none.
func codeWith(script, part string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		b.WriteString("<code>")
		for _, one := range marked(script, part) {
			text := templ.EscapeString(one.Text)
			if one.Class != "" {
				text = `<span class="t-` + one.Class + `">` + text + `</span>`
			}
			if one.Marked {
				text = "<mark>" + text + "</mark>"
			}
			b.WriteString(text)
		}
		b.WriteString("</code>")
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// iconText has the icons: a name and SVG paths in a square of 20 on each line.
//
//go:embed icons.txt
var iconText string

// icon renders an icon, hidden from screen readers.
func icon(name string) templ.Component {
	_, paths, _ := strings.Cut("\n"+iconText, "\n"+name+" ")
	paths, _, _ = strings.Cut(paths, "\n")
	return templ.Raw(`<svg class="icon" viewBox="0 0 20 20" width="20" height="20" fill="none" stroke="currentColor" stroke-width="1.5" ` +
		`stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">` + paths + `</svg>`)
}
