package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// NodeInfo is what a node tells of itself when it joins.
type NodeInfo struct {
	Name string // host name and process, for people
	Host string // the machine that it runs on; empty: it does not say, as nodes of earlier programs
	// Version is that of the program, as it was built, and Engine that of Holdfast in it; empty: it
	// does not say, as nodes of earlier programs of the second.
	Version string
	Engine  string
	// Namespace is the one whose jobs the node claims; empty: it does not say, as nodes of earlier
	// programs.
	Namespace string
	Queues    []string // names, or patterns as ServedAs takes them; empty: all
	Kinds     []string // as in ClaimParams
	Slots     int
	// QueueSlots are the slots of the queues that have fewer than the node, by name or pattern; see
	// SlotsOf.
	QueueSlots map[string]int
	// DeadAfter is how long the node may be silent before others declare it dead; 0: it does not
	// say, as nodes of earlier programs.
	DeadAfter time.Duration
	// Policies are what the node's handlers promise of their kinds, by the kind's name without a
	// version. A node that rescues this one's jobs goes by them: it need not know the kinds itself.
	Policies map[string]Policy

	// Was is the membership that the same process had before, which was declared dead; 0: none.
	// What people want of the node stays with it: Mode, and who asked for that and when, are those
	// of the membership. If that is not known any more, Mode is what the process knows of. Was and
	// Mode are not listed.
	Was  int64
	Mode NodeMode
}

// NodeMode is what people want of a node.
type NodeMode uint8

// The modes of a node.
const (
	// NodeRuns: the node claims jobs.
	NodeRuns NodeMode = iota
	// NodeQuiet: it claims nothing, gives back what it has not started, and goes on with what it
	// runs.
	NodeQuiet
	// NodeDrains: the same, and it leaves when its jobs have ended, or its time to stop is over.
	// That is final.
	NodeDrains
)

// String returns the mode as a word.
func (m NodeMode) String() string {
	switch m {
	case NodeRuns:
		return "running"
	case NodeQuiet:
		return "quiet"
	case NodeDrains:
		return "draining"
	default:
		return fmt.Sprintf("NodeMode(%d)", uint8(m))
	}
}

// AskNodeParams asks a living node for a mode. What was asked is kept until the node leaves or
// dies, and is told to it by its beats. A node that has the mode already is left as it is, and no
// action is recorded.
type AskNodeParams struct {
	Node  int64
	Mode  NodeMode
	Actor string // who asked
}

// Check returns what is wrong with the params, or nil.
func (p AskNodeParams) Check() error {
	if p.Mode > NodeDrains {
		return fmt.Errorf("%w: mode %v of a node", ErrInvalid, p.Mode)
	}
	return nil
}

// Action is what is recorded of it: quiet, drain or resume.
func (p AskNodeParams) Action() string {
	switch p.Mode {
	case NodeQuiet:
		return "quiet"
	case NodeDrains:
		return "drain"
	default:
		return "resume"
	}
}

// UnwellOf reads what a store keeps of Node.Unwell, a JSON array of texts or nothing.
func UnwellOf(text string) (unwell []string) {
	if text != "" {
		_ = json.Unmarshal([]byte(text), &unwell) // a later program may say it otherwise
	}
	return unwell
}

// Build is by which program the node runs.
func (i *NodeInfo) Build() Build { return Build{i.Version, i.Engine} }

// Has reports whether the node claims jobs of a kind, as in ClaimParams.Kinds, in any queue of a
// namespace.
func (i *NodeInfo) Has(namespace, kind string) bool {
	return (i.Namespace == "" || i.Namespace == namespace) && slices.Contains(i.Kinds, kind)
}

// Claims reports whether the node claims jobs of a kind in a queue of a namespace.
func (i *NodeInfo) Claims(namespace, queue, kind string) bool {
	return i.Has(namespace, kind) && i.Serves(queue)
}

// SlotsOf is how many slots a queue has on the node, if those are fewer than all; else 0.
func (i *NodeInfo) SlotsOf(queue string) int {
	as, _ := ServedAs(i.Queues, queue)
	return i.QueueSlots[as]
}

// Serves reports whether the node serves a queue of its namespace.
func (i *NodeInfo) Serves(queue string) bool {
	_, ok := ServedAs(i.Queues, queue)
	return ok
}

// NodeEnd is how a node has ended.
type NodeEnd uint8

// The ends of nodes.
const (
	// NodeEndUnknown: the node lives, or has ended before stores noted how.
	NodeEndUnknown NodeEnd = iota
	// NodeLeft: it has left in good order, and has given its jobs back.
	NodeLeft
	// NodeDied: it was declared dead, as it was silent for too long or its process was gone, and
	// its jobs were rescued.
	NodeDied
)

// String returns the end as a word: "left", "dead", or "" if it is not known.
func (e NodeEnd) String() string {
	switch e {
	case NodeEndUnknown:
		return ""
	case NodeLeft:
		return "left"
	case NodeDied:
		return "dead"
	default:
		return fmt.Sprintf("NodeEnd(%d)", uint8(e))
	}
}

// Node is a node as others see it.
type Node struct {
	ID        int64
	Info      NodeInfo
	StartedAt time.Time
	BeatAt    time.Time
	DeadAt    time.Time // zero while it lives; when it left or was declared dead
	Ended     NodeEnd   // which of these it was
	Running   int       // jobs under its leases
	Leader    bool      // holds the maintenance lease
	Mode      NodeMode
	ModeAt    time.Time // when a person asked for it; zero: there was no request
	ModeBy    string    // who that was
	Unwell    []string  // what was wrong with the node when it beat last, in words; nil: nothing
}

// usualDeadAfter is taken for the DeadAfter of a node that does not say one.
const usualDeadAfter = 20 * time.Second

// deadAfter is how long the node may be silent.
func (n *Node) deadAfter() time.Duration {
	if n.Info.DeadAfter > 0 {
		return n.Info.DeadAfter
	}
	return usualDeadAfter
}

// LeasedUntil is until when the leases of a node last by its last beat: others may take its jobs
// then, once the leader has declared it dead.
func (n *Node) LeasedUntil() time.Time { return n.BeatAt.Add(n.deadAfter()) }

// IsLate reports whether a node that has not ended has been silent for several beats: for more than
// half of its DeadAfter. It may have been killed, or stand still.
func (n *Node) IsLate(now time.Time) bool {
	return n.DeadAt.IsZero() && now.Sub(n.BeatAt) > n.deadAfter()/2
}

// IsSilent reports whether a node should have been declared dead by now, and was not: no node may
// be left to do so.
func (n *Node) IsSilent(now time.Time) bool {
	return n.DeadAt.IsZero() && now.Sub(n.BeatAt) > n.deadAfter()*3/2
}

// Beat is the answer to a heartbeat.
type Beat struct {
	// Mode is what people want of the node.
	Mode NodeMode
	// Cancels are the jobs of this node for which a cancel was requested, all of them, each time.
	Cancels []CancelRequest
	// Pauses are the jobs of this node for which a pause was requested, all of them, each time.
	Pauses []ID
	// Leader tells whether the node holds the leader lease until the next beat or so; Epoch grows
	// with each holder. It is for logs: what a leader does is right even if two nodes do it, so no
	// write is fenced by it.
	Leader bool
	Epoch  int64
	// At is the time of this beat by the clock that says when nodes beat.
	At time.Time
	// Nodes are the last beats of all other nodes that live as far as anybody has said, for a node
	// that leads. See RescueParams.Dead.
	Nodes []NodeBeat
	// Work is what there may be to do for a node that leads.
	Work Work
	// Held are the leases that BeatParams.Held asks about.
	Held []Lease
}

// NodeBeat is the last sign of life of a node. At changes with each beat, but need not grow: the
// clock may go back.
type NodeBeat struct {
	Node int64
	At   time.Time
}

// Work names the duties of Maintenance that fall to the node that leads. A duty that is not set has
// nothing to do now; one that is set may turn out to be nothing.
type Work struct {
	Rescue        bool // a node that is declared dead holds something, or one may have been killed
	SweepCancels  bool
	CloseChildren bool // or answers to deliver, or successors to tell
}

// CancelRequest asks a running job to stop.
type CancelRequest struct {
	Job    ID
	Reason string
	Actor  string
	At     time.Time
}

// BeatParams is a heartbeat.
type BeatParams struct {
	Node int64
	// LeaderTTL: if positive the node also tries to get or keep the leader lease for that long. A
	// lease is over when its time has come, and also if that is farther ahead than the lease was
	// ever long: then the clock has gone back.
	LeaderTTL time.Duration
	// Lead: a node that leads is told what there is to do (Work), and how the others are (At,
	// Nodes).
	Lead bool
	// Held asks what the node holds.
	Held HeldParams
	// Unwell is what is wrong with the node, in words, until the next beat.
	Unwell []string
}

// HeldParams names claim records of a node: some by their numbers, and those from one number up to
// before another. Leases of theirs whose runs have not ended are answered. Asking about what is new
// since the last time, and what was not done then, costs the same however much the node has
// claimed. The zero value asks for nothing.
type HeldParams struct {
	Claims   []int64
	From, To int64
}

// RescueParams says which nodes are dead, or which leases of a living one are lost.
type RescueParams struct {
	// Dead are nodes to declare dead, each with the last sign of life that it gave. One that has
	// given another one since lives; nor is one declared dead that is claiming or writing at this
	// very moment, but for what is written in a caller's transaction. SQLite also knows at once
	// that a node on the same machine was killed.
	//
	// That a node is silent is found by a node that watches it for long enough, by a monotonic
	// clock of its own: the database's may jump.
	Dead []NodeBeat
	// Limit is that of claim records in one transaction; 0: the store chooses. Ask again until
	// nothing is rescued.
	//
	// What becomes of a job is what the Policy says that its node had for its kind (Policy.Lost):
	// it is Retryable after the delay with ReasonNodeLost, or Failed with ReasonCrashLoop. The lost
	// run is counted, and the Job.Attempt that the policy is asked with includes it, unless the
	// job's journal grew under its lease, whose number its last entry then has: a job that gets
	// further each time does not use up its attempts; nor does one whose last entry is an
	// EntryEnded, which has come to its end. A requested cancel comes first (Cancelled),
	// then a deadline that is over by the next attempt (Failed, ReasonDeadline), then a requested
	// pause. A job with a journal is treated as Outcome says of a Durable one whose run has seen
	// the request to cancel: the next one ends the job, after the delay, if there is a next one.
	//
	// A job that a caller's transaction holds at the moment (AppendTx, SendTx) is left to the next
	// time.
	Limit int
	// Lost are leases of a living node, given up by that node itself because no run of its own
	// works on them. Their jobs become what they would if the node were dead, and nothing else of
	// it is touched. One that is not the job's live lease is passed over, so that asking twice does
	// no harm.
	//
	// A call that names some sees to them alone, in one transaction: Dead and Limit say nothing.
	Lost []Lease
}

// Rescued is the answer of Rescue. With an error it tells what has happened before that.
type Rescued struct {
	Jobs  []RescuedJob
	Died  []int64 // nodes that this call has declared dead
	Wakes []Wake
}

// RescuedJob is one job that was taken from a dead node, or from a living one that gave it up.
type RescuedJob struct {
	Job       ID
	Namespace string
	Kind      string // without the version
	Node      int64
	State     State // Retryable, Failed or Cancelled
	Reason    Reason
	Queue     string
	RunAt     time.Time
}

type elsewhereKey struct{}

// Elsewhere returns the context of a Join of a node that is not of the store's process, and may
// outlive that. A store that would find out by itself that the process has died does not look.
func Elsewhere(ctx context.Context) context.Context {
	return context.WithValue(ctx, elsewhereKey{}, true)
}

// IsElsewhere reports whether a context is one of Elsewhere, or was made from it.
func IsElsewhere(ctx context.Context) bool { return ctx.Value(elsewhereKey{}) != nil }
