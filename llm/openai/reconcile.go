package openai

// The types of items that are used.
const (
	typeCall    = "function_call"
	typeMessage = "message"
	typeThought = "reasoning"
)

// finish reconciles what was streamed with the complete output, which takes precedence. What was only streamed stays:
// some services send no output in the last event.
func (o *output) finish(all []item) {
	if len(all) > maxParts {
		o.refuse(all)
		return
	}
	for _, p := range o.parts {
		p.whole = p.wants()
	}
	mine := o.match(all)
	for i := range all {
		if mine[i] == nil {
			mine[i] = o.add(i, all[i].ID)
		}
		o.settle(mine[i], &all[i])
	}
	if len(mine) == len(o.parts) {
		o.parts = mine // each is there once, and in the order of the model
	}
}

// refuse only counts the calls of an output that is too long.
func (o *output) refuse(all []item) {
	o.much = true
	for i := range all {
		if all[i].Type == typeCall {
			o.called++
		}
	}
}

// match finds the part of each item, nil where nothing of it was streamed. The most reliable criteria come first: a
// part that is not matched would be a call that is made twice.
func (o *output) match(all []item) []*part {
	found, used := make([]*part, len(all)), make(map[*part]bool, len(o.parts))
	for _, same := range []func(*part, int, *item) bool{sameCall, sameID, samePlace, sameWish, sameKind} {
		for i := range all {
			for _, p := range o.parts {
				if found[i] == nil && !used[p] && same(p, i, &all[i]) {
					found[i], used[p] = p, true
				}
			}
		}
	}
	return found
}

func sameCall(p *part, _ int, it *item) bool {
	return it.CallID != "" && p.item.CallID == it.CallID
}

func sameID(p *part, _ int, it *item) bool {
	return it.ID != "" && p.item.ID == it.ID && alike(p, it)
}

// samePlace is for services whose ids differ from event to event.
func samePlace(p *part, at int, it *item) bool { return p.index == at && alike(p, it) }

// sameWish is for those that also number differently.
func sameWish(p *part, _ int, it *item) bool {
	return it.Type == typeCall && alike(p, it) && p.whole == string(it.Arguments)
}

// sameKind matches the rest in its order, but a call only if nothing contradicts.
func sameKind(p *part, _ int, it *item) bool {
	if it.Type == typeCall {
		return p.index < 0 && p.item.CallID == "" && p.item.ID == "" && alike(p, it)
	}
	return p.kind() == it.Type
}

// alike reports whether a part may be an item, by its type and name.
func alike(p *part, it *item) bool {
	kind, name := p.kind(), p.item.Name
	return (kind == "" || kind == it.Type) && (name == "" || it.Name == "" || name == it.Name)
}

// kind is the type of a part, inferred if it was not sent.
func (p *part) kind() string {
	switch {
	case p.item.Type != "":
		return p.item.Type
	case len(p.texts) > 0:
		return typeMessage
	case p.whole != "":
		return typeCall
	}
	return ""
}
