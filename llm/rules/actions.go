package rules

import (
	"slices"
	"strings"

	"hako/internal/lazyregexp"
)

// actions are the actions by their names in rule files.
var actions = map[string]action{
	"webSearch": webSearch, "change": change, "changeJa": changeJa, "yesNo": yesNo, "howMany": howMany,
	"howManyJa": howManyJa, "unsure": unsure, "topN": topN, "bottomN": bottomN, "perHour": per("hour"),
	"perDay": per("day"), "perMinute": per("minute"), "skipN": skipN, "firstN": firstN, "one": fixed(1), "ten": fixed(10),
	"oneEnd": oneEnd, "bareNumber": bareNumber, "fromN": fromN, "nthLine": nthLine, "spanNM": spanNM, "spanTwo": spanTwo,
	"spanList": spanList, "ofKind": ofKind, "onlyInFirst": onlyInFirst, "onlyInOther": onlyInOther,
	"countUnit": countUnit, "countUnits": countUnits, "keyNames": keyNames, "countEach": countEach,
	"listFilesSaid": listFilesSaid, "gather": gather, "twice": twice, "fileNoun": fileNoun, "people": people,
	"timeSpan": timeSpan,

	"readWith": readWith, "readWithout": readWithout, "readWithoutQuoted": readWithoutQuoted, "readNeither": readNeither,
	"readStart": readStart, "readEnd": readEnd, "readRegex": readRegex, "readDigits": readDigits,
	"readLinesWith": readLinesWith, "readLinesFor": readLinesFor, "readTimes": readTimes, "readWhether": readWhether,
	"readWordIn": readWordIn, "readThere": readThere, "readFind": readFind, "literal": literal,
	"literalOrLevel": literalOrLevel, "literalStart": literalStart, "literalEnd": literalEnd, "withKanaJa": withKanaJa,
	"inTable": inTable, "askText": askText, "countable": countable, "withoutJa": withoutJa, "bothJa": bothJa,
	"neitherJa": neitherJa, "eitherListJa": eitherListJa,

	"ofLevel": ofLevel, "levelField": levelField, "notLevel": notLevel, "twoLevels": twoLevels,
	"capitalLevels": capitalLevels, "messageField": messageField, "statusCode": statusCode, "statusError": statusError,

	"columnNumbers": columnNumbers, "byNumber": byNumber, "byTotal": byTotal, "byValueOnly": byValueOnly,
	"fieldPath": fieldPath, "fieldAfter": fieldAfter, "groupAfter": groupAfter, "columnNamed": columnNamed,
	"columnBefore": columnBefore, "whereField": whereField, "whereEmpty": whereEmpty, "whoHasMost": whoHasMost,
	"totalOf": totalOf, "oldestOne": oldestOne, "boughtMost": boughtMost, "mostRows": mostRows, "olderThan": olderThan,
	"dateEnd": dateEnd, "namedJa": namedJa, "eachJa": eachJa, "timesOfJa": timesOfJa, "totalsJa": totalsJa,
	"totalOfJa": totalOfJa, "totalPrefixJa": totalPrefixJa, "extremeJa": extremeJa, "rankBy": rankBy,
	"orderedByJa": orderedByJa, "groupJa": groupJa, "sortByJa": sortByJa, "descendingJa": descendingJa,
	"whereJa": whereJa, "whereEmptyJa": whereEmptyJa, "anyEmpty": anyEmpty,
}

// yesNo is for questions whose answer begins with yes or no.
func yesNo(p *parser, _ *match) bool {
	p.q.yesNo = true
	return true
}

// howMany is for a question for a number; a second one is one too many.
func howMany(p *parser, m *match) bool {
	if p.q.questions++; p.q.questions > 1 {
		p.q.clash = p.original(m.from, m.to)
	}
	p.q.set(count)
	return true
}

// howManyJa counts records where 件 can only mean these.
func howManyJa(p *parser, m *match) bool {
	if p.quantityAsked(m) && !p.q.is(totals) {
		p.q.reply = p.q.say("Do you mean how many rows there are, or the sum of %[1]s? Please say \"rows\" or \"sum of %[1]s\".",
			p.q.table.quantity())
	}
	if strings.Contains(m.whole(), "件") && p.q.about(hasFields) {
		p.q.set(records)
	}
	return p.q.is(totals) || howMany(p, m) // 最大はいくつ
}

// quantityAsked reports whether a Japanese phrase may ask for the sum of a quantity instead of a number of rows.
func (p *parser) quantityAsked(m *match) bool {
	return (strings.Contains(m.whole(), "何個") || strings.Contains(m.whole(), "いくつ")) && p.q.table.quantity() != ""
}

// unsure is for words that may mean two things.
func unsure(p *parser, m *match) bool {
	p.q.impossible = p.original(m.from, m.to)
	return true
}

// webSearch is for a request that is for the web and nothing else.
func webSearch(p *parser, m *match) bool {
	g := m.groups["query"]
	p.q.web = strings.Trim(p.original(g[0], g[1]), " 　.。?？!！")
	return p.q.web != ""
}

// change is for requests to change something.
func change(p *parser, m *match) bool {
	verb, rest := m.folded("verb"), m.folded("rest")
	if countsAsQuestion.Get().MatchString(rest) || !changeVerbs(verb) && !changesFile.Get().MatchString(verb+" "+rest) &&
		!strings.ContainsRune(rest, fileMark) {
		return false
	}
	p.q.reply = p.q.readsOnly()
	return true
}

var (
	countsAsQuestion = lazyregexp.New(`^(?:up|together|all)\b|\bduplicat|\bvalues\b|\bnumbers\b|\bblank|\bempty`)
	changesFile      = lazyregexp.New(
		`\b(?:lines?|rows?|columns?|files?|records?|entries|log|everything|words?|header|[a-z]+ with [a-z]+)\b`)
)

// changeJa is for 3行目を削除して.
func changeJa(p *parser, _ *match) bool {
	if s, _ := p.view(); strings.Contains(s, "重複") || strings.Contains(s, "空行") {
		return false
	}
	p.q.reply = p.q.readsOnly()
	return true
}

func (q *query) readsOnly() string {
	return q.say("I can only read files, not change them. ") + "\n\n" + q.ability()
}

// topN is for the most or least frequent ones, with their number if there is one.
func topN(p *parser, m *match) bool {
	p.q.often = p.q.often || saysOften(strings.ToLower(p.original(m.from, m.to)))
	if n, ok := m.count("n"); ok {
		return p.q.number(n)
	}
	return !m.has("n")
}

// bottomN is for "bottom 3 by salary". The bottom 3 lines are the last ones.
func bottomN(p *parser, m *match) bool {
	word, _ := p.wordAt(p.skipSpace(m.to))
	return (!lineNouns(word) || strings.Contains(strings.ToLower(p.src), " by ")) && p.skipSpace(m.to) < len(p.cells)
}

// per makes an action for numbers by time.
func per(interval string) action {
	return func(p *parser, m *match) bool {
		if n, ok := m.count("n"); m.has("n") && (!ok || n != 1) {
			return false // every two hours
		}
		p.q.interval = interval
		return true
	}
}

// skipN is for lines at the start that are left out: one without a number.
func skipN(p *parser, m *match) bool {
	n, ok := m.count("n")
	if !m.has("n") {
		n, ok = 1, true
	}
	if !ok || p.q.some(head|tail|skip|span) {
		return false
	}
	p.q.skipped = n
	return true
}

// firstN is for a number of lines at one end.
func firstN(p *parser, m *match) bool {
	if m.has("in") {
		p.q.set(inside)
	}
	n, ok := m.count("n")
	return ok && p.atEnd(m, n)
}

// fixed makes an action for a fixed number of lines at one end.
func fixed(n int) action {
	return func(p *parser, m *match) bool { return p.atEnd(m, n) }
}

func (p *parser) atEnd(m *match, n int) bool {
	if p.q.some(head|tail|skip|span) || !p.q.number(n) {
		return false
	}
	p.noteRows(m)
	return true
}

// oneEnd is for one end of what follows, without a number: one, unless a number comes elsewhere.
func oneEnd(p *parser, _ *match) bool { return !p.q.some(head | tail | skip | span) }

var rowWords = lazyregexp.New(`\b(?:rows?|records?|entry|entries)\b|レコード|件`)

// noteRows sets records if the match speaks of the rows of a table, to which a header does not belong.
func (p *parser) noteRows(m *match) {
	if rowWords.Get().MatchString(m.whole()) && p.q.about(hasFields) {
		p.q.set(records)
	}
}

// bareNumber is for a number of things without saying which ones.
func bareNumber(p *parser, m *match) bool {
	n, ok := m.count("n")
	if !ok || !p.q.number(n) {
		return false
	}
	p.noteRows(m)
	return true
}

func fromN(p *parser, m *match) bool {
	n, ok := m.count("n")
	return ok && p.span(n, 0)
}

func nthLine(p *parser, m *match) bool {
	n, ok := m.count("n")
	p.noteRows(m)
	return ok && p.span(n, n)
}

func spanNM(p *parser, m *match) bool {
	n, ok := m.count("n")
	to, ok2 := m.count("m")
	if n > to && ok && ok2 {
		return unsure(p, m)
	}
	return ok && ok2 && p.span(n, to)
}

func spanTwo(p *parser, m *match) bool {
	n, ok := m.count("n")
	to, ok2 := m.count("m")
	return ok && ok2 && p.span(n, n) && p.span(to, to)
}

// span adds lines by their numbers; 0 is the end of the file.
func (p *parser) span(from, to int) bool {
	if p.q.some(head | tail | skip) {
		return false
	}
	p.q.set(span)
	p.q.spans = append(p.q.spans, [2]int{from, to})
	return true
}

// spanList is for single lines: 3, 5 and 9.
func spanList(p *parser, m *match) bool {
	for _, n := range m.counts("n", "more") {
		if n < 1 || !p.span(n, n) {
			return false
		}
	}
	return true
}

// ofKind is for a file that is called by its kind.
func ofKind(p *parser, m *match) bool {
	if p.q.kind != "" {
		return false
	}
	p.q.kind = fileKinds(m.folded("kind"))
	return true
}

// onlyInFirst is for the lines that one file has.
func onlyInFirst(p *parser, m *match) bool {
	if p.q.is(onlyIn) {
		return false
	}
	p.q.only = m.text("a")
	return true
}

// onlyInOther is for the lines that one file does not have: those of the other are asked for.
func onlyInOther(p *parser, m *match) bool {
	not := m.text("b")
	names := p.q.named
	if len(names) != 2 {
		names = grantedNames(p.q.files)
	}
	if p.q.is(onlyIn) || len(names) != 2 || !slices.Contains(names, not) {
		return false
	}
	p.q.only = names[1-slices.Index(names, not)]
	return true
}

// countUnit is for "total words".
func countUnit(p *parser, m *match) bool {
	p.q.set(count | map[string]feature{"lines": lines, "rows": lines, "words": words, "bytes": size, "characters": chars,
		"chars": chars}[m.folded("unit")])
	return true
}

// countUnits is for a number of units in Japanese; a second number of the same unit would be one too many.
func countUnits(p *parser, m *match) bool {
	if p.q.is(m.sets) {
		p.q.clash = p.original(m.from, m.to)
	}
	return true
}

func keyNames(p *parser, m *match) bool {
	if m.folded("how") == "how many" {
		p.q.set(count)
	}
	return true
}

// countEach is for "counts": of a field, how often each of its values occurs.
func countEach(p *parser, m *match) bool {
	p.q.counts = p.original(m.from, m.to)
	return true
}

// listFilesSaid is for the word files on its own, where nothing is done with them.
func listFilesSaid(p *parser, _ *match) bool {
	return !p.q.some(differ | onlyIn | common | which | include)
}

// gather is for 集計して, which asks how often each occurs unless something else is asked for.
func gather(p *parser, m *match) bool {
	p.q.summarize = p.original(m.from, m.to)
	return true
}

// twice is for 2回以上出てくる; other numbers are not understood.
func twice(p *parser, m *match) bool {
	m.groups["all"] = [2]int{m.from, m.to}
	list := m.counts("all")
	return len(list) == 0 || list[0] == 2
}

// fileNoun is the word for file; as part of another word it is not.
func fileNoun(p *parser, m *match) bool { return script(p.at(m.from-1)) != script(p.at(m.from)) }

// people is for 何人, where the rows are people.
func people(p *parser, _ *match) bool { return p.q.table.people() }

var clock = lazyregexp.New(`^[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?$`)

// timeSpan is for times of day. The end belongs to the span, all of its second or minute, unless a word leaves it out.
func timeSpan(p *parser, m *match) bool {
	if p.q.time != [2]string{} {
		return false
	}
	for i, g := range []string{"a", "b"} {
		if !m.has(g) {
			continue
		}
		text := m.text(g)
		if !clock.Get().MatchString(text) {
			return false
		}
		if len(text) == 4 || len(text) == 7 {
			text = "0" + text
		}
		p.q.time[i] = text
	}
	p.q.through = !m.has("without")
	return true
}

// ofLevel is for a level. One in capitals may be meant as a text.
func ofLevel(p *parser, m *match) bool {
	name := levelNames(m.folded("level"))
	if name == "" || p.q.level != "" && p.q.level != name {
		return false
	}
	p.setLevel(name)
	if written := m.text("level"); written == strings.ToUpper(written) && written != strings.ToLower(written) {
		p.q.levelText = written
	}
	if m.has("msg") {
		p.q.set(messages)
	}
	return true
}

func (p *parser) setLevel(name string) {
	p.q.level = name
	p.q.set(level)
}

// notLevel is for "everything but errors".
func notLevel(p *parser, m *match) bool {
	if p.q.level != "" {
		return false
	}
	p.setLevel(levelNames(m.folded("level")))
	p.q.exceptLevel = true
	return p.q.level != ""
}

// twoLevels is for "errors or warnings".
func twoLevels(p *parser, m *match) bool {
	if levelNames(m.folded("a")) == levelNames(m.folded("b")) || p.q.level != "" {
		return false
	}
	p.setLevel("ERROR or WARN")
	return true
}

// capitalLevels is for "ERROR and WARN lines": lines with one or the other.
func capitalLevels(p *parser, m *match) bool {
	var list []textFilter
	for _, g := range []string{"a", "b", "c"} {
		text := m.text(g)
		if text != strings.ToUpper(text) {
			return false
		}
		if text != "" {
			list = append(list, textFilter{text: text})
		}
	}
	return p.with(true, list...)
}

func levelField(p *parser, _ *match) bool {
	p.q.addField(fieldRef{name: "level"})
	return true
}

// messageField is for "messages": of JSON a key, of a log what follows the level.
func messageField(p *parser, _ *match) bool {
	if p.q.about(isJSON) {
		p.q.addField(fieldRef{name: "message"})
	} else {
		p.q.set(messages)
	}
	return true
}

// statusCode is for "404s", of the log of a web server.
func statusCode(p *parser, m *match) bool {
	code := m.folded("code")
	if n, ok := m.count("n"); ok && n >= 100 && n < 600 {
		code = itoa(n)
	}
	if code == "" || p.q.status != "" || p.q.about(hasFields) {
		return false
	}
	p.q.status = code
	return true
}

// statusError is for "500 errors"; 20 errors are a number of them.
func statusError(p *parser, m *match) bool {
	n, ok := m.count("n")
	return ok && n >= 400 && n < 600 && !p.q.some(head|tail|top)
}
