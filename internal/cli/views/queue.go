package views

import (
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/describe"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// Queue is a queue with its job counts.
type Queue struct {
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"`
	CreatedAt Timestamp        `json:"created_at"`
	Paused    bool             `json:"paused"`
	PausedAt  Timestamp        `json:"paused_at"`
	PausedBy  Text             `json:"paused_by"`
	RestUntil Timestamp        `json:"rest_until"` // the last rest, which may be over
	RestLevel int              `json:"rest_level"`
	Attempts  Attempts         `json:"attempts"`
	Counts    map[string]Count `json:"counts"`
	OldestDue Timestamp        `json:"oldest_due"`
}

// Count is a number of jobs; if it is not exact, there are more.
type Count struct {
	Jobs  int  `json:"jobs"`
	Exact bool `json:"exact"`
}

// countedStates are the states of jobs that queues count.
var countedStates = []store.State{
	store.Available, store.Running, store.Scheduled, store.Retryable, store.Waiting,
}

// NewQueue returns the view of a queue.
func NewQueue(q *store.Queue) Queue {
	v := Queue{
		Namespace: q.Namespace, Name: q.Name, CreatedAt: Timestamp(q.CreatedAt),
		Paused: !q.PausedAt.IsZero(), PausedAt: Timestamp(q.PausedAt), PausedBy: Text(q.PausedBy),
		RestUntil: Timestamp(q.Rest.Until), RestLevel: q.Rest.Level, Attempts: newAttempts(q.Attempts),
		Counts: map[string]Count{}, OldestDue: Timestamp(q.OldestDue),
	}
	for _, state := range countedStates {
		count := q.Counts[state]
		v.Counts[state.String()] = NewCount(count)
	}
	return v
}

// NewCount returns the view of a count.
func NewCount(c store.Count) Count { return Count{Jobs: c.N, Exact: !c.More} }

// CountText formats a count for a table.
func CountText(c store.Count) string {
	if c.More {
		return strconv.Itoa(c.N) + "+"
	}
	return strconv.Itoa(c.N)
}

// QueueHeader is the header of a table of queues.
var QueueHeader = []string{"NAME", "AVAILABLE", "RUNNING", "SCHEDULED", "RETRYABLE", "WAITING", "OLDEST", "PAUSED", "SET"}

// QueueRow formats a queue for a table.
func QueueRow(now time.Time, q *store.Queue) []string {
	row := []string{output.Clip(q.Name, output.MaxName)}
	for _, state := range countedStates {
		row = append(row, CountText(q.Counts[state]))
	}
	oldest, paused := "-", ""
	if !q.OldestDue.IsZero() {
		oldest = "due " + output.Ago(now, q.OldestDue)
	}
	if !q.PausedAt.IsZero() {
		paused = output.Ago(now, q.PausedAt) + " by " + q.PausedBy
	}
	if q.Rest.At(now) {
		if paused != "" {
			paused += "; "
		}
		paused += "rests for " + output.Rough(q.Rest.Until.Sub(now)) + " more"
	}
	return append(row, oldest, paused, q.Attempts.String())
}

// WholeQueue is a queue with those who serve it.
type WholeQueue struct {
	Queue

	// Limit is the one that queue set makes; null: there is none.
	Limit    *Limit      `json:"limit"`
	Nodes    []QueueNode `json:"nodes"`
	Unserved []Unserved  `json:"unserved"`
	// Kinds are those that the nodes serve, and how jobs of them are attempted here.
	Kinds []KindAttempts `json:"kinds"`
	// Descriptor is what code tells of it; null: nothing.
	Descriptor *Descriptor `json:"descriptor"`
}

// QueueNode is a live node that serves a queue.
type QueueNode struct {
	ID    Big      `json:"id"`
	Name  string   `json:"name"`
	Slots int      `json:"slots"` // for jobs of the queue
	Kinds []string `json:"kinds"`
}

// NewWholeQueue returns the view of a queue, of its limit, which may be nil, and of those who serve
// it.
func NewWholeQueue(q *store.Queue, of *store.Limit, nodes []store.Node, unserved []store.Unserved, now time.Time) WholeQueue {
	v := WholeQueue{Queue: NewQueue(q), Nodes: []QueueNode{}, Unserved: []Unserved{}}
	if of != nil {
		v.Limit = new(NewLimit(of))
	}
	var serving []*store.Node
	for i := range nodes {
		n := &nodes[i]
		if n.Info.Namespace != "" && n.Info.Namespace != q.Namespace || !n.Info.Serves(q.Name) || !isAlive(n, now) {
			continue
		}
		serving = append(serving, n)
		slots := n.Info.Slots
		if own := n.Info.SlotsOf(q.Name); own > 0 {
			slots = own
		}
		v.Nodes = append(v.Nodes, QueueNode{ID: Big(n.ID), Name: n.Info.Name, Slots: slots, Kinds: kindsOf(n)})
	}
	v.Kinds = kindsAttempts(q.Attempts.AttemptSettings, serving)
	for i := range unserved {
		if unserved[i].Queue == q.Name {
			v.Unserved = append(v.Unserved, newUnserved(&unserved[i]))
		}
	}
	return v
}

// PrintQueue prints a queue for people.
func PrintQueue(out *output.Printer, now time.Time, q *store.Queue, of *store.Limit, v *WholeQueue, told *describe.Described) {
	w := out.NewTable(3)
	w.Add("name", q.Name)
	w.Add("namespace", q.Namespace)
	w.Add("created", q.CreatedAt.UTC().Format("2006-01-02 15:04:05.000Z")+"  "+output.Ago(now, q.CreatedAt))
	row := QueueRow(now, q)
	for i, state := range countedStates {
		w.Add(state.String(), row[1+i])
	}
	w.Add("oldest", row[len(row)-3])
	if paused := row[len(row)-2]; paused != "" {
		w.Add("paused", paused)
	}
	if set := SetText(now, q.Attempts); set != "" {
		w.Add("set", set)
	}
	if of != nil {
		w.Add("limit", boundText(&of.LimitSettings))
	}
	for i := range v.Unserved {
		u := &v.Unserved[i]
		why := "no live node serves the kind"
		if u.Known {
			why = "no live node serves the kind in this queue"
		}
		w.Add("unserved", output.OneLine(u.Kind)+", due "+output.Ago(now, time.Time(u.OldestDue))+": "+why)
	}
	addDescriptor(w, now, told)
	w.Flush()
	if len(v.Nodes) == 0 {
		out.Printf("\nno live node serves this queue")
		return
	}
	out.Printf("\nlive nodes that serve it:")
	nodes := out.NewTable(2)
	nodes.Add("ID", "NAME", "SLOTS", "KINDS")
	for _, n := range v.Nodes {
		nodes.Add(strconv.FormatInt(int64(n.ID), 10), output.Clip(n.Name, output.MaxName), strconv.Itoa(n.Slots),
			output.Clip(strings.Join(n.Kinds, ","), 60))
	}
	nodes.Flush()
	out.Printf("\nhow jobs that do not say themselves are attempted:")
	kinds := out.NewTable(2)
	kinds.Add(kindAttemptsHeader...)
	for i := range v.Kinds {
		kinds.Add(kindAttemptsRow(&v.Kinds[i])...)
	}
	kinds.Flush()
}

// StuckKey is an ordering key whose turn a failed job keeps.
type StuckKey struct {
	Namespace string    `json:"namespace"`
	Queue     string    `json:"queue"`
	Key       string    `json:"key"`
	Job       string    `json:"job"`
	Since     Timestamp `json:"since"`
	Reason    Text      `json:"reason"`
	Waiting   Count     `json:"waiting"`
}

// NewStuckKey returns the view of a stuck key of a queue.
func NewStuckKey(namespace, queue string, k *store.StuckKey) StuckKey {
	return StuckKey{
		Namespace: namespace, Queue: queue, Key: k.Key, Job: k.Job.String(), Since: Timestamp(k.Since), Reason: Text(k.Reason),
		Waiting: NewCount(k.Waiting),
	}
}

// StuckHeader is the header of a table of stuck keys.
var StuckHeader = []string{"QUEUE", "KEY", "JOB", "FAILED", "REASON", "WAITING"}

// StuckRow formats a stuck key for a table.
func StuckRow(now time.Time, queue string, k *store.StuckKey) []string {
	return []string{
		output.Clip(queue, output.MaxName), output.Clip(k.Key, output.MaxName), k.Job.String(),
		output.Ago(now, k.Since), string(k.Reason), CountText(k.Waiting),
	}
}
