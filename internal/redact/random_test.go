package redact

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// randomForms write random data as programs do. Each appends about a megabyte.
var randomForms = []struct {
	name  string
	write func(b *bytes.Buffer, r *rand.Rand)
}{
	{"base64", encoded(base64.StdEncoding, 0)},
	{"base64 of 76 columns", encoded(base64.StdEncoding, 76)},
	{"base64 of 64 columns", encoded(base64.StdEncoding, 64)},
	{"base64url", encoded(base64.URLEncoding, 0)},
	{"base64url of 76 columns", encoded(base64.URLEncoding, 76)},
	{"base64url without padding", encoded(base64.RawURLEncoding, 0)},
	{"base32 of 76 columns", encoded(base32.StdEncoding, 76)},
	{"hex", hexLines},
	{"hash sums", hashSums},
	{"uuids", uuids},
	{"json", jsonStrings},
}

const randomPiece = 1 << 20

func randomBytes(r *rand.Rand, n int) []byte {
	data := make([]byte, n+7)
	for i := 0; i < n; i += 8 {
		v := r.Uint64()
		for k := range 8 {
			if i+k < len(data) {
				data[i+k] = byte(v >> (8 * k))
			}
		}
	}
	return data[:n]
}

type textEncoding interface{ EncodeToString([]byte) string }

// encoded has files of many sizes, one after the other.
func encoded(e textEncoding, columns int) func(*bytes.Buffer, *rand.Rand) {
	return func(b *bytes.Buffer, r *rand.Rand) {
		for stop := b.Len() + randomPiece; b.Len() < stop; {
			text := e.EncodeToString(randomBytes(r, 1+r.IntN(20_000)))
			for columns > 0 && len(text) > columns {
				b.WriteString(text[:columns] + "\n")
				text = text[columns:]
			}
			b.WriteString(text + "\n")
		}
	}
}

func hexLines(b *bytes.Buffer, r *rand.Rand) {
	for stop := b.Len() + randomPiece; b.Len() < stop; {
		text := hex.EncodeToString(randomBytes(r, 1+r.IntN(2000)))
		if r.IntN(2) == 0 {
			text = strings.ToUpper(text)
		}
		b.WriteString(text + "\n")
	}
}

func hashSums(b *bytes.Buffer, r *rand.Rand) {
	for stop := b.Len() + randomPiece; b.Len() < stop; {
		fmt.Fprintf(b, "%x  file-%d.txt\n", randomBytes(r, 32), r.IntN(100))
		fmt.Fprintf(b, "example.com/mod v1.2.%d h1:%s\n", r.IntN(100), base64.StdEncoding.EncodeToString(randomBytes(r, 32)))
		fmt.Fprintf(b, "  integrity sha512-%s\n", base64.StdEncoding.EncodeToString(randomBytes(r, 64)))
		fmt.Fprintf(b, "ssh-ed25519 %s me@host\n", base64.StdEncoding.EncodeToString(randomBytes(r, 51)))
	}
}

func uuids(b *bytes.Buffer, r *rand.Rand) {
	for stop := b.Len() + randomPiece; b.Len() < stop; {
		u := randomBytes(r, 16)
		fmt.Fprintf(b, "%x-%x-%x-%x-%x\n", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
	}
}

// jsonStrings has identifiers of the usual sizes in both alphabets.
func jsonStrings(b *bytes.Buffer, r *rand.Rand) {
	sizes := []int{8, 12, 16, 20, 24, 32, 48, 64}
	for stop := b.Len() + randomPiece; b.Len() < stop; {
		data := randomBytes(r, sizes[r.IntN(len(sizes))])
		fmt.Fprintf(b, `{"id":"%s","digest":"%x","blob":"%s","cursor":"%s","n":%d}`+"\n",
			base64.RawURLEncoding.EncodeToString(data), randomBytes(r, 32),
			base64.StdEncoding.EncodeToString(randomBytes(r, 10+r.IntN(90))),
			base64.URLEncoding.EncodeToString(randomBytes(r, sizes[r.IntN(len(sizes))])), r.Uint64())
	}
}

// TestRandomDataStaysWhole has tens of megabytes of random data. With
// HAKO_TEST_RANDOM_MB=1000 it has that many.
func TestRandomDataStaysWhole(t *testing.T) {
	megabytes := 44 / slower
	if n, err := strconv.Atoi(os.Getenv("HAKO_TEST_RANDOM_MB")); err == nil {
		megabytes = n
	}
	r := rand.New(rand.NewPCG(15, 21))
	var b bytes.Buffer
	for done := 0; done < megabytes; done++ {
		form := randomForms[done%len(randomForms)]
		b.Reset()
		form.write(&b, r)
		w := NewWriter(io.Discard, nil)
		w.Write(b.Bytes())
		w.Close()
		if w.Places() > 0 {
			t.Errorf("%s: %d places were removed: %q", form.name, w.Places(), Find(b.String()))
		}
	}
}

// TestTokensAtTheEdgeOfAWord has tokens that are found where a word begins, and
// the same letters in the middle of one, which are something else.
func TestTokensAtTheEdgeOfAWord(t *testing.T) {
	for _, token := range []string{
		"AIza01234567890123456789", "AIzaSyA1234567890abcdefghijklmnopqrstuv", "AKIAIOSFODNN7EXAMPLE",
		"ghp_0123456789abcdefghijABCDEFGHIJ012345", "sk-abcdefghijklmnop1234",
		"sk-proj-aB3" + strings.Repeat("xY_z", 10), "sk-ant-api03-" + strings.Repeat("xY-z", 20) + "AA",
		"sk-" + strings.Repeat("aB3d", 12), "xoxb-123456789012-123456789012-aBcDeFgHiJkLmNoPqRsTuVwX",
		"glpat-aBcDeFgHiJ_kLmNoPqRs", "npm_" + strings.Repeat("aB3d", 9), "hf_" + strings.Repeat("aB", 17),
		"hako_yK-v4w-0UA6MiGuC6egRo3aZ72ZyjocwYh4rkAqUSQ0", "gsk_" + strings.Repeat("aB3d", 13),
		"xai-" + strings.Repeat("aB3d", 20), "pypi-AgEIcHlwaS5vcmc" + strings.Repeat("aB3d", 20),
		"glc_eyJ" + strings.Repeat("aB3d", 20), "glrt-aBcDeFgHiJ_kLmNoPqRs", "r8_" + strings.Repeat("aB3d", 9) + "Z",
	} {
		for _, around := range [][2]string{{"", ""}, {" ", " "}, {"key=", "&x"}, {`"`, `"`}, {"a: ", "\n"}, {"<", ">"},
			{"(", ")."}, {"日", "本"}, {"/", "/x"}, {`\n`, `\n`}, {"_", " "}, {"`", "`"}} {
			text := around[0] + token + around[1]
			got, places := new(Set).Count(text)
			if strings.Contains(got, token) && (around[0] != "/" || token != "AIza01234567890123456789") ||
				strings.Contains(got, Mark) != (places == 1) {
				t.Errorf("%q became %q, %d places", text, got, places)
			}
		}
		for _, text := range []string{"zzzz" + token, "Zx9" + token + "Yy", "ab-cd_" + token} {
			if got := Text(text); got != text && !strings.HasPrefix(token, "AKIA") && len(token) != googleKey {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
}

// TestNamesAreNoTokens has names that begin as some tokens do.
func TestNamesAreNoTokens(t *testing.T) {
	for _, text := range []string{
		"npm_config_globalignorefile=x", "npm_package_dependencies_typescript", "hf_hub_download_with_progress_bar",
		".sk-toggleable__content-arrow {", "sk-container-id-1", "ops_" + strings.Repeat("a_b", 30),
		"zzzzAIza01234567890123456789", "r8_configuration_of_the_shrinker_for_tests",
		`{"data":"aGVsbG8gd29ybGQ5OTk5OWFhpassword=","next":"value"}`, `["QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0/pWd==", "x"]`,
	} {
		if got := Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, text := range []string{`MY_VERY_LONG_NAME_OF_A_DATABASE_PASSWORD="hunter22"`,
		"theVeryLongNameOfADatabase2Password=hunter22", `{"theVeryLongNameOfADatabase2Password":"hunter22"}`} {
		if got := Text(text); strings.Contains(got, "hunter22") {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestCount has the number of marks that were put into a text, by both ways.
func TestCount(t *testing.T) {
	var set Set
	set.Add("correct horse", "hunter22")
	for text, want := range map[string]int{
		"": 0, "nothing": 0, "[redacted] before": 0, someToken: 1, "a " + someToken + " b " + someToken: 2,
		"correct horse, correct horse": 2,
		"password=hunter22":            1, "password='a hunter22 b hunter22 c'": 1, "Bearer abc123def456ghi789 hunter22\n" +
			somePEM: 3,
		"Cookie: a=hunter22; b=xyzxyz": 2,
	} {
		clean, got := set.Count(text)
		if got != want || strings.Count(clean, Mark)-strings.Count(text, Mark) != want {
			t.Errorf("%q: %d places, not %d: %q", text, got, want, clean)
		}
		for _, size := range []int{1, 1000} {
			w := NewWriter(io.Discard, &set)
			for rest := text; rest != ""; rest = rest[min(len(rest), size):] {
				io.WriteString(w, rest[:min(len(rest), size)])
			}
			if w.Close(); w.Places() != want {
				t.Errorf("%q written by %d: %d places, not %d", text, size, w.Places(), want)
			}
		}
	}
}
