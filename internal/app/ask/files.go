package ask

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"hako/internal/app"
	"hako/llm"
	"hako/run/fault"
)

// grantedFiles lists the files with their sizes.
func (o *Options) grantedFiles() (list []llm.File, err error) {
	for _, name := range o.Files {
		info, err := os.Stat(name)
		if err != nil {
			return nil, &fault.Error{Kind: fault.NotFound, Op: "grant file", Subject: name, Err: fault.Reason(err),
				Hint: "check the name"}
		}
		if info.IsDir() {
			return nil, &fault.Error{Kind: fault.Invalid, Op: "grant file", Subject: name, Why: "it is a directory",
				Hint: "grant its files one by one", FlagHint: "grant its files one by one, each with --file"}
		}
		list = append(list, llm.File{Name: name, Bytes: info.Size()})
	}
	if o.Stdin != nil {
		if slices.Contains(o.Files, app.StdinName) {
			return nil, &fault.Error{Kind: fault.Invalid, Op: "grant file", Subject: app.StdinName,
				Why: "standard input goes by that name", Hint: "name the file ./" + app.StdinName}
		}
		list = append(list, llm.File{Name: app.StdinName, Bytes: int64(len(o.Stdin))})
	}
	return list, nil
}

// currentFiles is the result of list_allowed_files: a file may have disappeared.
func (o *Options) currentFiles() (list []llm.File) {
	for _, name := range o.Files {
		if info, err := os.Stat(name); err == nil {
			list = append(list, llm.File{Name: name, Bytes: info.Size()})
		} else if !errors.Is(err, fs.ErrNotExist) {
			list = append(list, llm.File{Name: name})
		}
	}
	if o.Stdin != nil {
		list = append(list, llm.File{Name: app.StdinName, Bytes: int64(len(o.Stdin))})
	}
	return list
}

// checkReadable reports an unreadable file before the model is called.
func checkReadable(names []string, limit int64) error {
	for _, name := range names {
		info, err := os.Stat(name)
		if err == nil && !info.Mode().IsRegular() {
			continue // a pipe would block
		}
		if err == nil && info.Size() > limit {
			return &fault.Error{
				Kind: fault.TooLarge, Op: "read file", Subject: name,
				Why:      fmt.Sprintf("it has %d bytes, the limit file_size is %d", info.Size(), limit),
				FlagHint: fmt.Sprintf("raise it: --limit file_size=%d", info.Size()),
			}
		}
		if err == nil {
			err = readFirstByte(name)
		}
		if err != nil {
			return &fault.Error{Kind: fault.NotFound, Op: "read file", Subject: name, Err: fault.Reason(err),
				Hint: "see that you may read it"}
		}
	}
	return nil
}

// readFirstByte reads the first byte of a file: some can be opened but not read.
func readFirstByte(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = f.Read(make([]byte, 1)); err == io.EOF {
		return nil
	}
	return err
}

// unique removes duplicates.
func unique(names []string) (list []string) {
	for _, name := range names {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}
