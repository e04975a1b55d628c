package container

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hako/internal/lazyregexp"
	"hako/run/fault"
)

// checkedContext returns a build context whose Dockerfile was checked and written again from what was understood, so
// that the engine cannot read it differently. Nil means that there is no Dockerfile.
func (d *Manager) checkedContext(files []byte) ([]byte, error) {
	var out bytes.Buffer
	w, r := tar.NewWriter(&out), tar.NewReader(bytes.NewReader(files))
	var text []byte
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch name := path.Clean(h.Name); {
		case h.Typeflag == tar.TypeXGlobalHeader:
		case strings.EqualFold(name, "Dockerfile"): // an engine falls back to other spellings
			if name == "Dockerfile" && h.Typeflag == tar.TypeReg {
				text, err = io.ReadAll(r)
			}
		default:
			err = copyEntry(w, h, r)
		}
		if err != nil {
			return nil, err
		}
	}
	if text == nil {
		return nil, nil
	}
	anew, err := rewrite(string(text), d.allowedBases(), labelProject+"="+d.id)
	if err == nil {
		err = errors.Join(addFile(w, "Dockerfile", []byte(anew)), w.Close())
	}
	return out.Bytes(), err
}

func copyEntry(w *tar.Writer, h *tar.Header, r io.Reader) error {
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(w, r)
	return err
}

// allowedBases lists the base images that a repository may use: those of the environments. Any other image of the
// engine may belong to another project.
func (d *Manager) allowedBases() (list []string) {
	for _, l := range d.EnvironmentList() {
		list = append(list, tagged(l.Image))
	}
	return list
}

// tagged adds the implied tag to an image name.
func tagged(image string) string {
	if strings.Contains(path.Base(image), ":") || strings.Contains(image, "@") {
		return image
	}
	return image + ":latest"
}

// rewrite parses a Dockerfile and writes one instruction a line, with a label in each stage. It refuses what would
// reach beyond the build.
func rewrite(text string, bases []string, label string) (string, error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	if !utf8.ValidString(text) ||
		strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		return "", refuseFile(0, "it is not plain text", "write it in UTF-8")
	}
	c := dockerfileWriter{bases: bases, label: label}
	var joined strings.Builder
	lines := strings.Split(text+"\n", "\n")
	for i, line := range lines {
		plain := strings.Trim(line, " \t")
		last := i == len(lines)-1
		if (plain == "" || plain[0] == '#') && !last {
			continue
		}
		if joined.Len() == 0 {
			line = plain
		}
		part, more := strings.CutSuffix(strings.TrimRight(line, " \t"), `\`)
		joined.WriteString(part)
		if more && !last || joined.Len() == 0 {
			continue
		}
		if err := c.instruction(strings.TrimSpace(joined.String())); err != nil {
			return "", refuseFile(i+1, err.Error(), c.hint)
		}
		joined.Reset()
	}
	return c.out.String(), nil
}

func refuseFile(line int, why, hint string) error {
	if line > 0 {
		why = "line " + strconv.Itoa(line) + ": " + why
	}
	return &fault.Error{Kind: fault.Denied, Op: "read", Subject: projectFolder + "/Dockerfile", Why: why, Hint: hint}
}

// A dockerfileWriter checks and writes instructions.
type dockerfileWriter struct {
	bases  []string
	label  string
	stages []string // their names; empty means none
	out    strings.Builder
	hint   string // for the last refusal
}

// instructions are the allowed instructions with their allowed options.
var instructions = map[string][]string{
	"FROM": {"platform"}, "COPY": {"from", "chown", "chmod"}, "HEALTHCHECK": {"interval", "timeout", "start-period",
		"start-interval", "retries"},
	"ARG": nil, "CMD": nil, "ENTRYPOINT": nil, "ENV": nil, "EXPOSE": nil, "LABEL": nil, "MAINTAINER": nil, "RUN": nil,
	"SHELL": nil, "STOPSIGNAL": nil,
	"USER": nil, "WORKDIR": nil,
}

// banned are refused instructions with the reason and a hint.
var banned = map[string][2]string{
	"ADD": {"what ADD names the engine itself fetches, from wherever it likes",
		"COPY what lies beside the Dockerfile; let a RUN step unpack it"},
	"VOLUME":  {"a volume could be written without limit", "leave it out: everything in " + Workspace + " can be written"},
	"ONBUILD": {"ONBUILD keeps an instruction for later, when nobody looks at it", "write the instruction itself"},
}

func (c *dockerfileWriter) instruction(line string) error {
	word, rest := line, ""
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		word, rest = line[:i], strings.TrimSpace(line[i:])
	}
	word = strings.ToUpper(word)
	if why, is := banned[word]; is {
		c.hint = why[1]
		return errors.New(why[0])
	}
	options, known := instructions[word]
	c.hint = "write it as docker's reference has it, without what only BuildKit knows"
	switch {
	case !known:
		return errors.New("there is no instruction " + oneLine(word))
	case strings.HasSuffix(line, `\`):
		return errors.New("it ends in a backslash with nothing to follow")
	case (word == "RUN" || word == "COPY") && strings.Contains(rest, "<<"):
		return errors.New("here documents, and what looks like one (<<), are not read")
	}
	args, err := c.options(rest, options)
	if err == nil && word == "FROM" {
		err = c.from(args)
	}
	if err != nil {
		return err
	}
	c.out.WriteString(word + " " + rest + "\n")
	if word == "FROM" {
		c.out.WriteString("LABEL " + c.label + "\n")
	}
	return nil
}

// option is the only accepted spelling of an option: quotes and backslashes could hide another.
var option = lazyregexp.New(`^--([a-z-]+)(?:=([^\\"'` + "`" + `]*))?$`)

// options checks the options of an instruction, and returns what follows them.
func (c *dockerfileWriter) options(text string, allowed []string) (rest string, err error) {
	for strings.HasPrefix(text, "--") {
		word := text
		if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
			word = text[:i]
		}
		text = strings.TrimLeftFunc(text[len(word):], unicode.IsSpace)
		m := option.Get().FindStringSubmatch(word)
		if m == nil || !slices.Contains(allowed, m[1]) {
			return "", errors.New("the option " + oneLine(word) + " is not known here")
		}
		if m[1] == "from" && !c.mayCopy(m[2]) {
			return "", c.unknownImage(m[2])
		}
	}
	return text, nil
}

// from begins a stage.
func (c *dockerfileWriter) from(args string) error {
	words := strings.Fields(args)
	switch {
	case len(words) != 1 && (len(words) != 3 || !strings.EqualFold(words[1], "AS")):
		return errors.New("it is not FROM IMAGE, or FROM IMAGE AS NAME")
	case !c.isBase(words[0], c.stages):
		return c.unknownImage(words[0])
	}
	c.stages = append(c.stages, strings.ToLower(strings.Join(words[min(2, len(words)):], "")))
	return nil
}

// isBase reports whether a name is that of an environment's image or of a stage.
func (c *dockerfileWriter) isBase(name string, stages []string) bool {
	return slices.Contains(c.bases, tagged(name)) || name != "" && slices.Contains(stages, strings.ToLower(name))
}

// mayCopy reports whether the present stage may copy from what has a name, or a
// number. Its own name does not count: an engine would look for an image of this
// name.
func (c *dockerfileWriter) mayCopy(name string) bool {
	done := c.stages[:max(len(c.stages)-1, 0)]
	n, err := strconv.ParseUint(name, 10, 16)
	return c.isBase(name, done) || err == nil && n < uint64(len(done))
}

func (c *dockerfileWriter) unknownImage(name string) error {
	c.hint = "use one of " + strings.Join(c.bases, ", ")
	return errors.New(oneLine(name) + " is neither the image of an environment nor an earlier stage")
}
