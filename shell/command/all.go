// Package command lists the commands of the closed shell, about a hundred and twenty: Go
// implementations of coreutils, findutils, grep, sed, awk, tar, jq, bc and others.
//
// None of them starts a program or opens a file of the host: a command has access only to
// its [shell.Call]. The families are, with one command per file:
//
//	archive  tar, zip, gzip, bzip2, xz
//	data     jq, yq, encodings, checksums, dumps
//	file     ls, find, cp, mv, stat: names and attributes of files
//	number   bc, dc, expr, seq, factor
//	system   date, env, xargs, timeout, help
//	text     grep, sed, awk, sort, diff: lines of text
package command

import (
	"hako/shell"
	"hako/shell/command/archive"
	"hako/shell/command/data"
	"hako/shell/command/file"
	"hako/shell/command/number"
	"hako/shell/command/system"
	"hako/shell/command/text"
)

// All returns the commands by name. The caller may add to and remove from the map.
func All() shell.Set {
	list := []shell.Command{
		archive.Bunzip2, archive.Bzcat, archive.Bzip2, archive.Gunzip, archive.Gzip, archive.Tar, archive.Unxz,
		archive.Unzip, archive.Xz, archive.Xzcat, archive.Zcat, archive.Zip,
		data.B2sum, data.Base32, data.Base64, data.Cksum, data.Hexdump, data.Jq, data.Md5sum, data.Od, data.Sha1sum,
		data.Sha224sum, data.Sha256sum, data.Sha384sum, data.Sha512sum, data.Sum, data.Uudecode, data.Uuencode,
		data.Xxd, data.Yq,
		file.Basename, file.Chmod, file.Cp, file.Df, file.Dirname, file.Du, file.File, file.Find, file.Ln, file.Ls,
		file.Mkdir, file.Mktemp, file.Mv, file.Readlink, file.Realpath, file.Rm, file.Rmdir, file.Stat, file.Touch,
		file.Tree, file.Truncate,
		number.Bc, number.Dc, number.Expr, number.Factor, number.Seq,
		system.Arch, system.Clear, system.Date, system.Env, system.Help, system.Hostname, system.Id, system.Llmcmd,
		system.Man, system.Nproc, system.Printenv, system.Sleep, system.Sync, system.Timeout, system.Tty,
		system.Uname, system.Which, system.Whoami, system.Xargs, system.Yes,
		text.Awk, text.Cat, text.Cmp, text.Column, text.Comm, text.Csplit, text.Cut, text.Diff, text.Egrep,
		text.Expand, text.Fgrep, text.Fmt, text.Fold, text.Gawk, text.Grep, text.Head, text.Iconv, text.Join,
		text.Mawk, text.Nl, text.Paste, text.Patch, text.Rev, text.Sed, text.Shuf, text.Sort, text.Split,
		text.Strings, text.Tac, text.Tail, text.Tee, text.Tr, text.Unexpand, text.Uniq, text.Wc,
	}
	set := make(shell.Set, len(list))
	for _, c := range list {
		set[c.Name] = c
	}
	return set
}
