package container

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"io/fs"

	"hako/container/engine"
	"hako/container/lang"
	"hako/docker"
	"hako/run/fault"
)

// Build builds the image of an environment on a base image; empty means the default one.
func (d *Manager) Build(ctx context.Context, environment, base string, anew bool, progress func(string)) error {
	l, ok := d.known(environment)
	if !ok {
		return d.unknown(environment)
	}
	files, err := d.buildContext()
	if err != nil {
		return err
	}
	b := engine.Build{
		Context: files, Dockerfile: l.Dockerfile, Tags: []string{l.Image}, NoCache: anew,
		Labels: map[string]string{labelEnv: l.Name},
	}
	if base != "" {
		b.Args = map[string]string{"BASE": base}
	}
	return d.Engine.Build(ctx, b, func(line string) {
		if progress != nil {
			progress(quoted(line))
		}
	})
}

// known finds an environment that has a Dockerfile.
func (d *Manager) known(name string) (lang.Language, bool) {
	if _, ok := d.Images[name]; !ok {
		return lang.Language{}, false
	}
	l := d.language(name)
	return l, l.Dockerfile != ""
}

func (d *Manager) unknown(name string) error {
	e := &fault.Error{Kind: fault.NotFound, Op: "build environment", Subject: oneLine(name),
		Why: "there is none of this name", Hint: "hako env list shows which there are"}
	if near, ok := fault.Nearest(name, d.names()); ok {
		e.Hint = "did you mean " + near + "?"
	} else if _, set := d.Images[name]; set {
		e.Why, e.Hint = "its image comes from elsewhere: there is no Dockerfile for it", "docker pull "+d.Images[name]
	}
	return e
}

func (d *Manager) names() (list []string) {
	for _, l := range d.EnvironmentList() {
		list = append(list, l.Name)
	}
	return list
}

// EnvironmentList returns the environments in the order in which they are offered.
func (d *Manager) EnvironmentList() (list []lang.Language) {
	seen := make(map[string]bool)
	for _, l := range d.Languages {
		if _, ok := d.Images[l.Name]; ok {
			list, seen[l.Name] = append(list, d.language(l.Name)), true
		}
	}
	for _, name := range sortedNames(d.Images) {
		if !seen[name] {
			list = append(list, d.language(name))
		}
	}
	return list
}

// HasImage reports whether the image of an environment exists.
func (d *Manager) HasImage(ctx context.Context, l lang.Language) (bool, error) {
	_, err := d.Engine.Image(ctx, l.Image)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil, err
}

// buildContext packs the files of the Dockerfiles, with the additional certificates.
func (d *Manager) buildContext() (io.Reader, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := fs.WalkDir(docker.Files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := docker.Files.ReadFile(name)
		if err != nil {
			return err
		}
		return addFile(w, name, data)
	})
	if err == nil && d.CA != nil {
		err = addFile(w, "ca/hako-extra.crt", d.CA)
	}
	if err == nil {
		err = w.Close()
	}
	return &out, err
}

func addFile(w *tar.Writer, name string, data []byte) error {
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)),
		Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}
