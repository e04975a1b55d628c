package command

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/quota"
	"hako/run"
	"hako/shell"
	"hako/shell/command/internal/commandtest"
	"hako/shell/vfs"
)

// hostile runs a script that must end by itself, in time, within memory, and
// with an error that has one of the given words.
func hostile(t *testing.T, script string, files map[string][]byte, words ...string) {
	t.Helper()
	limits := quota.Lenient()
	limits.Time, limits.Files = 2*time.Second, 2000
	limiter := quota.NewLimiter(limits)
	fs := vfs.New(vfs.Options{Limiter: limiter})
	for name, data := range files {
		if err := fs.WriteFile("/box/"+name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ses := shell.New(shell.Options{FS: fs, Commands: All(), Limiter: limiter, Dir: "/box"})
	runtime.GC()
	var out strings.Builder
	begin := time.Now()
	_, err := ses.Run(context.Background(), &run.Request{Script: script, Stdout: io.Discard, Stderr: &out})
	if err != nil {
		out.WriteString(err.Error())
	}
	if took := time.Since(begin); took > testload.Bound(5*time.Second) {
		t.Errorf("%s took %v", script, took)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 500<<20 {
		t.Errorf("%s: heap %d MB", script, m.HeapAlloc>>20)
	}
	for _, w := range words {
		if strings.Contains(out.String(), w) {
			return
		}
	}
	t.Errorf("%s\nsaid %.300q\nwant one of %q", script, out.String(), words)
}

func TestJqEndsByItself(t *testing.T) {
	for _, program := range []string{
		`reduce range(100) as $i ("a"; . + .)`,
		`"a" * 1e10`,
		`[range(1e9)]`,
		`[limit(1e9; repeat("x"))]`,
		`def f: 1 + f; f`,
		`def f: f; f`,
		`[repeat(1)]`,
		`null | .[500000000] = 1`,
		`reduce range(60) as $i (0; [., .]) | tojson`,
		`reduce range(60) as $i (0; [., .]) | flatten`,
		`reduce range(60) as $i ({}; {a: ., b: .}) | . * .`,
		`[range(1000) | ("x" * 1000000)]`,
		`"a" * 100000000 | explode`,
		`"a" * 50000000 | [match(""; "g")]`,
		`try [range(1e9)] catch "caught"`,
		`reduce range(20000) as $i (0; [.]) | flatten`,
	} {
		t.Run(program, func(t *testing.T) {
			hostile(t, "jq -n '"+program+"'", nil, "limit memory=", "limit depth=", "limit time=")
		})
	}
}

func TestJqEndlessLoops(t *testing.T) {
	if testing.Short() {
		t.Skip("long: each takes its two seconds")
	}
	for _, program := range []string{
		`last(repeat(1))`,
		`reduce range(60) as $i (0; [., .]) | . == (reduce range(60) as $i (0; [., .]))`,
		`first(range(1e12) | select(. < 0))`,
		`"a" * 100000 | [scan("a*?b|a")]`,
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			hostile(t, "jq -n '"+program+"'", nil, "limit time=")
		})
	}
}

func TestDeepInput(t *testing.T) {
	deep := []byte(strings.Repeat("[", 100_000))
	hostile(t, "jq . deep", map[string][]byte{"deep": deep}, "depth limit")
	hostile(t, "yq . deep", map[string][]byte{"deep": deep}, "depth")
	hostile(t, "jq -n '"+strings.Repeat("(", 50_000)+"1"+strings.Repeat(")", 50_000)+"'", nil, "nested too deeply",
		"syntax error")
}

func TestYamlBomb(t *testing.T) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 19 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10),
			","))
	}
	hostile(t, "yq . bomb", map[string][]byte{"bomb": []byte(bomb)}, "limit memory=", "limit time=")
}

func TestGzipBomb(t *testing.T) {
	var member bytes.Buffer
	w, _ := gzip.NewWriterLevel(&member, 9)
	w.Write(make([]byte, 50<<20))
	w.Close()
	bomb := bytes.Repeat(member.Bytes(), 30)
	files := map[string][]byte{"bomb.gz": bomb}
	hostile(t, "gunzip bomb.gz", files, "file_size", "memory", "limit time=")
	hostile(t, "gzip -dc bomb.gz", files, "limit output=", "limit time=")
	hostile(t, "zcat bomb.gz | sort", files, "limit memory=", "limit time=")
}

func TestTarBomb(t *testing.T) {
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	w := tar.NewWriter(zw)
	for i := range 20_000 {
		w.WriteHeader(&tar.Header{Name: fmt.Sprintf("f%d/%d", i%26, i), Mode: 0o644})
	}
	w.Close()
	zw.Close()
	hostile(t, "tar xzf many.tgz", map[string][]byte{"many.tgz": packed.Bytes()}, "limit files=")
}

// TestTarStaysInside unpacks names that try to leave, and a link to write through.
func TestTarStaysInside(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range []string{"../up", "/abs", "a/../../b", "ok"} {
		w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: 2})
		w.Write([]byte("hi"))
	}
	w.WriteHeader(&tar.Header{Name: "ln", Typeflag: tar.TypeSymlink, Linkname: "../.."})
	w.WriteHeader(&tar.Header{Name: "ln/pwn", Mode: 0o644, Size: 2})
	w.Write([]byte("hi"))
	w.Close()
	fs := commandtest.Plant(t, []commandtest.File{{Name: "in/evil.tar", Data: b.Bytes()}})
	got := commandtest.Run(t, All(), fs,
		"cd in; mkdir x; cd x; tar xf ../evil.tar 2>/dev/null; cd /; find /box /tmp -type f -o -type l | sort; ls /")
	for _, bad := range []string{"/box/up", "/box/in/up", "/box/b", "/box/in/b", "/tmp/pwn", "/box/pwn", "\nabs"} {
		if strings.Contains(got+"\n", bad+"\n") {
			t.Errorf("%s was written:\n%s", bad, got)
		}
	}
	if !strings.Contains(got, "/box/in/x/ok") {
		t.Errorf("ok is missing:\n%s", got)
	}
}

func TestZipLies(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, _ := w.CreateHeader(&zip.FileHeader{Name: "../../evil", Method: zip.Deflate})
	f.Write(bytes.Repeat([]byte("x"), 100_000))
	w.Close()
	lying := bytes.Clone(b.Bytes())
	end := bytes.LastIndex(lying, []byte("PK\x05\x06"))
	binary.LittleEndian.PutUint16(lying[end+8:], 0xfffe)
	binary.LittleEndian.PutUint16(lying[end+10:], 0xfffe)
	central := bytes.Index(lying, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(lying[central+24:], 5) // a false size
	fs := commandtest.Plant(t, []commandtest.File{{Name: "a.zip", Data: b.Bytes()}, {Name: "lie.zip", Data: lying}})
	got := commandtest.Run(t, All(), fs,
		"unzip a.zip; find /box -type f | sort; unzip -t lie.zip; unzip -p lie.zip | wc -c")
	if strings.Contains(got, "panic") || !strings.Contains(got, "/box/evil") {
		t.Error(got)
	}
}

// TestXzDictionary claims a dictionary of 4 GB.
func TestXzDictionary(t *testing.T) {
	head := []byte{0xfd, '7', 'z', 'X', 'Z', 0, 0, 4}
	head = binary.LittleEndian.AppendUint32(head, crc32.ChecksumIEEE(head[6:8]))
	block := []byte{2, 0, 0x21, 1, 40, 0, 0, 0}
	block = binary.LittleEndian.AppendUint32(block, crc32.ChecksumIEEE(block))
	data := append(append(head, block...), 1, 0, 0, 'x', 0)
	hostile(t, "xz -dc x.xz", map[string][]byte{"x.xz": data}, "limit memory=")
}

// TestBrokenArchives feeds damaged files to everything that unpacks.
func TestBrokenArchives(t *testing.T) {
	text := strings.Repeat("the quick brown fox 日本 ", 400)
	fs := commandtest.Plant(t, []commandtest.File{{Name: "f", Data: []byte(text)}})
	commandtest.Run(t, All(), fs, "gzip -k f; bzip2 -k f; xz -k f; tar cf f.tar f; zip -q f.zip f")
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ file, script string }{
		{"f.gz", "gzip -dc x"}, {"f.bz2", "bzip2 -dc x"}, {"f.xz", "xz -dc x"}, {"f.tar", "tar tvf x; tar xOf x"},
		{"f.zip", "unzip -l x; unzip -p x"},
	} {
		good, err := fs.ReadFile("/box/" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		for range 60 {
			bad := bytes.Clone(good)
			for range 1 + rng.IntN(4) {
				bad[rng.IntN(len(bad))] ^= byte(1 << rng.IntN(8))
			}
			bad = bad[:len(bad)-rng.IntN(3)*rng.IntN(len(bad))/3]
			commandtest.Run(t, All(), commandtest.Plant(t, []commandtest.File{{Name: "x", Data: bad}}), c.script)
		}
	}
}

// TestBzip2Blocks packs data of several blocks and shapes; the real tool, if
// it is there, and ours must both read it.
func TestBzip2Blocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	noise := make([]byte, 250_000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	shapes := map[string][]byte{
		"noise": noise, "zeros": make([]byte, 700_000), "text": bytes.Repeat([]byte("日本語 text, again and again\n"), 9000),
		"runs": bytes.Repeat([]byte("aaaabbbbbccccccd"), 20_000), "ab": bytes.Repeat([]byte("ab"), 60_000), "one": {7},
		"none":   {},
		"run255": bytes.Repeat([]byte{'x'}, 255), "run256": bytes.Repeat([]byte{'x'}, 256), "run4": []byte("xxxx"),
	}
	for name, data := range shapes {
		fs := commandtest.Plant(t, []commandtest.File{{Name: "f", Data: data}})
		if got := commandtest.Run(t, All(), fs, "bzip2 -1k f && bzip2 -dc f.bz2 | cmp - f"); got != "" {
			t.Errorf("%s: %s", name, got)
		}
		packed, err := fs.ReadFile("/box/f.bz2")
		if err != nil {
			t.Fatal(err)
		}
		if tool, err := exec.LookPath("bzip2"); err == nil {
			cmd := exec.Command(tool, "-dc")
			cmd.Stdin = bytes.NewReader(packed)
			if plain, err := cmd.Output(); err != nil || !bytes.Equal(plain, data) {
				t.Errorf("%s: the real bzip2 does not read it: %v", name, err)
			}
		}
	}
}

// TestFailedUnpackKeepsTheFile is about a file that is not what its name says.
func TestFailedUnpackKeepsTheFile(t *testing.T) {
	for _, c := range []string{"gunzip x.gz", "bunzip2 x.bz2", "bzip2 -d x", "unxz x.xz"} {
		name := c[strings.LastIndexByte(c, ' ')+1:]
		fs := commandtest.Plant(t, []commandtest.File{{Name: name, Data: []byte("not packed at all\n")}})
		if got := commandtest.Run(t, All(), fs, c+" 2>/dev/null; ls; cat "+name); !strings.Contains(got,
			"not packed at all") || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %s", c, got)
		}
	}
}
