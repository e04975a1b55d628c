package builtin

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// lit is the text in a group, unless it is a word that means a level of a log.
func (p *parser) lit(m *match, name string) (text string, ok bool) {
	text = m.text(name)
	switch m.mark(name) {
	case quoteMark, dateMark, numberMark:
		return text, text != ""
	}
	if levelNames[text] != "" && !isWord(rune(strings.ToLower(text)[0])) {
		return "", false
	}
	return text, text != "" && !japaneseNouns[text] && !looksLikeFile(text)
}

// japaneseNouns are words that are neither a text to look for nor a field.
var japaneseNouns = wordSet(`行 列 値 数 件 件数 個 回 回数 行数 文字 文字数 単語 単語数 ファイル データ 上位 下位 各 全 全部 全体 中 内 最初 最後 先頭 末尾
	以上 以下 未満 他 別 順 昇順 降順 何 何行 何件 最大 最小 平均 合計 一覧 結果 頻度 出現 種類 今日 昨日 明日 今週 先週 今月 先月 今年 昨年 時間 毎日 最近 直近
	最新 最も 一番 ログ テキスト エラー 警告 メッセージ カラム 項目 フィールド レコード エントリ エントリー キー ユニーク 重複 空行 ヘッダ ヘッダー 名前順`)

// levelOf notes the level that a text without quotes means.
func (p *parser) levelOf(m *match, name string) bool {
	known := levelNames[m.folded(name)]
	if known == "" || m.mark(name) != 0 || p.q.level != "" {
		return false
	}
	p.q.level = known
	p.q.set(level)
	return true
}

func withJa(p *parser, m *match) bool {
	text, ok := p.lit(m, "lit")
	if !ok {
		return p.levelOf(m, "lit")
	}
	return p.with([]needle{{text: text}}, false)
}

// sayLit is withJa for a rule that says something else besides.
func sayLit(f feature) func(*parser, *match) bool {
	return func(p *parser, m *match) bool {
		text, ok := p.lit(m, "lit")
		if ok && p.with([]needle{{text: text}}, false) {
			p.q.set(f)
			return true
		}
		return false
	}
}

func withLinesJa(p *parser, m *match) bool { return sayLit(lines)(p, m) }
func countJa(p *parser, m *match) bool     { return sayLit(count)(p, m) }
func timesJa(p *parser, m *match) bool     { return sayLit(count|times)(p, m) }
func findJa(p *parser, m *match) bool      { return sayLit(find)(p, m) }

func withoutJa(p *parser, m *match) bool {
	text, ok := p.lit(m, "lit")
	return ok && p.without([]needle{{text: text}})
}

func startJa(p *parser, m *match) bool {
	text, ok := p.lit(m, "lit")
	return ok && p.with([]needle{{text: text, starts: true}}, false)
}

func endJa(p *parser, m *match) bool {
	text, ok := p.lit(m, "lit")
	return ok && p.with([]needle{{text: text, ends: true}}, false)
}

func regexJa(p *parser, m *match) bool {
	return p.with([]needle{{text: m.text("lit"), regex: true}}, false)
}

// bothJa is for AとBを含む and AかBを含む.
func bothJa(p *parser, m *match) bool {
	second := "lit3"
	if m.has("or") {
		second = "lit2"
	}
	a, ok := p.lit(m, "lit")
	b, ok2 := p.lit(m, second)
	return ok && ok2 && p.with([]needle{{text: a}, {text: b}}, m.has("or"))
}

// fieldJa is the field in a group: a number, a path or a name.
func (p *parser) fieldJa(m *match, name string) (f fieldRef, ok bool) {
	switch m.mark(name) {
	case pathMark:
		return fieldRef{name: m.text(name), path: true}, true
	case quoteMark:
		return fieldRef{name: m.text(name)}, true
	}
	if n := p.numbers(m, name); len(n) == 1 && n[0] > 0 && strings.HasSuffix(m.folded(name), "列目") {
		return fieldRef{number: n[0]}, true
	}
	text := strings.TrimSuffix(strings.TrimSuffix(m.text(name), "列"), "カラム")
	if text == "レベル" {
		text = "level"
	}
	return fieldRef{name: text, guess: true}, text != "" && !japaneseNouns[text] && !looksLikeFile(text)
}

func namedJa(p *parser, m *match) bool {
	f, ok := p.fieldJa(m, "name")
	if ok {
		f.guess = false
		p.q.addField(f)
	}
	return ok
}

func columnNumbersJa(p *parser, m *match) bool {
	name := "n"
	if m.has("n2") {
		name = "n2"
	}
	n, ok := m.count(name)
	if ok {
		p.q.addField(fieldRef{number: n})
	}
	return ok
}

func lastColumn(p *parser, _ *match) bool {
	p.q.addField(fieldRef{number: -1})
	return true
}

// totalsJa notes what to calculate.
func totalsJa(p *parser, m *match) bool {
	for _, g := range []string{"agg", "agg2", "agg3"} {
		if m.has(g) {
			p.addTotal(aggregates[m.folded(g)])
		}
	}
	p.q.set(totals)
	return true
}

func totalOfJa(p *parser, m *match) bool {
	f, ok := p.fieldJa(m, "field")
	if !ok || p.q.is(totals) {
		return false
	}
	p.q.addField(f)
	return totalsJa(p, m)
}

// totalPrefixJa is for 平均単価.
func totalPrefixJa(p *parser, m *match) bool {
	switch m.folded("field") {
	case "値", "額", "金額", "行数", "文字数", "単語数", "バイト数", "件数", "行":
		return false
	}
	return totalOfJa(p, m)
}

var largeJa = []string{"大きい", "高い", "多い", "長い", "新しい"}

// extremeJa is for 一番高い単価.
func extremeJa(p *parser, m *match) bool {
	f, ok := p.fieldJa(m, "field")
	if !ok {
		return false
	}
	p.q.addField(f)
	name := "min"
	if slices.Contains(largeJa, m.folded("dir")) {
		name = "max"
	}
	p.addTotal(name)
	p.q.set(totals)
	return true
}

// rankBy is for 単価の高い順に3件. Of a word for how often, it is the most
// frequent that are wanted.
func rankBy(p *parser, m *match) bool {
	f, ok := p.fieldJa(m, "field")
	if !ok || p.q.is(grouped) {
		return false
	}
	if n, ok := m.count("n"); ok && !p.q.number(n) {
		return false
	}
	if m.has("n") {
		p.q.set(amount)
	}
	p.q.by = f
	p.q.set(grouped | sorted)
	if slices.Contains(largeJa, m.folded("dir")) {
		p.q.set(descending)
	} else {
		p.q.set(ascending)
	}
	p.q.manyFew = m.folded("dir") == "多い" || m.folded("dir") == "少ない"
	return true
}

// groupJa is for 商品ごと.
func groupJa(p *parser, m *match) bool {
	switch m.folded("field") {
	case "行":
		p.q.set(lines | freq)
		return true
	case "単語":
		p.q.set(words | freq)
		return true
	case "メッセージ", "エラーメッセージ", "エラー":
		p.q.set(messages | freq)
		if m.folded("field") != "メッセージ" {
			p.q.level = "ERROR"
			p.q.set(level)
		}
		return true
	}
	f, ok := p.fieldJa(m, "field")
	if !ok || p.q.is(grouped) {
		return false
	}
	p.q.by = f
	p.q.set(grouped)
	return true
}

// sortByJa is for 単価でソート; a field that was noted before is a hole by now.
func sortByJa(p *parser, m *match) bool {
	p.q.set(sorted)
	g := m.groups["field"]
	if p.at(g[0]) == hole {
		if len(p.q.fields) == 0 || p.q.is(grouped) {
			return true
		}
		p.q.by = p.q.fields[len(p.q.fields)-1]
		p.q.fields = p.q.fields[:len(p.q.fields)-1]
		if len(p.q.fields) == 0 {
			p.q.has &^= field
		}
		p.q.set(grouped)
		return true
	}
	f, ok := p.fieldJa(m, "field")
	if !ok || p.q.is(grouped) {
		return false
	}
	p.q.by = f
	p.q.set(grouped)
	return true
}

// descendingJa tells 多い順, which is about how often, from the others.
func descendingJa(p *parser, m *match) bool {
	if p.q.some(level|messages) || p.folded(m.from, min(m.from+3, m.to)) == "多い順" {
		return false
	}
	p.q.set(sorted | descending)
	return true
}

// twice is for 2回以上出てくる; other numbers are not understood.
func twice(p *parser, m *match) bool {
	if list := p.numbers(&match{p: p, groups: map[string][2]int{"all": {m.from, m.to}}}, "all"); len(list) > 0 && list[0] != 2 {
		return false
	}
	p.q.set(repeats)
	return true
}

func spanTwo(p *parser, m *match) bool {
	n, ok := m.count("n")
	to, ok2 := m.count("m")
	return ok && ok2 && p.span(n, n) && p.span(to, to)
}

// countsJa notes a question for a number of units; a second number with the
// same unit would be one too many.
func countsJa(unit feature) func(*parser, *match) bool {
	return func(p *parser, m *match) bool {
		if p.q.is(count | unit) {
			p.q.clash = p.original(m.from, m.to)
		}
		p.q.set(count | unit)
		return true
	}
}

func countVerbJa(p *parser, _ *match) bool {
	p.q.set(count)
	return true
}

func ofKindJa(p *parser, m *match) bool {
	kind := m.folded("kind")
	if p.q.kind != "" {
		return false
	}
	p.q.kind = map[string]string{"ログ": "log", "テキスト": "text"}[kind]
	if p.q.kind == "" {
		p.q.kind = kind
	}
	return true
}

// whereJa notes a condition.
func whereJa(p *parser, m *match) bool {
	f, ok := p.fieldJa(m, "field")
	c := condition{field: f, value: m.text("val"), num: m.mark("val") == numberMark, op: operatorJa(m)}
	if c.num {
		c.value = strings.ReplaceAll(string(foldedRunes(c.value)), ",", "")
	}
	if !ok || m.mark("val") == 0 && japaneseNouns[c.value] {
		return false
	}
	if end, ok := m.groups["end"]; ok {
		m.to = end[0]
	}
	p.q.where = append(p.q.where, c)
	p.q.set(matching)
	return true
}

func operatorJa(m *match) string {
	op := m.folded("op")
	if known := comparisons[op]; known != "" {
		return known
	}
	switch {
	case m.has("op2"):
		return "!="
	case op == "", op == "等しい", op == "一致する":
		return "=="
	case strings.HasSuffix(op, "下回る"), strings.Contains(op, "小さ"), strings.HasSuffix(op, "少ない"), strings.HasSuffix(op, "低い"), strings.HasSuffix(op, "安い"):
		return "<"
	}
	return ">"
}

// japaneseFiller are the words that say nothing by themselves, the longest
// first where one begins another.
const japaneseFiller = `お願い(?:いた|致)?します|おねがいします|お願い|教えて(?:ください|下さい|ほしい|くれ(?:ますか|る)?|もらえますか|いただけますか)?|おしえて|知りたい(?:です)?|知らせて|ください|下さい|くださいませ|` +
	`ほしい(?:です)?|欲しい(?:です)?|もらえますか|もらえますでしょうか|もらえる|いただけますか|いただけますでしょうか|頂けますか|くれますか|くれませんか|くれる|くれ|` +
	`できますか|できる|お見せ|みて|見て|しますか|します|して|しろ|せよ|する|した|ですか|でしょうか|でしょう|です|ますか|ました|ます|だけ|のみ|` +
	`ありますか|あります|ある|いますか|います|いる|どうなって|どう|なに|何|どれ|どの|どんな|この|その|これ|それ|ここ|ちょっと|まず|一度|改めて|すみません|こんにちは|ありがとう|` +
	`ファイル|データ|ログ|テキスト|csv|json|tsv|中|内|うち|もの|こと|ところ|箇所|やつ|結果|表|全部で|全体で|合わせて|それぞれ|各|値|列|カラム|項目|フィールド|分|形|形式|` +
	`から|まで|では|には|とは|って|という|の|を|は|が|に|で|と|も|へ|や|か|ね|よ|な|お|た|て|、|。|・|,|\.|\?|!|:|;|…|\(|\)| |「|」`

var japaneseFillers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:` + japaneseFiller + `)`) })

// japaneseRest lists what no rule took and what is not filler.
func japaneseRest(l *line) (list []scrap) {
	filler := japaneseFillers()
	for i := 0; i < len(l.cells); {
		r := l.cells[i].r
		if r == hole || r == fileMark {
			i++
			continue
		}
		if isAtom(r) {
			list, i = l.addScrap(list, i, i+1), i+1
			continue
		}
		if n := l.fillerAt(filler, i); n > 0 && !l.insideWord(i, n) {
			i += n
			continue
		}
		end := l.unknownEnd(filler, i)
		list, i = l.addScrap(list, i, end), end
	}
	return list
}

// fillerAt returns how many cells of filler begin at i.
func (l *line) fillerAt(filler *regexp.Regexp, i int) int {
	end := i
	for end < len(l.cells) && !isAtom(l.cells[end].r) && l.cells[end].r != hole && end < i+20 {
		end++
	}
	var b strings.Builder
	for _, c := range l.cells[i:end] {
		b.WriteRune(c.r)
	}
	return len([]rune(filler.FindString(b.String())))
}

// insideWord reports whether a filler ends in the middle of a word of the same
// script: 中 in 中央, or data in database.
func (l *line) insideWord(i, n int) bool {
	last, next := l.cells[i+n-1].r, l.at(i+n)
	return script(last) != 0 && script(last) == script(next) || i > 0 && script(l.cells[i].r) != 0 && script(l.cells[i].r) == script(l.at(i-1))
}

// script tells kanji, katakana and Latin letters apart; 0 is everything else.
func script(r rune) int {
	switch {
	case unicode.Is(unicode.Han, r):
		return 1
	case unicode.Is(unicode.Katakana, r) || r == 'ー':
		return 2
	case isWord(r):
		return 3
	}
	return 0
}

// unknownEnd returns where an unknown word that begins at i ends.
func (l *line) unknownEnd(filler *regexp.Regexp, i int) int {
	end := i + 1
	for end < len(l.cells) {
		r := l.cells[end].r
		if isAtom(r) || r == hole {
			break
		}
		if n := l.fillerAt(filler, end); n > 0 && !l.insideWord(end, n) {
			break
		}
		end++
	}
	return end
}
