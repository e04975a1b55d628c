// Package text makes text of models, programs and strangers safe to show.
//
// There is one function for each kind of reader:
//
//   - [ForTerminal] for a terminal: nothing in it steers the terminal;
//   - [Publishable] for a page of a forge: besides, it mentions nobody, closes no issue and loads nothing;
//   - [ForRecord] for a log, a table or a question: nothing is lost, invisible characters are spelled out.
//
// All three keep line ends and tabs. [Visible] is for text that a model reads: it must not contain what a person would
// not see. [Line] makes one short line of any text. [Shorten], [ShortenCells] and [Prefix] cut text by characters, by
// columns of a terminal and by bytes. [HeadTail] keeps both ends of an output of any length.
//
// Package redact removes secrets. Redact after Visible: a character that is dropped later could make a broken secret
// whole again. Publishable keeps that order.
package text
