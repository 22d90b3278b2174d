package views

import (
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// DeadGroup is a group of dead letters.
type DeadGroup struct {
	Kind        string    `json:"kind"`
	Fingerprint string    `json:"fingerprint"`
	Count       Count     `json:"count"`
	Queues      []string  `json:"queues"`
	FirstSeen   Timestamp `json:"first_seen"`
	LastSeen    Timestamp `json:"last_seen"`
	Job         string    `json:"job"`
	Reason      Text      `json:"reason"`
	Error       Text      `json:"error"`
}

// NewDeadGroup returns the view of a group, whose fingerprint is written like this.
func NewDeadGroup(g *store.DeadGroup, fingerprint string) DeadGroup {
	return DeadGroup{
		Kind: g.Kind, Fingerprint: fingerprint, Count: NewCount(g.Count), Queues: g.Queues, FirstSeen: Timestamp(g.FirstSeen),
		LastSeen: Timestamp(g.LastSeen), Job: g.Job.String(), Reason: Text(g.Reason), Error: Text(g.Error),
	}
}

// DeadHeader is the header of a table of groups of dead letters.
var DeadHeader = []string{"FINGERPRINT", "KIND", "COUNT", "QUEUES", "FIRST SEEN", "LAST SEEN", "REASON", "ERROR"}

// DeadRow formats a group for a table.
func DeadRow(now time.Time, g *store.DeadGroup, fingerprint string) []string {
	count := strconv.Itoa(g.Count.N)
	if g.Count.More {
		count += "+"
	}
	line, _, _ := strings.Cut(g.Error, "\n")
	return []string{
		fingerprint, output.Clip(g.Kind, output.MaxName), count, output.Clip(strings.Join(g.Queues, ","), output.MaxName),
		output.Ago(now, g.FirstSeen), output.Ago(now, g.LastSeen), string(g.Reason), output.Clip(line, 80),
	}
}
