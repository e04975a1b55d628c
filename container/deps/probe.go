package deps

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"time"

	"hako/container/guest"
	"hako/container/lang"
	"hako/run/fault"
)

// Scripts that run in the container besides the commands of the steps. Names are positional parameters, never part of
// a script. PATH is that of the image: programs that a package installed are not used.
const (
	imagePath = `PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; `

	// ours tests whether a name is a file in the project: a link to elsewhere in the container is not.
	ours = `root=$(pwd -P); ours() { [ -f "$1" ] && case $(readlink -f "./$1") in "$root"/*) ;; *) false ;; esac; }; `

	lookScript = `cd project 2>/dev/null || exit 0
while [ "$1" != -- ]; do command -v "$1" >/dev/null && echo "p $1"; shift; done; shift
` + imagePath + ours + `
for f; do ours "$f" && echo "f $f"; done; exit 0`

	keyScript = imagePath + `cd project || exit 1; ` + ours + `IFS=
n=$#; for pattern; do for f in $pattern; do if ours "$f"; then set -- "$@" "./$f"; fi; done; done; shift "$n"
[ $# -gt 0 ] || exit 0
exec tar -c -h -f - "$@"`

	keepScript = imagePath + `IFS=
n=$#; for pattern; do for k in $pattern; do if [ -d "$k" ] && ! [ -L "$k" ]; then set -- "$@" "./$k"; fi; done; done; shift "$n"
[ $# -gt 0 ] || exit 3
exec tar -c -f - "$@"`

	// It unpacks aside and moves directories into place when they are complete, because package managers take an
	// incomplete one for complete. Unexpected entries are ignored.
	restoreScript = imagePath + aside + `rm -rf "$aside"; mkdir -p "$aside" && tar -x -p -C "$aside" -f - || exit 1
IFS=; for pattern; do for a in $aside/$pattern; do
	if ! [ -d "$a" ] || [ -L "$a" ]; then continue; fi
	k=${a#"$aside/"}; mkdir -p "${k%/*}" || exit 1
	if [ -e "$k" ] || [ -L "$k" ]; then cp -a "$a/." "$k/"; else mv "$a" "$k"; fi || exit 1
done; done
rm -rf "$aside"`

	tidyScript = imagePath + aside + `rm -rf "$aside"`
	aside      = `aside=tmp/.hako-restore; `
)

const exitNothingToKeep = 3 // of keepScript

const probeTimeout = time.Minute

// run runs one of the scripts in the workspace.
func (j *job) run(ctx context.Context, limit time.Duration, script string, args []string, in io.Reader, out io.Writer) (
	guest.Result, *lines, error) {
	output := &lines{}
	res, err := j.guest.Exec(ctx, guest.Command{Script: script, Args: args, Dir: j.options.Workspace, Env: j.options.Env,
		Timeout: limit, Stdin: in, Stdout: out, Stderr: output})
	return res, output, err
}

type names map[string]bool

func (n names) all(list []string) bool { return n.lacks(list) == "" }

func (n names) lacks(list []string) string {
	if i := slices.IndexFunc(list, func(s string) bool { return !n[s] }); i >= 0 {
		return list[i]
	}
	return ""
}

// A probeResult lists what exists in a container.
type probeResult struct {
	files, programs names
	wrong           string // why it failed
}

// probe finds out which of the relevant files and programs exist.
func (j *job) probe(ctx context.Context, steps []lang.Step) (probeResult, error) {
	found := probeResult{files: names{}, programs: names{}}
	var programs, files []string
	for _, s := range steps {
		programs, files = append(programs, s.Needs...), append(files, s.When...)
	}
	if len(files) == 0 {
		return found, nil
	}
	args := append(append(unique(programs), "--"), unique(files)...)
	var out bytes.Buffer
	res, output, err := j.run(ctx, probeTimeout, lookScript, args, nil, &limited{to: &out, left: 1 << 20})
	switch {
	case errors.Is(err, errTooMuch):
		found.wrong = "the container sent too much output"
	case fault.KindOf(err) == fault.Exhausted && ctx.Err() == nil:
		found.wrong = err.Error()
	case err != nil:
		return found, err
	case res.TimedOut:
		found.wrong = ending("it took longer than "+probeTimeout.String(), output)
	case res.Exit != 0:
		found.wrong = ending(fmt.Sprintf("it ended with status %d", res.Exit), output)
	}
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if name, is := strings.CutPrefix(line, "f "); is {
			found.files[name] = true
		} else if name, is := strings.CutPrefix(line, "p "); is {
			found.programs[name] = true
		}
	}
	return found, nil
}

func unique(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}

// A key names a kept result.
type key struct {
	name string
	none string // why nothing is kept
}

// maxKey limits the size of the files of a key.
const maxKey = 10 << 20

// key computes the name of a step's result from its files, command and salt.
func (j *job) key(ctx context.Context, language string, s lang.Step) (key, error) {
	switch {
	case j.store.Dir == "":
		return key{none: "there is no place for it"}, nil
	case len(s.Keep) == 0:
		return key{none: "there is nothing to keep"}, nil
	}
	var text bytes.Buffer
	res, _, err := j.run(ctx, probeTimeout, keyScript, s.Key, nil, &limited{to: &text, left: maxKey})
	switch {
	case errors.Is(err, errTooMuch):
		return key{none: fmt.Sprintf("the files that decide about it are larger than %d MB", maxKey>>20)}, nil
	case fault.KindOf(err) == fault.Exhausted && ctx.Err() == nil:
		return key{none: err.Error()}, nil
	case err != nil:
		return key{}, err
	case res.Exit != 0:
		return key{none: "the files that decide about it cannot be read"}, nil
	}
	h := sha256.New()
	for _, words := range [][]string{{"hako dependencies 1", j.options.Salt, language, s.Name, s.Command}, s.Keep} {
		addWords(h, words)
	}
	if err := addFiles(h, &text); err != nil {
		return key{none: "the files that decide about it cannot be read"}, nil
	}
	return key{name: hex.EncodeToString(h.Sum(nil))}, nil
}

// addWords hashes a list so that no two lists collide.
func addWords(h hash.Hash, words []string) {
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(words))))
	for _, w := range words {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(w))))
		io.WriteString(h, w)
	}
}

// addFiles hashes the names and contents of files, independent of order, time and mode.
func addFiles(h hash.Hash, archive io.Reader) error {
	sums := map[string]string{}
	for r := tar.NewReader(archive); ; {
		header, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, r); err != nil {
			return err
		}
		switch _, twice := sums[header.Name]; {
		case twice: // it may be a link to itself
		case header.Typeflag == tar.TypeLink:
			sums[header.Name] = sums[header.Linkname]
		default:
			sums[header.Name] = string(sum.Sum(nil))
		}
	}
	var words []string
	for name, sum := range sums {
		words = append(words, name+"\x00"+sum)
	}
	slices.Sort(words)
	addWords(h, words)
	return nil
}

// errTooMuch stops a command that prints more than allowed.
var errTooMuch = errors.New("too much output")

type limited struct {
	to   io.Writer
	left int64
}

func (l *limited) Write(p []byte) (int, error) {
	if int64(len(p)) > l.left {
		return 0, errTooMuch
	}
	l.left -= int64(len(p))
	return l.to.Write(p)
}
