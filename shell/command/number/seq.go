package number

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Seq = shell.Command{Name: "seq", Run: runSeq}

// seqNumber is an operand: its value, and how it was written.
type seqNumber struct {
	value    float64
	decimals int // digits after the point
	text     string
}

type sequence struct {
	first, step, last seqNumber
	sep, format       string
	equalWidth        bool
}

func runSeq(_ context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	c.Args = protectNegatives(c.Args)
	s := sequence{sep: "\n"}
	names, err := cli.Parse(c, cli.Flags{"w": &s.equalWidth, "s": &s.sep, "f": &s.format})
	if err != nil {
		return err
	}
	if err := s.operands(c, names); err != nil {
		return err
	}
	switch {
	case s.format != "":
		s.formatted(c)
	case s.scaled(0) && s.plainCount():
		s.count(c)
	default:
		s.decimal(c)
	}
	return c.Stdout.Err()
}

// protectNegatives puts "--" before the first number, so that -5 is no option.
func protectNegatives(args []string) []string {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "-s" || a == "-f" || a == "--separator" || a == "--format":
			i++
		case a == "--" || a == "" || a[0] != '-':
			return args
		case len(a) > 1 && a[0] == '-' && (cli.IsDigit(a[1]) || a[1] == '.'):
			return slices.Insert(slices.Clone(args), i, "--")
		}
	}
	return args
}

func (s *sequence) operands(c *shell.Call, names []string) error {
	switch {
	case len(names) == 0:
		return cli.Misuse(c, "missing operand")
	case len(names) > 3:
		return cli.Misuse(c, "extra operand %s", cli.QuoteCurly(names[3]))
	}
	one := seqNumber{value: 1, text: "1"}
	s.first, s.step = one, one
	into := [][]*seqNumber{{&s.last}, {&s.first, &s.last}, {&s.first, &s.step, &s.last}}[len(names)-1]
	for i, text := range names {
		n, ok := parseSeqNumber(text)
		if !ok {
			return cli.Misuse(c, "invalid floating point argument: %s", cli.QuoteCurly(text))
		}
		if math.IsNaN(n.value) {
			return cli.Misuse(c, "invalid %s argument: %s", cli.QuoteCurly("not-a-number"), cli.QuoteCurly(text))
		}
		*into[i] = n
	}
	if s.step.value == 0 {
		return cli.Misuse(c, "invalid Zero increment value: %s", cli.QuoteCurly(s.step.text))
	}
	if s.format != "" && s.equalWidth {
		return cli.Misuse(c, "format string may not be specified when printing equal width strings")
	}
	return nil
}

func parseSeqNumber(text string) (n seqNumber, ok bool) {
	v, err := strconv.ParseFloat(strings.TrimLeft(text, " \t\n+"), 64)
	if err != nil && !math.IsInf(v, 0) || strings.Contains(text, "_") {
		return n, false
	}
	mantissa, exp, hasExp := strings.Cut(strings.ToLower(text), "e")
	_, frac, _ := strings.Cut(mantissa, ".")
	n = seqNumber{v, len(frac), strings.TrimPrefix(text, "+")}
	if hasExp {
		e, _ := strconv.Atoi(exp)
		n.decimals = max(0, n.decimals-e)
	}
	return n, true
}

// scaled reports whether all numbers are exact integers after multiplying
// with a power of ten, so that 0.1 three times is 0.3.
func (s *sequence) scaled(digits int) bool {
	for _, n := range []seqNumber{s.first, s.step, s.last} {
		if n.decimals > digits || math.Abs(n.value)*math.Pow10(digits) >= 1e15 && !wholeDigits(n.text) {
			return false
		}
		if math.Abs(n.value)*math.Pow10(digits) >= 9e18 {
			return false
		}
	}
	return true
}

func wholeDigits(text string) bool { return strings.Trim(text, "-0123456789") == "" && len(text) < 19 }

func (n seqNumber) times(digits int) int64 {
	if digits == 0 && wholeDigits(n.text) {
		v, _ := strconv.ParseInt(n.text, 10, 64)
		return v
	}
	return int64(math.Round(n.value * math.Pow10(digits)))
}

// plainCount is the case that is worth a fast path: up from zero or more.
func (s *sequence) plainCount() bool {
	return s.first.value >= 0 && s.step.value > 0 && s.step.value < 1e9 && !s.equalWidth && len(s.sep) == 1
}

// count adds to the digits in place instead of formatting every number.
func (s *sequence) count(c *shell.Call) {
	now, step, last := s.first.times(0), s.step.times(0), s.last.times(0)
	if now > last {
		return
	}
	var buf [24]byte
	end := len(buf) - 1
	buf[end] = s.sep[0]
	start := end - len(strconv.AppendInt(buf[:0:0], now, 10))
	copy(buf[start:end], strconv.AppendInt(nil, now, 10))
	for ; now <= last-step; now += step {
		_, err := c.Stdout.Write(buf[start:])
		cli.Check(err)
		start = addDigits(&buf, start, end, step)
	}
	buf[end] = '\n'
	c.Stdout.Write(buf[start:])
}

// addDigits adds n to the decimal number in buf[start:end] and returns its new start.
func addDigits(buf *[24]byte, start, end int, n int64) int {
	for i := end - 1; n > 0; i-- {
		if i < start {
			start = i
			buf[i] = '0'
		}
		d := int64(buf[i]-'0') + n
		if d < 10 {
			buf[i] = byte('0' + d)
			break
		}
		buf[i] = byte('0' + d%10)
		n = d / 10
	}
	return start
}

// decimal prints numbers with as many decimals as the operands have.
func (s *sequence) decimal(c *shell.Call) {
	shown := max(s.first.decimals, s.step.decimals)
	digits := max(shown, s.last.decimals)
	width := 0
	if s.equalWidth {
		width = max(len(s.text(s.first.value, shown)), len(s.text(s.last.value, shown)))
		cli.Check(c.Limiter.Fits(int64(width)))
	}
	switch {
	case !s.scaled(digits) && s.integers():
		s.large(c)
		return
	case !s.scaled(digits): // too large or fine to count exactly
		s.each(c, func(v float64) []byte { return zeroFill([]byte(s.text(v, shown)), width) })
		return
	}
	now, step, last := s.first.times(digits), s.step.times(digits), s.last.times(digits)
	scale := math.Pow10(digits)
	var buf []byte
	i := 0
	for ; step > 0 && now <= last || step < 0 && now >= last; i++ {
		if digits == 0 {
			buf = strconv.AppendInt(buf[:0], now, 10)
		} else {
			buf = strconv.AppendFloat(buf[:0], float64(now)/scale, 'f', shown, 64)
		}
		s.write(c, i, zeroFill(buf, width))
		now += step
	}
	s.close(c, i)
}

func (s *sequence) text(v float64, decimals int) string {
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// zeroFill widens a number with zeros behind its sign.
func zeroFill(b []byte, width int) []byte {
	if len(b) >= width {
		return b
	}
	sign := cli.BoolInt(len(b) > 0 && b[0] == '-')
	return slices.Concat(b[:sign], bytes.Repeat([]byte("0"), width-len(b)), b[sign:])
}

func (s *sequence) write(c *shell.Call, i int, number []byte) {
	if i > 0 {
		c.Stdout.WriteString(s.sep)
	}
	_, err := c.Stdout.Write(number)
	cli.Check(err)
}

// close ends the output of n numbers.
func (s *sequence) close(c *shell.Call, n int) {
	if n > 0 {
		c.Stdout.WriteByte('\n')
	}
}

// integers reports whether all numbers are written as plain digits.
func (s *sequence) integers() bool {
	return strings.Trim(s.first.text+s.step.text+s.last.text, "-0123456789") == ""
}

// large counts with as many digits as there are.
func (s *sequence) large(c *shell.Call) {
	var now, step, last big.Int
	for n, text := range map[*big.Int]string{&now: s.first.text, &step: s.step.text, &last: s.last.text} {
		n.SetString(text, 10)
	}
	width := 0
	if s.equalWidth {
		width = max(len(s.first.text), len(s.last.text))
	}
	i := 0
	for ; now.Cmp(&last)*step.Sign() <= 0; i++ {
		s.write(c, i, zeroFill(now.Append(nil, 10), width))
		now.Add(&now, &step)
	}
	s.close(c, i)
}

// each prints floating point numbers.
func (s *sequence) each(c *shell.Call, format func(float64) []byte) {
	digits := max(s.first.decimals, s.step.decimals, s.last.decimals)
	slack := math.Abs(s.step.value) / 1e6 * float64(min(1, digits))
	i := 0
	for ; ; i++ {
		v := s.first.value + float64(i)*s.step.value
		if s.step.value > 0 && v > s.last.value+slack || s.step.value < 0 && v < s.last.value-slack {
			break
		}
		s.write(c, i, format(v))
	}
	s.close(c, i)
}

// formatted prints by -f.
func (s *sequence) formatted(c *shell.Call) {
	format, size, why := seqFormat(s.format)
	if why != "" {
		cli.Check(c.Fail(1, "format %s %s", cli.QuoteCurly(s.format), why))
	}
	cli.Check(c.Limiter.Fits(size))
	s.each(c, func(v float64) []byte { return fmt.Appendf(nil, format, v) })
}

// seqFormat checks a printf format with one floating point verb and translates it
// for package fmt. size is the sum of width and precision.
func seqFormat(format string) (goFormat string, size int64, why string) {
	at := -1
	for i := 0; i < len(format); i++ {
		if strings.HasPrefix(format[i:], "%%") {
			i++
		} else if format[i] == '%' {
			if at >= 0 {
				return "", 0, "has too many % directives"
			}
			at = i
		}
	}
	if at < 0 {
		return "", 0, "has no % directive"
	}
	rest := strings.TrimLeft(format[at+1:], "-+#0 '")
	flags := strings.TrimSuffix(format[at+1:], rest)
	width, rest := cutDigits(rest)
	prec := 6
	if after, ok := strings.CutPrefix(rest, "."); ok {
		var digits string
		digits, rest = cutDigits(after)
		prec, _ = strconv.Atoi(digits)
	}
	rest = strings.TrimPrefix(rest, "L")
	if rest == "" {
		return "", 0, "ends in %"
	}
	if !strings.Contains("efgEFG", rest[:1]) {
		return "", 0, "has unknown %" + rest[:1] + " directive"
	}
	w, _ := strconv.Atoi(width)
	flags = strings.ReplaceAll(flags, "'", "")
	return fmt.Sprintf("%s%%%s%s.%d%s", format[:at], flags, width, prec, rest), int64(w) + int64(prec), ""
}

func cutDigits(s string) (digits, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}
