package file

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

// parseOperands is [cli.Parse] for commands that need an operand; missing is the
// message if there is none.
func parseOperands(c *shell.Call, flags cli.Flags, missing string) ([]string, error) {
	operands, err := cli.Parse(c, flags)
	if err == nil && len(operands) == 0 {
		err = cli.Misuse(c, "%s", missing)
	}
	return operands, err
}

// eachOperand calls f for every operand, unless the script must end.
func eachOperand(ctx context.Context, c *shell.Call, operands []string, f func(name string)) error {
	for _, name := range operands {
		f(name)
		if err := cli.Stopped(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// stat is Lstat, or Stat for a name that follows links: one that ends in a
// slash, or any name if follow is set.
func stat(c *shell.Call, name string, follow bool) (fs.FileInfo, error) {
	if name == "" {
		return nil, fs.ErrNotExist
	}
	if follow || strings.HasSuffix(name, "/") {
		fi, err := c.FS.Stat(c.Path(name))
		if err != nil {
			return nil, err
		}
		return fi, mustDir(name, fi)
	}
	return lstat(c, c.Path(name))
}

// lstat is Lstat without a typed nil.
func lstat(c *shell.Call, abs string) (fs.FileInfo, error) {
	fi, err := c.FS.Lstat(abs)
	if err != nil {
		return nil, err
	}
	return fi, nil
}

func isLink(fi fs.FileInfo) bool { return fi.Mode()&fs.ModeSymlink != 0 }

func readlink(c *shell.Call, abs string) string {
	target, _ := c.FS.Readlink(abs)
	return target
}

func inodeOf(fi fs.FileInfo) uint64 {
	if i, ok := fi.(interface{ Inode() uint64 }); ok {
		return i.Inode()
	}
	return 0
}

func linksOf(fi fs.FileInfo) int {
	if i, ok := fi.(interface{ Links() int }); ok {
		return i.Links()
	}
	return 1
}

// dirSize is the size of a directory, as on most disks.
const dirSize = 4096

func sizeOf(fi fs.FileInfo) int64 {
	if fi.IsDir() {
		return dirSize
	}
	return fi.Size()
}

// blocksOf is the disk space of a file in units of 512 bytes, in whole pages.
func blocksOf(fi fs.FileInfo) int64 {
	if !fi.Mode().IsRegular() && !fi.IsDir() {
		return 0
	}
	return (sizeOf(fi) + 4095) / 4096 * 8
}

// humanSize writes a size as ls -h does: at most three digits, rounded up.
func humanSize(n, unit int64) string {
	if n < unit {
		return strconv.FormatInt(n, 10)
	}
	letters := "KMGTPE"
	if unit == 1000 {
		letters = "kMGTPE"
	}
	size := float64(n)
	for i := 0; ; i++ {
		size /= float64(unit)
		if tenths := int64(math.Ceil(size * 10)); tenths < 100 {
			return fmt.Sprintf("%d.%d%c", tenths/10, tenths%10, letters[i])
		}
		if whole := int64(math.Ceil(size)); whole < unit || i == len(letters)-1 {
			return fmt.Sprintf("%d%c", whole, letters[i])
		}
	}
}

// mustDir refuses "name/" for anything but a directory.
func mustDir(name string, fi fs.FileInfo) error {
	if strings.HasSuffix(name, "/") && !fi.IsDir() {
		return vfs.ErrNotDir
	}
	return nil
}
