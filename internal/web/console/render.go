package console

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// code writes a command in colours. It is drawn by hand, so that no space is
// added to what somebody is to judge.
func code(command string) templ.Component { return codeWith(command, "") }

// codeWith writes a script in which one command is marked; empty means none.
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

// drawings are the icons: strokes in a square of 20, in the colour of the text.
var drawings = map[string]string{
	"now":       `<path d="M2.5 10.5h3l2.2-6 4 11.5 2.6-8 1.2 2.5h2"/>`,
	"approvals": `<path d="M10 2.5 4 5v4.6c0 3.6 2.5 6.6 6 7.9 3.5-1.3 6-4.3 6-7.9V5z"/><path d="m7.4 9.9 1.9 1.9 3.5-3.6"/>`,
	"secretary": `<path d="M3.5 4.5h13v9h-7l-3.5 3v-3H3.500z"/><path d="M7 8h6M7 10.500h3.5"/>`,
	"tasks":     `<path d="m3.5 5 1.2 1.200L7 4M3.5 10.200l1.2 1.200L7 9.200M3.5 15.400l1.2 1.200L7 14.400M9.8 5.200h6.700M9.8 10.400h6.700M9.8 15.600h6.7"/>`,
	"sandboxes": `<path d="M10 2.8 16.5 6.200v7.600L10 17.2 3.5 13.800V6.200z"/><path d="M3.7 6.3 10 9.700l6.3-3.400M10 9.700v7.3"/>`,
	"budget":    `<path d="M3.5 16.500h13M5.5 16v-5M10 16V4.500M14.5 16V8.5"/>`,
	"audit":     `<path d="M5 2.800h7l3.2 3.200v11.200H5z"/><path d="M7.6 8.500h5M7.6 11.300h5M7.6 14.100h3"/>`,
	"policy":    `<path d="M10 3v14M6.5 17h7M4 5.500h12M4 5.5 2.2 11h3.600zM16 5.5 14.2 11h3.600z"/>`,
	"auto":      `<circle cx="10" cy="10" r="6.5"/><path d="M10 3.500a6.5 6.5 0 0 1 0 13z" fill="currentColor"/>`,
	"light":     `<circle cx="10" cy="10" r="3.3"/><path d="M10 2.500v2M10 15.500v2M2.5 10h2M15.5 10h2M4.7 4.700l1.4 1.400M13.9 13.900l1.4 1.400M15.3 4.700l-1.4 1.400M6.1 13.900l-1.4 1.4"/>`,
	"dark":      `<path d="M16.5 11.800A7 7 0 0 1 8.2 3.500a7 7 0 1 0 8.3 8.300z"/>`,
	"keys":      `<rect x="2.5" y="5" width="15" height="10" rx="1.5"/><path d="M5.5 8h.01M8.5 8h.01M11.5 8h.01M14.5 8h.01M7 12h6"/>`,
	"leave":     `<path d="M8.5 3.500h-4v13h4M12 6.500l3.5 3.5-3.5 3.500M15 10H8"/>`,
	"send":      `<path d="M10 16.500v-12M5 9l5-5 5 5"/>`,
	"voice":     `<path d="M3.5 8v4h2.700l3.8 3V5L6.2 8zM12.8 7.300a4 4 0 0 1 0 5.400M14.9 5.200a7 7 0 0 1 0 9.6"/>`,
	"grip":      `<path d="M7.5 5.500h.01M12.5 5.500h.01M7.5 10h.01M12.5 10h.01M7.5 14.500h.01M12.5 14.500h.01"/>`,
	"add":       `<path d="M10 4.500v11M4.5 10h11"/>`,
	"close":     `<path d="m5.5 5.5 9 9M14.5 5.500l-9 9"/>`,
	"search":    `<circle cx="8.8" cy="8.8" r="5"/><path d="m12.6 12.6 4 4"/>`,
	"pause":     `<path d="M7 4.500v11M13 4.500v11"/>`,
	"resume":    `<path d="M6.5 4.500v11l9-5.500z"/>`,
	"stop":      `<rect x="5" y="5" width="10" height="10" rx="1"/>`,
	"whole":     `<path d="M8.2 11.8 11.8 8.200M9 6.500l2-2a3.2 3.2 0 0 1 4.5 4.500l-2 2M11 13.500l-2 2A3.2 3.2 0 0 1 4.5 11l2-2"/>`,
	"trash":     `<path d="M4 5.500h12M8 5.500V3.500h4v2M5.5 5.500l.8 11h7.400l.8-11M8.5 8.500v5M11.5 8.500v5"/>`,
	"open":      `<path d="M11 4h5v5M16 4l-7 7M13.5 11.500V16H4V6.500h4.5"/>`,
}

// icon draws one of the drawings. It says nothing to a screen reader: the words
// beside it do.
func icon(name string) templ.Component {
	return templ.Raw(`<svg class="icon" viewBox="0 0 20 20" width="20" height="20" fill="none" stroke="currentColor" stroke-width="1.5" ` +
		`stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">` + drawings[name] + `</svg>`)
}
