package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"hako/run/fault"
)

// archive makes the files of a build.
func archive(t testing.TB, files map[string]string) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(text))
	}
	w.Close()
	return &b
}

func TestBuild(t *testing.T) {
	e := docker(t)
	tag := named(t, ":1")
	var lines []string
	b := Build{Tags: []string{tag}, Dockerfile: "docker/Dockerfile-x", Args: map[string]string{"WORD": "hello"},
		Labels: map[string]string{"hako.test": mark}, NoCache: true, Network: "none",
		Context: archive(t, map[string]string{"docker/Dockerfile-x": "FROM hako-tiny:1\nARG WORD\nCOPY a /a\nRUN [\"/bin/sh\", \"-c\", \"printf \\\"$WORD \\\\033[31mworld\\\\n\\\"\"]\n", "a": "text"})}
	if err := e.Build(t.Context(), b, func(line string) { lines = append(lines, line) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 {
			if err := e.RemoveImage(context.Background(), tag); err != nil {
				t.Error(err)
			}
		}
	})
	for _, want := range []string{"Step 1/5 : FROM hako-tiny:1", "Step 3/5 : COPY a /a", "hello world"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in %q", want, lines)
		}
	}
	i, err := e.Image(t.Context(), tag)
	if err != nil || !slices.Contains(i.Tags, tag) || i.Env == nil {
		t.Errorf("%+v, %v", i, err)
	}
	all, err := e.Images(t.Context(), map[string]string{"hako.test": mark})
	if err != nil || len(all) != 1 || all[0].ID != i.ID {
		t.Errorf("%+v, %v", all, err)
	}
	create(t, e, Spec{Image: tag})
	if err := e.RemoveImage(t.Context(), tag); !errors.Is(err, ErrConflict) {
		t.Errorf("remove an image in use: %v", err)
	}
}

func TestFailingBuildNamesItsStep(t *testing.T) {
	e := docker(t)
	for file, want := range map[string]string{
		"FROM hako-tiny:1\nRUN [\"/bin/sh\", \"-c\", \"exit 3\"]\n": "step 2/2, RUN [\"/bin/sh\", \"-c\", \"exit 3\"]: the command '/bin/sh -c exit 3' returned a non-zero code: 3",
		"FROM hako-tiny:1\nCOPY none /\n":                           "step 2/2, COPY none /: ",
		"FROM hako-tiny:1\nNONSENSE\n":                              "NONSENSE",
	} {
		err := e.Build(t.Context(),
			Build{Tags: []string{named(t, ":1")}, Context: archive(t, map[string]string{"Dockerfile": file}), Network: "none"},
			nil)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "build image "+named(t, ":1")) {
			t.Errorf("%q: %v", file, err)
		}
	}
}

func TestBuildWhoseFilesCannotBeRead(t *testing.T) {
	e := docker(t)
	torn := errors.New("torn")
	err := e.Build(t.Context(),
		Build{Context: io.MultiReader(archive(t, map[string]string{"a": "b"}),
			readerFunc(func([]byte) (int, error) { return 0, torn }))}, nil)
	if !errors.Is(err, torn) {
		t.Errorf("%v", err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
