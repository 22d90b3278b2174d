package views

import (
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// Retention is a class of retention. A time is a duration such as 168h0m0s, "forever", or null: as
// in other queues.
type Retention struct {
	Name      string    `json:"name"`
	Completed Text      `json:"completed"`
	Failed    Text      `json:"failed"`
	Cancelled Text      `json:"cancelled"`
	SetAt     Timestamp `json:"set_at"`
	SetBy     Text      `json:"set_by"`
}

// NewRetention returns the view of a class.
func NewRetention(c *store.RetentionClass) Retention {
	return Retention{
		Name: c.Name, Completed: keepText(c.Completed), Failed: keepText(c.Failed), Cancelled: keepText(c.Cancelled),
		SetAt: Timestamp(c.SetAt), SetBy: Text(c.SetBy),
	}
}

func keepText(keep time.Duration) Text {
	switch {
	case keep == 0:
		return ""
	case keep < 0:
		return "forever"
	}
	return Text(keep.String())
}

// RetentionHeader is the header of a table of classes.
var RetentionHeader = []string{"NAME", "COMPLETED", "FAILED", "CANCELLED", "SET"}

// RetentionRow formats a class for a table.
func RetentionRow(now time.Time, c *store.RetentionClass) []string {
	keep := func(d time.Duration) string {
		if d == 0 {
			return "as in other queues"
		}
		return string(keepText(d))
	}
	set := output.Ago(now, c.SetAt)
	if c.SetBy != "" {
		set += " by " + output.Clip(c.SetBy, output.MaxName)
	}
	return []string{output.Clip(c.Name, output.MaxName), keep(c.Completed), keep(c.Failed), keep(c.Cancelled), set}
}

// DeletedRetention is a class that was deleted.
type DeletedRetention struct {
	Name    string `json:"name"`
	Deleted bool   `json:"deleted"`
}

// Removed is how many jobs retention has removed on a day.
type Removed struct {
	Day   string `json:"day"` // such as 2026-11-27, in UTC
	Queue string `json:"queue"`
	State string `json:"state"`
	Jobs  int64  `json:"jobs"`
	Stubs int64  `json:"stubs"` // how many of these have left one
}

// NewRemoved returns the view of it.
func NewRemoved(r *store.Removed) Removed {
	return Removed{Day: r.Day.Format(time.DateOnly), Queue: r.Queue, State: r.State.String(), Jobs: r.Jobs, Stubs: r.Stubs}
}

// RemovedHeader is the header of a table of them.
var RemovedHeader = []string{"DAY", "QUEUE", "STATE", "JOBS"}

// RemovedRow formats one for a table.
func RemovedRow(r *store.Removed) []string {
	v := NewRemoved(r)
	return []string{v.Day, output.Clip(v.Queue, output.MaxName), v.State, strconv.FormatInt(v.Jobs, 10)}
}
