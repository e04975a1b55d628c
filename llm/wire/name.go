package wire

import (
	"strings"

	"hako/internal/text"
)

// maxName is the longest name or id that is kept, in bytes.
const maxName = 200

// Name makes a name or an id that a server sent fit to be shown, logged and sent again: characters that cannot be seen
// would let it pass for another one, and a huge one would fill every list that it is in.
func Name(s string) string {
	s = text.Visible(text.Prefix(s, 8*maxName)) // the rest cannot matter, and may be megabytes
	return text.Prefix(strings.Join(strings.Fields(strings.ReplaceAll(s, "\ufffd", "")), " "), maxName)
}
