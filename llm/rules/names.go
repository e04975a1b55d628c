package rules

import "strings"

// names answers which columns or keys a file has.
func names(t *conversation, q *query) string {
	file := q.source()
	l := t.look(file)
	list, what := l.header, q.say("columns")
	if l.json != nil {
		list, what = l.json.topKeys(), q.say("keys")
	}
	switch {
	case len(list) == 0 && l.json != nil:
		return q.say("%s has no keys.", file)
	case len(list) == 0:
		return q.say("%s has no line with the names of columns that I can recognise.", file)
	case q.is(count):
		return q.say("%d %s (%s)", len(list), what, file) + "\n" + q.listed(list)
	}
	lines := make([]string, len(list))
	for i, name := range list {
		lines[i] = itoa(i+1) + ". " + name
	}
	return strings.Join(lines, "\n") + "\n\n" + q.say("%d %s %s", len(list), what, q.of(file))
}

// topKeys are the keys of the object, or of the objects in the list.
func (j *jsonLayout) topKeys() (list []string) {
	for _, p := range j.Paths {
		switch {
		case len(p) == 1 && p[0] != "[]":
			list = append(list, p[0])
		case len(p) == 2 && p[0] == "[]" && p[1] != "[]" && j.Type == "array":
			list = append(list, p[1])
		}
	}
	return list
}

// listLength answers how many elements a list of JSON has.
func listLength(t *conversation, q *query) string {
	file := q.source()
	l := t.look(file)
	switch {
	case l.json == nil:
		return q.say("%s is not JSON, so it has no list whose elements I could count. Ask for its lines or rows.", file)
	case q.is(field):
		return t.lengthOf(q, l, q.column(l, q.fields[0]).path)
	}
	return t.lengthOf(q, l, nil)
}

// countList answers "how many users": the length of that list, if there is one.
func (t *conversation) countList(q *query, file string) string {
	l := t.look(file)
	if len(q.fields) > 1 {
		return q.twoThings()
	}
	c := q.column(l, q.fields[0])
	if l.json == nil {
		return q.say("Do you mean how many rows there are, or how many different values of %s? Please say \"rows\" or "+
			"\"different values of %[1]s\".", c.name)
	}
	return t.lengthOf(q, l, c.path)
}

// lengthOf says how many elements the list at a path has. Without a path it is the list itself, the only one in the
// object, or the documents of the file.
func (t *conversation) lengthOf(q *query, l *layout, path []string) string {
	if path == nil && l.json.Type == "object" && l.json.Docs == 1 {
		if path = l.json.onlyList(); path == nil {
			return q.say("%s is an object with %d keys, not a list.", l.file, l.json.Len)
		}
	}
	if kind := l.json.kindAt(path); path != nil && kind != "array" {
		return q.say("%s is no list in %s.", shownPath(path), l.file)
	}
	p := from(l.file)
	switch {
	case path != nil:
		p = p.then("jq", jqPath(path)+" | length")
	case l.json.Type == "array" && l.json.Docs == 1:
		p = p.then("jq", "length")
	case l.json.Loose:
		p = p.then("jq", "-Rc", "fromjson?").counted()
	default:
		p = p.then("jq", "-c", ".").counted()
	}
	out := t.run(p)
	if strings.Contains(strings.TrimSpace(out.Out), "\n") {
		return q.say("There are several such lists in %s, with these lengths:", l.file) + "\n\n" + block(out.lines())
	}
	return q.say("%s %s", q.several(out.number(), "element"), q.of(l.file, shownPath(path)))
}

// onlyList is the path of the one list that an object has, nil if there is not exactly one.
func (j *jsonLayout) onlyList() (path []string) {
	for i, p := range j.Paths {
		if len(p) != 1 || i >= len(j.Kinds) || j.Kinds[i] != "array" {
			continue
		}
		if path != nil {
			return nil
		}
		path = p
	}
	return path
}
