package tokens

import (
	"os"
	"strings"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/llm"
)

// known has counts of o200k: the sentences about itself with which OpenAI introduced it, and the examples of its
// cookbook.
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
	"antidisestablishmentarianism": 6,
	"2 + 2 = 4":                    7,
	"お誕生日おめでとう":                    8,
	"🎉":                            2,
	"func main() {\n\tfmt.Println(\"hi\")\n}\n": 10,
}

// TestKnown: of short texts an estimate may be off by a third and two tokens.
func TestKnown(t *testing.T) {
	for text, want := range known {
		if got := Count(text); got < want*2/3-2 || got > want*4/3+2 {
			t.Errorf("%q: %d tokens, o200k makes %d", text, got, want)
		}
	}
}

// TestSamples: of texts of some kilobytes it may be off by 8 %. The counts are those of the o200k tokenizer.
func TestSamples(t *testing.T) {
	for name, want := range map[string]int{"english": 1605, "code": 1606, "japanese": 2104, "mixed": 1028} {
		text, err := os.ReadFile("testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		got := Count(string(text))
		if off := 100 * float64(got-want) / float64(want); off < -8 || off > 8 {
			t.Errorf("%s: %d tokens, o200k makes %d: %+.1f %%", name, got, want, off)
		}
	}
}

// TestLinear: a word without an end takes no longer than any other text.
func TestLinear(t *testing.T) {
	for _, text := range []string{"ab", "日本", "-=", "-", " ", "\n", "\xff", "🎉", "a\u0301", "7", "\x7f", "\x00", "aB"} {
		text = strings.Repeat(text, (1<<20)/len(text))
		began := time.Now()
		n := Count(text)
		if d := time.Since(began); n < 1 || d > testload.Bound(20*time.Second) {
			t.Errorf("%.8q…: %d tokens in %v", text, n, d)
		}
	}
}

func TestRequest(t *testing.T) {
	d := &llm.Dialog{System: "hello world", Items: []llm.Item{{Text: "not counted"}}}
	if got, err := Request(d); err != nil || got != 2 {
		t.Errorf("%d, %v", got, err)
	}
	d.Tools = []llm.Tool{{Name: "hello", Text: "hello world", Schema: []byte(`{"type": "object"}`)}, {Name: "world"}}
	if got, err := Request(d); err != nil || got != 2+1+2+Count(`{"type":"object"}`)+1 {
		t.Errorf("%d, %v", got, err)
	}
	d.Tools[0].Schema = []byte("{")
	if _, err := Request(d); err == nil ||
		!strings.HasPrefix(err.Error(), "count tokens of hello: its schema is not JSON: ") {
		t.Errorf("a schema that is none: %v", err)
	}
}

// FuzzCount: every text has a count, and a longer text none that is much smaller.
func FuzzCount(f *testing.F) {
	f.Add("It's what they've said")
	f.Add("日本語、日本\n\n  語")
	f.Add("a\u0301 \xff'S  x\x00")
	f.Fuzz(func(t *testing.T, text string) {
		if n := Count(text); n < 0 || n > 4*len(text)+1 {
			t.Errorf("%q: %d tokens", text, n)
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
