package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"io/fs"
	"slices"
	"time"
)

// An entry is one file of an archive.
type entry struct {
	name string
	text []byte
	mode fs.FileMode
}

// epoch is the time of every file: the earliest that zip supports.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func sorted(all []entry) []entry {
	return slices.SortedFunc(slices.Values(all), func(a, b entry) int { return cmp.Compare(a.name, b.name) })
}

// tarGz packs files below a directory with the archive's name.
func tarGz(name string, all []entry) (packed []byte, suffix string, err error) {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is one there is
	t := tar.NewWriter(z)
	for _, e := range sorted(all) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name + "/" + e.name, Size: int64(len(e.text)), Mode: int64(e.mode),
			ModTime: epoch, Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return nil, "", err
		}
		if _, err := t.Write(e.text); err != nil {
			return nil, "", err
		}
	}
	return closed(&b, ".tar.gz", t.Close, z.Close)
}

// zipped does the same for Windows.
func zipped(name string, all []entry) (packed []byte, suffix string, err error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range sorted(all) {
		h := &zip.FileHeader{Name: name + "/" + e.name, Method: zip.Deflate, Modified: epoch}
		h.SetMode(e.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, "", err
		}
		if _, err := w.Write(e.text); err != nil {
			return nil, "", err
		}
	}
	return closed(&b, ".zip", z.Close)
}

func closed(b *bytes.Buffer, suffix string, ends ...func() error) ([]byte, string, error) {
	for _, end := range ends {
		if err := end(); err != nil {
			return nil, "", err
		}
	}
	return b.Bytes(), suffix, nil
}
