// Package text prepares text that somebody else wrote, a model, a program or a stranger, for being shown.
//
// Three functions make text safe to show, one for each kind of reader:
//
//   - [ForTerminal] for a person at a terminal: nothing in it steers the terminal;
//   - [Publishable] for a page of a forge: besides, it calls nobody, closes no issue and fetches nothing;
//   - [ForRecord] for a log, a table or a question: nothing is lost, what cannot be seen is spelled out.
//
// All three keep line breaks and tabs. [Visible], which they are built on, is for text that a model reads: it
// must not contain what a person would not see. [Line] makes one short line of any text. [Shorten],
// [ShortenCells] and [Prefix] cut text by characters, by columns of a terminal and by bytes. [HeadTail] keeps both
// ends of an output of any length.
//
// Secrets are not the concern of this package but of redact. Redact after Visible: a character that is taken
// out later could make a broken secret whole again. Publishable keeps that order.
package text
