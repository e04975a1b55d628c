// Package command holds the commands of the virtual shell, one per file.
//
// To add one, write name.go with a variable of type [shell.Command], add the
// variable to the list below, and add testdata/name.txtar. A builtin sees the
// world through its [shell.Call] and nothing else.
package command

import "hako/shell"

// All returns the commands by name.
func All() shell.Set {
	list := []shell.Command{
		archCmd, awkCmd, b2sumCmd, base32Cmd, base64Cmd, basenameCmd, bcCmd, bunzip2Cmd, bzcatCmd, bzip2Cmd, catCmd,
		chmodCmd, cksumCmd, clearCmd, cmpCmd, columnCmd, commCmd, cpCmd, csplitCmd, cutCmd, dateCmd, dcCmd, dfCmd, diffCmd,
		dirnameCmd, duCmd, egrepCmd, envCmd, expandCmd, exprCmd, factorCmd, fgrepCmd, fileCmd, findCmd, fmtCmd, foldCmd, gawkCmd,
		grepCmd, gunzipCmd, gzipCmd, headCmd, helpCmd, hexdumpCmd, hostnameCmd, iconvCmd, idCmd, joinCmd, jqCmd, llmcmdCmd, lnCmd, lsCmd,
		manCmd, mawkCmd, md5sumCmd, mkdirCmd, mktempCmd, mvCmd, nlCmd, nprocCmd, odCmd, pasteCmd, patchCmd,
		printenvCmd, readlinkCmd, realpathCmd, revCmd, rmCmd, rmdirCmd, sedCmd, seqCmd, sha1sumCmd, sha224sumCmd,
		sha256sumCmd, sha384sumCmd, sha512sumCmd, shufCmd, sleepCmd, sortCmd, splitCmd, statCmd, stringsCmd, sumCmd,
		syncCmd, tacCmd, tailCmd, tarCmd, teeCmd, timeoutCmd, touchCmd, trCmd, treeCmd, truncateCmd, ttyCmd,
		unameCmd, unexpandCmd, uniqCmd, unxzCmd, unzipCmd, uudecodeCmd, uuencodeCmd, wcCmd, whichCmd, whoamiCmd,
		xargsCmd, xxdCmd, xzCmd, xzcatCmd, yesCmd, yqCmd, zcatCmd, zipCmd}
	set := make(shell.Set, len(list))
	for _, c := range list {
		set[c.Name] = c
	}
	return set
}
