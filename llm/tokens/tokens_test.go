package tokens

import (
	"strings"
	"testing"

	"hako/llm"
)

// known has counts that others published for o200k: the sentences about itself
// with which OpenAI introduced it, and the examples of its cookbook. The emoji
// and the code are what this package said when it agreed on all of those.
var known = map[string]int{
	"":              0,
	"hello world":   2,
	"hello  world":  3,
	"hello   world": 3,
	"Hello, my name is GPT-4o. I'm a new type of language model, it's nice to meet you!": 24,
	"こんにちは、私の名前はGPT-4oです。私は新しいタイプの言語モデルです。初めまして!":                                        26,
	"你好，我的名字是GPT-4o。我是一种新型的语言模型，很高兴见到你!":                                                 24,
	"안녕하세요, 제 이름은 GPT-4o입니다. 저는 새로운 유형의 언어 모델입니다, 만나서 반갑습니다!":                            27,
	"Привет, меня зовут GPT-4o. Я — новая языковая модель, приятно познакомиться!":       23,
	"We know what we are, but know not what we may be.":                                  14,
	"antidisestablishmentarianism":              6,
	"2 + 2 = 4":                                 7,
	"お誕生日おめでとう":                                 8,
	"🎉":                                         2,
	"👩‍👩‍👧‍👦":                                   11,
	"func main() {\n\tfmt.Println(\"hi\")\n}\n": 10,
	"<|endoftext|>":                             7, // a text, not what it is called after
}

func TestCount(t *testing.T) {
	for text, want := range known {
		if got, err := Count(text); err != nil || got != want {
			t.Errorf("%q: %d tokens, want %d, %v", text, got, want, err)
		}
	}
}

// long texts of every kind: what is cut must count as much as what is not.
func TestLongTexts(t *testing.T) {
	for _, text := range []string{
		"It's what they've said: don't, DON'T, 'til 12,345 o'clock…\n\n  \tElsewhere; and so on. ",
		"これは長い文章です。改行も\nありますし、ＡＢＣや123も、カタカナーも混ざっています！　全角の空白も。",
		"if err := f(x[i+1], \"it's\"); err != nil {\r\n\treturn fmt.Errorf(\"%w\", err) // naïve café\n}\n",
		"नमस्ते, मेरा नाम है। ",
		"2025-08-07,12345678,0.25;½²\n",
		"👩‍👩‍👧‍👦 🎉🎉 a\u0301b ",
	} {
		text = strings.Repeat(text, 1+6000/len(text))
		for shift := range 3 {
			part := text[shift:]
			want, _ := o200k().Count(part)
			if got, err := Count(part); err != nil || got != want {
				t.Errorf("%.20q…: %d tokens, want %d, %v", part, got, want, err)
			}
		}
	}
}

// A word without an end must not take forever: the tokenizer takes n² steps for
// n bytes, so it never gets many.
func TestEndlessWords(t *testing.T) {
	for _, text := range []string{"ab", "日本", "-=", " ", "\n", "\xff", "🎉", "a\u0301", "7"} {
		text = strings.Repeat(text, 8_000/len(text))
		if n, err := Count(text); err != nil || n < 8 {
			t.Errorf("%.8q…: %d tokens, %v", text, n, err)
		}
		for rest := text; rest != ""; {
			at, _ := cut(rest, window)
			if at > window || at < window-4 && at < len(rest) {
				t.Fatalf("%.8q…: a part of %d bytes", text, at)
			}
			rest = rest[at:]
		}
	}
}

func TestNotUTF8(t *testing.T) {
	want, _ := Count("a\ufffd\ufffdb")
	if got, err := Count("a\xff\xfeb"); err != nil || got != want {
		t.Errorf("%d tokens, want %d, %v", got, want, err)
	}
}

func TestRequest(t *testing.T) {
	d := &llm.Dialog{System: "hello world", Items: []llm.Item{{Text: "not counted"}}}
	if got, err := Request(d); err != nil || got != 2 {
		t.Errorf("%d, %v", got, err)
	}
	d.Tools = []llm.Tool{{Name: "hello", Text: "hello world", Schema: []byte(`{"type": "object"}`)}, {Name: "world"}}
	schema, _ := Count(`{"type":"object"}`)
	if got, err := Request(d); err != nil || got != 2+1+2+schema+1 {
		t.Errorf("%d, %v", got, err)
	}
	d.Tools[0].Schema = []byte("{")
	if _, err := Request(d); err == nil || !strings.HasPrefix(err.Error(), "count tokens of hello: its schema is not JSON: ") {
		t.Errorf("a schema that is none: %v", err)
	}
}

// FuzzCut: a cut at the end of a word changes no count.
func FuzzCut(f *testing.F) {
	f.Add("It's what they've said", 7)
	f.Add("日本語、日本\n\n  語", 9)
	f.Add("a\u0301 \xff'S  x", 3)
	f.Fuzz(func(t *testing.T, text string, most int) {
		if most < 1 || len(text) > 300 {
			return
		}
		at, exact := cut(text, most)
		if at > len(text) || at > most || at == 0 && text != "" {
			t.Fatalf("%q is cut at %d", text, at)
		}
		whole, _ := o200k().Count(text)
		one, _ := o200k().Count(text[:at])
		two, _ := o200k().Count(text[at:])
		if exact && one+two != whole {
			t.Errorf("%q | %q: %d + %d tokens, together %d", text[:at], text[at:], one, two, whole)
		}
	})
}

func BenchmarkCount(b *testing.B) {
	text := strings.Repeat("It's what they've said: これは長い文章です。\n", 100)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Count(text)
	}
}
