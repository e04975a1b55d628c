package vfs_test

import (
	"fmt"
	"os"

	"hako/shell/vfs"
)

func Example() {
	dir, err := os.MkdirTemp("", "logs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(dir+"/app.log", []byte("started\n"), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	files := vfs.New(vfs.Options{})
	defer files.Close()
	if err := files.Mount("/data", dir, false); err != nil { // false: read-only
		fmt.Println(err)
		return
	}
	text, err := files.ReadFile("/data/app.log")
	fmt.Printf("%s%v\n", text, err)
	fmt.Println(vfs.Reason(files.WriteFile("/data/app.log", nil, 0o644)))
	_, err = files.ReadFile("/etc/passwd") // nobody granted it
	fmt.Println(vfs.Reason(err))
	// Output:
	// started
	// <nil>
	// Read-only file system
	// No such file or directory
}
