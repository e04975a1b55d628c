package jobs

import (
	"fmt"
	"unicode/utf8"

	"hako/internal/text"
	"hako/run"
	"hako/run/fault"
)

const (
	defaultPage = 4 << 10
	maxPage     = 1 << 20
	margin      = 2 * utf8.UTFMax // bytes on either side to find character boundaries
)

// Output returns at most limit bytes of the output of a job from offset on, without splitting a character. A limit of
// zero means 4096, the maximum is 1 MB; a single character is returned even if it is longer. Beyond the end there is
// an empty page.
func (d *List) Output(h run.JobHandle, offset, limit int64) (run.JobPage, error) {
	if limit == 0 {
		limit = defaultPage
	}
	if err := checkPage(h, offset, limit); err != nil {
		return run.JobPage{}, err
	}
	j, err := d.find(h)
	if err != nil {
		return run.JobPage{}, err
	}
	page, err := j.log.page(offset, limit, j.hasEnded())
	if err != nil {
		return run.JobPage{}, d.unreadable(j, err)
	}
	return page, nil
}

func checkPage(h run.JobHandle, offset, limit int64) error {
	why, hint := "", ""
	switch {
	case offset < 0:
		why, hint = fmt.Sprintf("the offset is %d, below 0", offset),
			"an offset is a byte of the output: 0, or where the page before says the next one begins"
	case limit < 0 || limit > maxPage:
		why, hint = fmt.Sprintf("the size of the page is %d, outside 1 to %d", limit, maxPage),
			"ask for the rest page by page"
	default:
		return nil
	}
	return &fault.Error{Kind: fault.Invalid, Op: "read output", Subject: fmt.Sprintf("%q", shorten(string(h))), Why: why,
		Hint: hint}
}

// unreadable explains a failed read: most likely the job was forgotten meanwhile.
func (d *List) unreadable(j *job, err error) error {
	if _, gone := d.find(j.handle); gone != nil {
		return gone
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "read output", Subject: string(j.handle), Err: fault.Reason(err),
		Hint: "start the job again"}
}

// page returns a page of the output. The caller must ask before whether the job has ended, so that the last output is
// not missed.
func (s *outputFile) page(offset, limit int64, ended bool) (run.JobPage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := run.JobPage{Offset: offset, Next: offset, Total: s.total, Dropped: s.total - s.size, Ended: ended}
	begin := max(offset-margin, 0)
	data, err := s.read(make([]byte, offset-begin+limit+margin), begin)
	if err != nil {
		return run.JobPage{}, err
	}
	end := begin + int64(len(data))
	if end == s.size && (!ended || s.why != "") {
		data = data[:len(data)-text.Incomplete(data)] // the rest is still to come, or lost
		end = begin + int64(len(data))
	}
	if offset < end {
		part, next := text.Page(data, offset-begin, limit)
		p.Data, p.Next = part, begin+next
		p.Offset = p.Next - int64(len(part))
	}
	p.More = p.Next < end
	return p, nil
}
