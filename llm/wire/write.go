package wire

import "hako/llm"

// Room estimates the size of a request, so that its buffer need not grow. Line ends and quotes take two bytes instead
// of one, which an eighth pays for in most texts.
func Room(d *llm.Dialog) int {
	n := 1<<10 + len(d.System)
	for i := range d.Tools {
		n += 100 + len(d.Tools[i].Text) + len(d.Tools[i].Schema)
	}
	for i := range d.Items {
		it := &d.Items[i]
		n += 100 + len(it.Text) + len(it.Raw)
		for _, c := range it.Calls {
			n += 120 + len(c.ID) + len(c.Name) + len(c.Arguments)
		}
	}
	if d.Format != nil {
		n += len(d.Format.Schema)
	}
	return n + n/8
}

// Member appends the name of a member, which must need no quoting, after the members before it.
func Member(b []byte, name string) []byte {
	if c := b[len(b)-1]; c != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// Text appends a member that is a text.
func Text(b []byte, name, value string) []byte { return AppendString(Member(b, name), value) }

// Raw appends a member that is JSON already, or the beginning of some.
func Raw(b []byte, name, value string) []byte { return append(Member(b, name), value...) }

// Entry separates an entry of a list from the one before it.
func Entry(b []byte) []byte {
	if b[len(b)-1] != '[' {
		b = append(b, ',')
	}
	return b
}
