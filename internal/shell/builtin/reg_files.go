package builtin

import "hako/internal/shell"

// files are the commands that look at the tree and change it, and the ones
// that run other commands or tell about the surroundings.
var files = []shell.Command{
	lsCmd, findCmd, treeCmd, statCmd, fileCmd, duCmd, dfCmd,
	mkdirCmd, rmCmd, rmdirCmd, mvCmd, cpCmd, touchCmd, lnCmd, mktempCmd, chmodCmd, truncateCmd,
	realpathCmd, readlinkCmd, basenameCmd, dirnameCmd,
	cmpCmd, diffCmd, patchCmd,
	xargsCmd, envCmd, printenvCmd, sleepCmd, timeoutCmd, dateCmd,
	whichCmd, helpCmd, manCmd, clearCmd, syncCmd,
	hostnameCmd, whoamiCmd, idCmd, unameCmd, nprocCmd, ttyCmd, archCmd,
}
