package views

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// EventColumns are the columns of the table of changes.
var EventColumns = []output.Column{
	{Name: "POSITION", Width: 16},
	{Name: "WHEN", Width: 24},
	{Name: "JOB", Width: 36},
	{Name: "QUEUE", Width: 12},
	{Name: "KIND", Width: 16},
	{Name: "STATE"},
}

// EventRow formats a change for a table.
func EventRow(c *store.Change) []string {
	state := c.State.String()
	if c.Reason != "" {
		state += " (" + string(c.Reason) + ")"
	}
	if c.Fingerprint != 0 {
		state += " " + store.FingerprintText(c.Fingerprint)
	}
	return []string{c.Position.String(), output.Clock(c.At), c.Job.String(), c.Queue, c.Kind, state}
}

// Feed is the status of the feed of changes.
type Feed struct {
	On bool `json:"on"`
	// Since is when it was switched on, Oldest and Newest the positions between which changes are
	// kept. They are null if it is off.
	Since  *time.Time          `json:"since"`
	Oldest *store.FeedPosition `json:"oldest"`
	Newest *store.FeedPosition `json:"newest"`
}

// NewFeed is the view of a status.
func NewFeed(s *store.FeedStatus) Feed {
	if !s.On {
		return Feed{}
	}
	return Feed{true, &s.Since, &s.Oldest, &s.Newest}
}
