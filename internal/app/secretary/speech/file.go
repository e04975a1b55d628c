package speech

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"hako/internal/ownerfile"
	"hako/run/fault"
)

// WriteFile replaces a WAV file atomically. Anything but an empty file or another WAV is left alone: a
// mistyped name must not cost a document.
func WriteFile(path string, wav []byte) error {
	if _, err := parse(wav); err != nil {
		return refuse(path, err.Error(), "")
	}
	if err := replaceable(path); err != nil {
		return err
	}
	return ownerfile.Replace(path, wav)
}

// CheckFile reports why [WriteFile] would fail.
func CheckFile(path string) error {
	if err := replaceable(path); err != nil {
		return err
	}
	probe, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &fault.Error{Kind: fault.NotFound, Op: "write", Subject: path, Why: "there is no directory " +
			filepath.Dir(path), Hint: "make that directory, or name a file elsewhere"}
	case err != nil:
		return refuse(path, "no file can be made in "+filepath.Dir(path), "name a file in a directory that you can write to")
	}
	_ = probe.Close()
	return os.Remove(probe.Name())
}

func refuse(path, why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "write", Subject: path, Why: why, Hint: hint}
}

// replaceable reports why a file may not be overwritten. It does not follow links or open pipes, which would block.
func replaceable(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return refuse(path, "it cannot be looked at", "name another file")
	case !info.Mode().IsRegular():
		return refuse(path, "it is not a plain file", "name another file")
	case info.Size() == 0:
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return refuse(path, "it is there already and cannot be read", "name another file")
	}
	defer f.Close()
	var head [12]byte
	if _, err := io.ReadFull(f, head[:]); err != nil || string(head[:4]) != "RIFF" || string(head[8:]) != "WAVE" {
		return refuse(path, "there is a file of that name that is no WAV", "name another file, or remove that one")
	}
	return nil
}
