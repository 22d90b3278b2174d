package store

import "context"

// Examines looks at a database itself: at its settings, the rights in it, its file or server, and
// at what others do there that makes jobs slow or unsafe. A Source implements it beside Source.
type Examines interface {
	// Examine looks, and changes nothing that stays. It returns a finding for each thing that it
	// has looked at, also if all is well, in an order that does not change. What the role must not
	// see, or the database does not have yet, is a Note. An error is that the database did not
	// answer.
	Examine(ctx context.Context) ([]Finding, error)
}

// Finding is what was found of one thing that was looked at.
type Finding struct {
	Check    string   // what was looked at: a name that stays the same, such as "durability"
	Severity Severity // the worst of it
	Text     string   // how it is, in a sentence without its full stop
	Do       string   // what to do, in the same way; "" if there is nothing to do
}

// Severity is how much a finding matters.
type Severity int8

// The severities.
const (
	Well    Severity = iota // as it should be
	Note                    // worth knowing; nothing is wrong
	Warning                 // jobs are slower, or less safe, than they could be, or will be soon
	Problem                 // jobs do not run, or can be lost
)

// String returns ok, note, warning or problem.
func (s Severity) String() string {
	switch s {
	case Well:
		return "ok"
	case Note:
		return "note"
	case Warning:
		return "warning"
	case Problem:
		return "problem"
	}
	return "unknown"
}
