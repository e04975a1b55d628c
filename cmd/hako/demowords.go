package main

import (
	"cmp"
	"os"
	"strings"

	"hako/run/fault"
)

// A phrase is a text in the languages of the demo.
type phrase struct{ en, ja string }

func (p phrase) in(language string) string {
	if language == "ja" {
		return p.ja
	}
	return p.en
}

// demoLanguage returns the language that was asked for, or that of the locale.
func demoLanguage(asked string) (string, error) {
	switch asked {
	case "en", "ja":
		return asked, nil
	case "":
		locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_MESSAGES"), os.Getenv("LANG"))
		if strings.HasPrefix(locale, "ja") {
			return "ja", nil
		}
		return "en", nil
	}
	return "", &fault.Error{Kind: fault.Invalid, Op: "demo", Subject: "--lang " + asked, Why: "it is not spoken here",
		Hint: "en and ja are"}
}

var (
	demoWelcome = phrase{
		`hako lets a language model run commands without letting it loose. Everything you see
happens for real, in a temporary directory; no key and no network are needed.`,
		`hako は、言語モデルにコマンドを実行させつつ、勝手なことはさせないための道具です。
以下はすべて一時ディレクトリの中で実際に動いています。キーもネットワークも不要です。`}
	demoPrompt = phrase{"   — Enter goes on, q ends —", "   — Enter で次へ、q で終了 —"}
	demoEnd    = phrase{
		`That was all. To go on:
  hako run --file app.log "…"   your own file and question
  hako doctor                   what is set up here, and what is missing
  hako --help                   everything else`,
		`以上です。続けるには:
  hako run --file app.log "…"   自分のファイルについて質問する
  hako doctor                   何が使えて、何が足りないかを調べる
  hako --help                   そのほかのコマンド`}
)

// A step is one step of the demo.
type step struct {
	title, text phrase
	run         func(*demo) error
}

var steps = []step{
	{phrase{"A model reads a log", "モデルがログを読む"}, phrase{
		"The built-in model answers by running read-only commands over the one file it was given.",
		"組み込みのモデルが、渡された 1 個のファイルに読み取り専用のコマンドを実行して答えます。"},
		(*demo).questions},
	{phrase{"A model that wants out", "外へ出ようとするモデル"}, phrase{
		"This one tries to read another file and to delete everything. It is refused and told why; no try is made twice.",
		"別のファイルを読もうとし、すべてを消そうともします。拒否され、理由を知らされます。同じことは二度試されません。"},
		(*demo).escape},
	{phrase{"A closed shell", "閉じたシェル"}, phrase{
		"A whole script, interpreted inside hako: it starts no programs, and what was not granted is not there.",
		"スクリプトは hako の中で解釈されます。プログラムは一つも起動されず、許可されていないものは存在しません。"},
		(*demo).closedShell},
	{phrase{"Refused, and why", "拒否とその理由"}, phrase{
		"For real programs each command is judged, also the one hidden inside another. Every verdict names its rule.",
		"実際のプログラムでは、ほかのコマンドに隠れたものも含め、一つずつ判定されます。判定には必ず規則が示されます。"},
		(*demo).verdicts},
	{phrase{"The budget", "予算"}, phrase{
		"A model that would go on for ever is stopped, and so is a script that would eat all memory.",
		"際限なく続けるモデルも、メモリを食い尽くすスクリプトも止められます。"},
		(*demo).budget},
	{phrase{"A real program in a sandbox", "サンドボックスの中の本物のプログラム"}, phrase{
		"make is allowed, but this Makefile tries to get out. The kernel says no; and what it leaves running is ended.",
		"make は許可されていますが、この Makefile は外へ出ようとします。カーネルが拒否し、残ったプロセスも終了させます。"},
		(*demo).programs},
	{phrase{"A container for one task", "タスクごとのコンテナ"}, phrase{
		"Another user, no network, nothing of this machine; gone when the task is done. Needs Docker.",
		"別のユーザー、ネットワークなし、この機械のものは何も見えません。タスクが終われば消えます。Docker が必要です。"},
		(*demo).container},
	{phrase{"All of it is on record", "すべて記録されている"}, phrase{
		"Each line of the record holds the hash of the one before. Here is what was refused; then somebody changes one word.",
		"記録の各行は前の行のハッシュを持ちます。まず拒否されたもの、次に誰かが一語だけ書き換えた場合です。"},
		(*demo).record},
}
