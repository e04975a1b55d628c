package term

import "strings"

// knownState brings a terminal, whatever programs did to it, to a state in which text is shown as written, on a new
// line at the bottom of the screen. All sequences are sent, because a terminal ignores those that it does not know. The
// cursor is moved last: leaving the alternate screen and resetting margins leave it anywhere.
var knownState = strings.Join([]string{
	"\x18\x18\x18",        // CAN: ends a sequence or string that is open; VT52 takes two more for arguments
	"\x1b\\",              // ST: ends APC, DCS, OSC, PM, SOS and titles where CAN does not
	"\x1b\x03\x18",        // leaves the Tektronix mode of xterm
	"\x1b<",               // leaves VT52 mode, which knows no CSI
	"\x1b[4i", "\x1b[?4i", // output goes to the screen, not to a printer
	"\x1b[0$}", "\x1b[0$~", // nor to a status line
	"\x1b[?2026l",                     // what is written is drawn at once
	"\x1b[?1049l\x1b[?1047l\x1b[?47l", // no alternate screen
	"\x1b[!p",                         // DECSTR, and by hand what not every terminal resets by it:
	"\x1b[?69l", "\x1b[?6l", "\x1b[r", // margins, origin
	"\x1b[4l", "\x1b[20l", "\x1b[2l", "\x1b[12h", // insert, new line, keyboard lock, local echo
	"\x1b[?5l", "\x1b[?7h", "\x1b[?45l", "\x1b[?40l", "\x1b[?25h", // reverse video, wrapping, width, cursor
	"\x1b[0 k", "\x1b[?2501l", // text from left to right
	"\x1b%G", "\x1b(B\x1b)B\x1b*B\x1b+B\x0f", "\x1b[?42l", // characters: UTF-8 and ASCII, not line drawing
	"\x1b[?9l\x1b[?1000l\x1b[?1001l\x1b[?1002l\x1b[?1003l",    // the mouse types nothing
	"\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l", // nor does getting the focus
	"\x1b[?1l\x1b>", "\x1b[?2004l", "\x1b[?9001l", "\x1b[>4;0m", "\x1b[=0;1u", // keys type what is on them
	"\x1b]R\x1b\\", "\x1b]104\x1b\\", "\x1b]110\x1b\\", "\x1b]111\x1b\\", "\x1b]112\x1b\\", // colours can be told apart
	"\x1b]8;;\x1b\\",   // no link
	"\x1b[0\"q\x1b[0m", // neither protected nor hidden, in no colour
	"\x1b[999;1H\r\n",  // below everything else
}, "")
