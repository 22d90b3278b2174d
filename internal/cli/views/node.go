package views

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/operation"
	"github.com/holdfastdev/holdfast/store"
)

// Node is a node, alive or ended.
type Node struct {
	ID         Big            `json:"id"`
	Name       string         `json:"name"`
	Host       Text           `json:"host"`
	Version    Text           `json:"version"`
	Engine     Text           `json:"engine"`
	Alive      bool           `json:"alive"`
	Leader     bool           `json:"leader"`
	Mode       string         `json:"mode"`
	ModeAt     Timestamp      `json:"mode_at"` // when a person asked for it
	ModeBy     Text           `json:"mode_by"`
	Unwell     []string       `json:"unwell"` // what is wrong with it
	Namespace  Text           `json:"namespace"`
	Slots      int            `json:"slots"`
	Running    int            `json:"running"`
	Queues     []string       `json:"queues"`      // empty: all
	QueueSlots map[string]int `json:"queue_slots"` // of queues with fewer than the node
	Kinds      []string       `json:"kinds"`
	DeadAfter  Span           `json:"dead_after"`
	StartedAt  Timestamp      `json:"started_at"`
	BeatAt     Timestamp      `json:"beat_at"`
	Silent     bool           `json:"silent"` // for several beats; it may be dead
	EndedAt    Timestamp      `json:"ended_at"`
	Ended      Text           `json:"ended"` // how: left, or dead
}

// kindsOf are the kinds for which a node has handlers of its program.
func kindsOf(n *store.Node) []string { return slices.DeleteFunc(sorted(n.Info.Kinds), store.IsOwnKind) }

// queuesOf are the queues that a node was told to serve; operations have their own besides.
func queuesOf(n *store.Node) []string {
	return slices.DeleteFunc(sorted(n.Info.Queues), func(queue string) bool { return queue == operation.Queue })
}

// NewNode returns the view of a node.
func NewNode(n *store.Node, now time.Time) Node {
	queueSlots := map[string]int{} // not null
	maps.Copy(queueSlots, n.Info.QueueSlots)
	delete(queueSlots, operation.Queue)
	return Node{
		ID: Big(n.ID), Name: n.Info.Name, Host: Text(n.Info.Host), Version: Text(n.Info.Version), Engine: Text(n.Info.Engine),
		Alive: isAlive(n, now), Leader: n.Leader,
		Namespace: Text(n.Info.Namespace),
		Mode:      n.Mode.String(), ModeAt: Timestamp(n.ModeAt), ModeBy: Text(n.ModeBy), Unwell: append([]string{}, n.Unwell...),
		Slots: n.Info.Slots, Running: n.Running,
		Queues: queuesOf(n), QueueSlots: queueSlots, Kinds: kindsOf(n), DeadAfter: Span(n.Info.DeadAfter),
		StartedAt: Timestamp(n.StartedAt), BeatAt: Timestamp(n.BeatAt), Silent: n.IsLate(now), EndedAt: Timestamp(n.DeadAt),
		Ended: Text(n.Ended.String()),
	}
}

// taken is how many of its slots a node uses, and how many jobs more it has claimed ahead.
func taken(n *store.Node) string {
	text := fmt.Sprintf("%d/%d", min(n.Running, n.Info.Slots), n.Info.Slots)
	if ahead := n.Running - n.Info.Slots; ahead > 0 {
		text += fmt.Sprintf(" +%d", ahead)
	}
	return text
}

// isAlive reports whether a node lives, as far as one can tell.
func isAlive(n *store.Node, now time.Time) bool { return n.DeadAt.IsZero() && !n.IsSilent(now) }

// NodeHeader is the header of a table of nodes.
var NodeHeader = []string{"ID", "NAME", "NAMESPACE", "STATUS", "RUNNING", "QUEUES", "KINDS", "STARTED", "BEAT"}

// NodeRow formats a node for a table.
func NodeRow(now time.Time, n *store.Node) []string {
	status := "alive"
	switch {
	case !n.DeadAt.IsZero():
		status = cmp.Or(n.Ended.String(), "ended") + " " + output.Ago(now, n.DeadAt)
	case n.IsSilent(now):
		status = "silent, seen " + output.Ago(now, n.BeatAt)
	default:
		if n.IsLate(now) {
			status += ", seen " + output.Ago(now, n.BeatAt)
		}
		if n.Leader {
			status += ", leader"
		}
		if n.Mode != store.NodeRuns {
			status += ", " + n.Mode.String()
		}
		if len(n.Unwell) > 0 {
			status += ", unwell"
		}
	}
	queues := "all"
	if len(n.Info.Queues) > 0 {
		queues = strings.Join(queuesOf(n), ",")
	}
	return []string{
		strconv.FormatInt(n.ID, 10), output.Clip(n.Info.Name, output.MaxName), output.Clip(n.Info.Namespace, output.MaxName),
		status, taken(n),
		output.Clip(queues, 40), output.Clip(strings.Join(kindsOf(n), ","), 40),
		output.Ago(now, n.StartedAt), output.Ago(now, n.BeatAt),
	}
}

// Build is by which program a run was done.
type Build struct {
	Program Text `json:"program"`
	Engine  Text `json:"engine"`
}

// newBuild returns nil for one that is not known.
func newBuild(b store.Build) *Build {
	if b == (store.Build{}) {
		return nil
	}
	return &Build{Text(b.Program), Text(b.Engine)}
}

// buildText tells it to people; "" if it is not known.
func buildText(b store.Build) string {
	text := b.Program
	if b.Engine != "" {
		text += " with holdfast " + b.Engine
	}
	return text
}
