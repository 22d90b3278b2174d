package app

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Progress is a bar on standard error, if that is a terminal. The zero value shows nothing.
type Progress struct {
	bar *progressbar.ProgressBar
	out io.Writer
}

// NewProgress begins a bar over size bytes of input, or one without an end if size is negative.
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
		progressbar.OptionSetSpinnerChangeInterval(0), // its goroutine races with us
		progressbar.OptionSetPredictTime(size >= 0),
		progressbar.OptionClearOnFinish(),
	)}
}

// Set shows how far it is. A bar that cannot be drawn is no reason to stop.
func (p *Progress) Set(read int64, jobs int) {
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf("%d jobs", jobs))
		_ = p.bar.Set64(read)
	}
}

// Clear makes room for a line.
func (p *Progress) Clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// Close takes the bar away.
func (p *Progress) Close() {
	p.Clear()
	p.bar = nil
}
