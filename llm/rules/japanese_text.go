package rules

import (
	"regexp"
	"strings"
	"unicode"

	"hako/internal/lazyregexp"
)

// lit is the text in a group, unless it is a word that means a level of a log.
func (p *parser) lit(m *match, name string) (text string, ok bool) {
	text = narrow(m.text(name))
	switch m.mark(name) {
	case quoteMark, dateMark, numberMark:
		text = m.text(name)
		return text, text != ""
	}
	if levelNames[text] != "" && !isWord(rune(strings.ToLower(text)[0])) {
		return "", false
	}
	return text, text != "" && !japaneseNouns(text) && !japaneseKinds(text) && !looksLikeFile(text)
}

// japaneseNouns are words that are neither a text to look for nor a field.
var japaneseNouns = wordSet(`行 列 値 数 件 件数 個 回 回数 行数 文字 文字数 単語 単語数 ファイル データ 上位 下位 各 全 全部 全体 中 内 最初 最後 先頭 末尾
	以上 以下 未満 他 別 順 昇順 降順 何 何行 何件 最大 最小 平均 合計 一覧 結果 頻度 出現 種類 今日 昨日 明日 今週 先週 今月 先月 今年 昨年 時間 毎日 最近 直近
	何回 何度 何個 何種類 何文字 何単語 偶数 奇数 日本語 英語 最新 最も 一番 ログ テキスト エラー 警告 メッセージ カラム 項目 フィールド レコード エントリ エントリー キー ユニーク 重複 空行 ヘッダ ヘッダー 名前順
	多い 少ない 大きい 小さい 高い 低い 安い 長い 短い 新しい 古い 逆 辞書 数値 数字 アルファベット 五十音`)

// japaneseKinds are kinds of text: 数字を含む行 are not lines with the text 数字.
var japaneseKinds = wordSet(`数字 数値 英字 英数字 大文字 小文字 空白 日付 日時 時刻 時間 記号 漢字 ひらがな カタカナ 番号 改行 タブ 単語 文字列 アルファベット 日本語 英語`)

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
	return p.with([]textFilter{{text: text}}, false)
}

// sayLit is withJa for a rule that says something else besides.
func sayLit(f feature) func(*parser, *match) bool {
	return func(p *parser, m *match) bool {
		text, ok := p.lit(m, "lit")
		if ok && p.with([]textFilter{{text: text}}, false) {
			p.q.set(f)
			return true
		}
		return false
	}
}

// withKanaJa is for a text in kana: only if nothing in it can be a word of its
// own.
func withKanaJa(p *parser, m *match) bool {
	for _, word := range []string{"から", "うち", "の", "で", "を", "行", "が"} {
		if strings.Contains(m.folded("lit"), word) {
			return false
		}
	}
	return withJa(p, m)
}

func withLinesJa(p *parser, m *match) bool {
	if m.has("lit2") {
		m.groups["lit"] = m.groups["lit2"]
	}
	return sayLit(lines)(p, m)
}

// withTableJa is for 東京の行 in a table, where words are values.
func withTableJa(p *parser, m *match) bool {
	return p.q.about(isTable) && sayLit(lines|records)(p, m)
}
func timesJa(p *parser, m *match) bool { return sayLit(count|times)(p, m) }
func findJa(p *parser, m *match) bool  { return sayLit(find)(p, m) }

// countJa is for Xは何件: lines with X, unless it is about JSON, where X may be a
// list.
func countJa(p *parser, m *match) bool {
	if said := p.folded(m.from, m.to); (strings.Contains(said, "何個") || strings.Contains(said, "いくつ")) &&
		p.q.ground != nil && p.q.ground.quantity() != "" {
		return false
	}
	if m.mark("lit") == 0 && (p.q.about(isJSON) || knownForm(m.text("lit")) != "") {
		return false
	}
	return sayLit(count)(p, m)
}

// withoutJa is for 週末を除いて too, which need not mean a text.
func withoutJa(p *parser, m *match) bool {
	text, ok := p.lit(m, "lit")
	loose := m.mark("lit") == 0 && !isASCII(text) && !strings.Contains(p.folded(m.from, m.to), "含")
	return ok && p.without([]textFilter{{text: text, loose: loose}})
}

// countLevelJa is for エラー数.
func countLevelJa(p *parser, m *match) bool {
	if !ofLevel(p, m) {
		return false
	}
	p.q.set(count)
	return true
}

func startJa(p *parser, m *match) bool {
	text, ok := p.lit(m, "lit")
	return ok && p.with([]textFilter{{text: text, starts: true}}, false)
}

func endJa(p *parser, m *match) bool {
	text, ok := p.lit(m, "lit")
	return ok && p.with([]textFilter{{text: text, ends: true}}, false)
}

func regexJa(p *parser, m *match) bool {
	return p.with([]textFilter{{text: m.text("lit"), regex: true}}, false)
}

// bothJa is for AとBを含む and AかBを含む.
func bothJa(p *parser, m *match) bool {
	a, ok := p.lit(m, "lit")
	b, ok2 := p.lit(m, "lit2")
	any := m.has("or") || m.has("or2")
	if end, has := m.groups["end"]; has { // ERRORとWARNの行 are lines of both kinds
		m.to = end[0]
		any = any || m.folded("and") != "かつ"
	}
	return ok && ok2 && p.with([]textFilter{{text: a}, {text: b}}, any)
}

// eitherListJa is for INFO、WARN、ERRORの件数.
func eitherListJa(p *parser, m *match) bool {
	var list []textFilter
	for _, text := range strings.FieldsFunc(m.text("list"),
		func(r rune) bool { return strings.ContainsRune("、,と・/ ", r) }) {
		list = append(list, textFilter{text: narrow(text)})
	}
	m.to = m.groups["end"][0]
	return len(list) > 1 && p.with(list, true)
}

// askJa is for Xは含まれていますか.
func askJa(p *parser, m *match) bool {
	if !sayLit(0)(p, m) {
		return false
	}
	p.q.asked = true
	return true
}

// eachLevelJa is for どのエラーが何件.
func eachLevelJa(p *parser, m *match) bool {
	p.q.set(freq)
	return ofLevel(p, m)
}

// withCountsJa is for …とその件数; repeated lines are shown with theirs anyway.
func withCountsJa(p *parser, m *match) bool {
	p.q.gather = p.original(m.from, m.to)
	return true
}

// neitherJa is for AとB以外.
func neitherJa(p *parser, m *match) bool {
	a, ok := p.lit(m, "lit")
	b, ok2 := p.lit(m, "lit2")
	return ok && ok2 && p.without([]textFilter{{text: a}, {text: b}})
}

// endOf makes a rule for one end of what follows, without a number: one, unless
// a number comes elsewhere.
func endOf(f feature) func(*parser, *match) bool {
	return func(p *parser, m *match) bool {
		if p.q.some(head | tail | skip | span) {
			return false
		}
		m.to = m.groups["end"][0]
		p.q.set(f)
		return true
	}
}

// gatherJa is for 集計して, which asks how often each occurs unless something
// else is asked for.
func gatherJa(p *parser, m *match) bool {
	p.q.gather = p.original(m.from, m.to)
	return true
}

// howManyJa counts records where 件 can only mean these.
func howManyJa(p *parser, m *match) bool {
	if said := p.folded(m.from, m.to); (strings.Contains(said, "何個") || strings.Contains(said, "いくつ")) &&
		p.q.ground != nil && p.q.ground.quantity() != "" && !p.q.is(totals) {
		p.q.unclear = p.q.say("", "行数ですか、それとも %[1]s の合計ですか？「何行」か「%[1]sの合計」と書いてください。", p.q.ground.quantity())
	}
	if strings.Contains(p.folded(m.from, m.to), "件") && p.q.about(hasFields) {
		p.q.set(records)
	}
	if p.q.is(totals) { // 最大はいくつ
		return true
	}
	return howMany(p, m)
}

// fileNoun is the word for file; as part of another word it is not.
func fileNoun(p *parser, m *match) bool {
	return script(p.at(m.from-1)) != script(p.at(m.from))
}

// twice is for 2回以上出てくる; other numbers are not understood.
func twice(p *parser, m *match) bool {
	if list := p.numbers(&match{p: p, groups: map[string][2]int{"all": {m.from, m.to}}}, "all"); len(list) > 0 &&
		list[0] != 2 {
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

// japaneseFiller are the words that say nothing by themselves, the longest
// first where one begins another.
const japaneseFiller = `お願い(?:いた|致)?します|おねがいします|お願い|教えて(?:ください|下さい|ほしい|くれ(?:ますか|る)?|もらえますか|いただけますか)?|おしえて|知りたい(?:です)?|知らせて|ください|下さい|くださいませ|` +
	`いくら(?:です|になります)?か?|計算|算出|求めて|起きて|起こって|発生して|出て|だっけ|でしたっけ|っけ|かな|ほしい(?:です)?|欲しい(?:です)?|もらえますか|もらえますでしょうか|もらえる|いただけますか|いただけますでしょうか|頂けますか|くれますか|くれませんか|くれる|くれ|` +
	`できますか|できる|お見せ|みて|見て|しますか|します|して|しろ|せよ|する|した|ですか|でしょうか|でしょう|です|ますか|ました|ます|だけ|のみ|` +
	`ありますか|あります|ある|いますか|います|いる|どうなって|どう|なに|何|どれ|どの|どんな|この|その|これ|それ|ここ|ちょっと|まず|一度|改めて|すみません|こんにちは|ありがとう|` +
	`ファイル|データ|ログ|テキスト|中|内|うち|もの|こと|ところ|箇所|やつ|結果|表|全部で|全体で|合わせて|それぞれ|各|値|列|カラム|項目|フィールド|分|形|形式|` +
	`から|まで|では|には|とは|って|という|の|を|は|が|に|で|と|も|へ|や|か|ね|よ|な|お|た|て|、|。|・|,|\.|\?|!|:|;|…|\(|\)| |「|」`

var japaneseFillers = lazyregexp.New(`^(?:` + japaneseFiller + `)`)

// japaneseRest lists what no rule took and what is not filler.
func japaneseRest(l *requestText) (list []unknownWords) {
	filler := japaneseFillers.Get()
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
		if end := l.latinEnd(i); end > i {
			if !latinFiller(l.folded(i, end)) {
				list = l.addScrap(list, i, end)
			}
			i = end
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

var latinFiller = wordSet("csv json tsv txt log file ok please")

// latinEnd returns where a word in Latin letters ends that begins at i.
func (l *requestText) latinEnd(i int) int {
	end := i
	for end < len(l.cells) && (isWord(l.cells[end].r) || end > i && l.nameGoesOn(end)) {
		end++
	}
	return end
}

// fillerAt returns how many cells of filler begin at i.
func (l *requestText) fillerAt(filler *regexp.Regexp, i int) int {
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
func (l *requestText) insideWord(i, n int) bool {
	last, next := l.cells[i+n-1].r, l.at(i+n)
	return script(last) != 0 && script(last) == script(next) || i > 0 && script(l.cells[i].r) != 0 &&
		script(l.cells[i].r) == script(l.at(i-1))
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
func (l *requestText) unknownEnd(filler *regexp.Regexp, i int) int {
	end := i + 1
	for end < len(l.cells) {
		r := l.cells[end].r
		if isAtom(r) || r == hole || isWord(r) {
			break
		}
		if n := l.fillerAt(filler, end); n > 0 && !l.insideWord(end, n) {
			break
		}
		end++
	}
	return end
}
