package cron

// Options are what an expression does not say itself.
type Options struct {
	Zone string // of the IANA database; default UTC
	DST  DST
	Seed string // by which H is spread: the name of the schedule
}

// DST is what becomes of a fixed time that the clock goes over when it is set forward.
type DST uint8

const (
	// Run fires it at the first instant after the gap.
	Run DST = iota
	// Skip leaves it out.
	Skip
)

func (d DST) String() string {
	if d == Skip {
		return "skip"
	}
	return "run"
}
