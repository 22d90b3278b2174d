package app

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Progress is a progress bar on standard error, if that is a terminal. The zero value shows
// nothing.
type Progress struct {
	bar *progressbar.ProgressBar
	out io.Writer
}

// NewProgress shows a bar for size bytes of input, or one without an end if size is negative.
func (a *App) NewProgress(size int64) *Progress {
	if a.Quiet || !a.Env.Terminal(a.Env.Stderr) {
		return &Progress{}
	}
	return &Progress{out: a.Env.Stderr, bar: progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(a.Env.Stderr),
		progressbar.OptionSetDescription("enqueueing"),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetSpinnerChangeInterval(0), // its goroutine would race with this one
		progressbar.OptionSetPredictTime(size >= 0),
		progressbar.OptionClearOnFinish(),
	)}
}

// NewCount shows how many things are done of total; negative: of an unknown number.
func (a *App) NewCount(total int, doing string) *Progress {
	if a.Quiet || !a.Env.Terminal(a.Env.Stderr) {
		return &Progress{}
	}
	return &Progress{out: a.Env.Stderr, bar: progressbar.NewOptions(total,
		progressbar.OptionSetWriter(a.Env.Stderr),
		progressbar.OptionSetDescription(doing),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetSpinnerChangeInterval(0),
		progressbar.OptionSetPredictTime(total >= 0),
		progressbar.OptionClearOnFinish(),
	)}
}

// Done updates a bar of NewCount.
func (p *Progress) Done(n int) {
	if p.bar != nil {
		_ = p.bar.Set(n)
	}
}

// Set updates the bar. Errors of drawing are ignored.
func (p *Progress) Set(read int64, jobs int) {
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf("%d jobs", jobs))
		_ = p.bar.Set64(read)
	}
}

// Clear clears the bar's line for other output.
func (p *Progress) Clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// Close removes the bar.
func (p *Progress) Close() {
	p.Clear()
	p.bar = nil
}
