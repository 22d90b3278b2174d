package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress is a bar on standard error, if that is a terminal. The zero value shows nothing.
type progress struct {
	bar *progressbar.ProgressBar
	out io.Writer
}

// newProgress begins a bar over size bytes of input, or one without an end if size is negative.
func (a *app) newProgress(size int64) *progress {
	if a.quiet || !a.env.Terminal(a.env.Stderr) {
		return &progress{}
	}
	return &progress{out: a.env.Stderr, bar: progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(a.env.Stderr),
		progressbar.OptionSetDescription("enqueueing"),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetSpinnerChangeInterval(0), // its goroutine races with us
		progressbar.OptionSetPredictTime(size >= 0),
		progressbar.OptionClearOnFinish(),
	)}
}

// set shows how far it is. A bar that cannot be drawn is no reason to stop.
func (p *progress) set(read int64, jobs int) {
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf("%d jobs", jobs))
		_ = p.bar.Set64(read)
	}
}

// clear makes room for a line.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// close takes the bar away.
func (p *progress) close() {
	p.clear()
	p.bar = nil
}
