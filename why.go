package holdfast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

// Why says what a job is doing, and what it waits for; see Client.Why.
type Why struct {
	Job    ID      `json:"job"`
	State  State   `json:"state"`
	Causes []Cause `json:"causes"` // the nearest one first; there is always one
}

// String returns the texts of the causes.
func (w Why) String() string {
	texts := make([]string, len(w.Causes))
	for i, c := range w.Causes {
		texts[i] = c.Text
	}
	return strings.Join(texts, "; ")
}

// Cause is one reason why a job has not finished, or what it is doing.
type Cause struct {
	Code CauseCode `json:"code"`
	// Text is for people, such as "no live node serves the kind mail".
	Text string `json:"text"`
	// Until is the latest time at which the cause ends without intervention; zero if unknown.
	Until time.Time `json:"until,omitzero"`
	// Job is the job that is waited for: the child, or the one that has the turn of the ordering
	// key.
	Job ID `json:"job,omitzero"`
	// Node is the node that runs the job.
	Node int64 `json:"node,omitzero"`
}

// CauseCode is a cause as a code for programs.
type CauseCode string

// The causes. Those of one job are listed in this order, but a silent node comes before what it runs.
const (
	CauseFinished    CauseCode = "finished"
	CauseRunning     CauseCode = "running"      // on Node
	CausePaused      CauseCode = "paused"       // a person paused the job
	CauseHeld        CauseCode = "held"         // its code and its journal contradict each other
	CauseScheduled   CauseCode = "scheduled"    // its time, Until, has not come
	CauseRetry       CauseCode = "retry"        // an attempt, or a step, failed; the next one is due at Until
	CauseTimer       CauseCode = "timer"        // a durable function sleeps until Until
	CauseSignal      CauseCode = "signal"       // it waits for a signal
	CauseCallback    CauseCode = "callback"     // it waits for an answer from outside
	CauseChild       CauseCode = "child"        // it waits for Job, or for several
	CauseWaiting     CauseCode = "waiting"      // it waits for one of several things
	CauseTurn        CauseCode = "turn"         // Job has the turn of its ordering key
	CauseQueuePaused CauseCode = "queue_paused" // a person paused its queue
	CauseNoNode      CauseCode = "no_node"      // no node runs in its namespace
	CauseNoKind      CauseCode = "no_kind"      // no live node serves its kind, or the version that it is bound to
	CauseNoQueue     CauseCode = "no_queue"     // no live node that serves its kind serves its queue
	CauseSilentNode  CauseCode = "silent_node"  // the nodes that serve it have been silent
	CauseNoFreeSlot  CauseCode = "no_free_slot" // no node that serves it has a free slot
	CauseReady       CauseCode = "ready"        // nothing holds it up: a node takes it when its turn comes
)

// silentAfter is when a node is said to be silent that does not say when it is dead.
const silentAfter = 30 * time.Second

// Why says why a job does not start, continue or end, as the database sees it now. The cost does
// not depend on the number of jobs. The error is ErrNotFound if there is no such job.
func (c *Client) Why(ctx context.Context, id ID) (Why, error) {
	record, err := c.Get(ctx, id)
	if err != nil {
		return Why{}, err
	}
	why := Why{Job: record.ID, State: record.State}
	w := &whyOf{Record: &record, now: c.engine.Store.Now()}
	switch {
	case record.State.Finished():
		w.finished()
	case record.State == Running:
		if w.nodes, err = c.Nodes(ctx); err == nil {
			w.running()
		}
	case record.Wait != nil && record.Wait.Held:
		w.held()
	default:
		err = c.whyPending(ctx, w)
	}
	why.Causes = w.causes
	return why, err
}

// whyPending says why a job has not started that nobody holds.
func (c *Client) whyPending(ctx context.Context, w *whyOf) error {
	w.time()
	if w.State == Waiting && w.Wait.Until.IsZero() {
		return nil // no node can do anything about it
	}
	obstacles, err := c.engine.Store.Obstacles(ctx, w.ID)
	if err != nil {
		return err
	}
	if obstacles.Turn != uuid.Nil {
		if err := c.whyTurn(ctx, w, obstacles.Turn); err != nil {
			return err
		}
	}
	if !obstacles.QueuePausedAt.IsZero() {
		w.add(CauseQueuePaused, "queue %s has been paused for %s%s", w.Queue, w.since(obstacles.QueuePausedAt), by(obstacles.QueuePausedBy))
	}
	if w.nodes, err = c.Nodes(ctx); err != nil {
		return err
	}
	nodes := w.served()
	if len(nodes) == 0 || len(w.causes) > 0 { // which keep it from being ready
		return nil
	}
	if w.taken, err = c.takenOf(ctx, w, nodes); err != nil {
		return err
	}
	w.slots(nodes)
	return nil
}

// takenOf counts the slots of the job's queue that are taken on nodes where it has fewer than the
// node.
func (c *Client) takenOf(ctx context.Context, w *whyOf, nodes []NodeInfo) (map[int64]int, error) {
	if !slices.ContainsFunc(nodes, func(n NodeInfo) bool { return n.Info.QueueSlots[w.Queue] > 0 }) {
		return nil, nil
	}
	taken := map[int64]int{}
	running := Filter{Namespace: w.Namespace, Queues: []string{w.Queue}, States: []State{Running}}
	for after := ""; ; {
		page, err := c.List(ctx, running, after, 1000)
		if err != nil {
			return nil, err
		}
		for i := range page.Jobs {
			taken[page.Jobs[i].Lease.Node]++
		}
		if after = page.Next; after == "" {
			return taken, nil
		}
	}
}

// whyTurn says what the job does that has the turn.
func (c *Client) whyTurn(ctx context.Context, w *whyOf, turn ID) error {
	holder, err := c.Get(ctx, turn)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	state := "removed"
	if err == nil {
		state = holder.State.String()
	}
	w.add(CauseTurn, "job %s (%s) has the turn of its ordering key %q", turn, state, w.OrderingKey).Job = turn
	return nil
}

// whyOf collects the causes of a job.
type whyOf struct {
	*Record

	now    time.Time
	nodes  []NodeInfo
	taken  map[int64]int // slots of its queue, by node
	causes []Cause
}

func (w *whyOf) add(code CauseCode, format string, args ...any) *Cause {
	w.causes = append(w.causes, Cause{Code: code, Text: fmt.Sprintf(format, args...)})
	return &w.causes[len(w.causes)-1]
}

func (w *whyOf) since(t time.Time) string { return about(w.now.Sub(t)) }

func (w *whyOf) left(t time.Time) string { return about(t.Sub(w.now)) }

// about is a duration that people read.
func about(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 48*time.Hour:
		return d.Round(time.Second).String()
	}
	return strconv.Itoa(int(d.Hours()/24)) + " days"
}

func by(who string) string {
	if who == "" {
		return ""
	}
	return " by " + who
}

func because(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

func (w *whyOf) finished() {
	text := w.State.String() + " " + w.since(w.FinishedAt) + " ago"
	if w.State != Completed {
		text += " (" + string(w.Reason) + ")" + because(w.Error)
	}
	w.add(CauseFinished, "%s", text)
}

func (w *whyOf) running() {
	text := fmt.Sprintf("running on %s for %s, attempt %d", nodeName(w.Lease.Node, w.nodes), w.since(w.ClaimedAt), w.Attempt)
	switch {
	case w.CancelRequested:
		text += ", asked to stop"
	case w.PauseRequested:
		text += ", asked to pause"
	case w.Closing:
		text += ", compensating"
	}
	for i := range w.nodes {
		switch n := &w.nodes[i]; {
		case n.ID != w.Lease.Node:
		case !n.DeadAt.IsZero():
			w.add(CauseSilentNode, "%s, which ran it, ended %s ago; %s", nodeName(n.ID, w.nodes), w.since(n.DeadAt), w.rescue(n.ID)).Node = n.ID
		case w.silent(n):
			w.add(CauseSilentNode, "%s, which runs it, has sent no heartbeat for %s; %s",
				nodeName(n.ID, w.nodes), w.since(n.BeatAt), w.rescue(n.ID)).Node = n.ID
		}
	}
	w.add(CauseRunning, "%s", text).Node = w.Lease.Node
}

// rescue says who gives the jobs of a node to others.
func (w *whyOf) rescue(of int64) string {
	for i := range w.nodes {
		if n := &w.nodes[i]; n.ID != of && n.DeadAt.IsZero() && !w.silent(n) {
			return "its jobs run elsewhere once the leader has declared it dead"
		}
	}
	return "no other node is live to take its jobs: start one"
}

func (w *whyOf) held() {
	if w.Wait.Reason == store.ReasonPaused {
		who := ""
		for _, a := range w.Actions {
			if a.Kind == store.ActionPause {
				who = a.Actor
			}
		}
		w.add(CausePaused, "paused for %s%s%s", w.since(w.Wait.Since), by(who), because(w.Wait.Error))
		return
	}
	w.add(CauseHeld, "held for %s until a person resumes it: %s%s", w.since(w.Wait.Since), w.Wait.Reason, because(w.Wait.Error))
}

// time adds what the job's own time is waiting for.
func (w *whyOf) time() {
	switch w.State {
	case Scheduled:
		w.due(CauseScheduled, "scheduled for "+w.RunAt.UTC().Format(time.RFC3339)+",", w.RunAt)
	case Retryable:
		w.due(CauseRetry, fmt.Sprintf("attempt %d failed%s;", w.Attempt, because(w.Error)), w.RunAt)
	case Waiting:
		for _, what := range waitsFor(w.Wait.For) {
			w.waits(what)
		}
		if len(w.causes) == 0 {
			w.add(CauseWaiting, "waiting").Until = w.Wait.Until
		}
	default: // nothing of its own
	}
}

// due adds something that is over at a time. A little later a node makes the job available.
func (w *whyOf) due(code CauseCode, text string, at time.Time) {
	word := "due in " + w.left(at)
	switch {
	case !at.After(w.now):
		word = "due now"
	case code == CauseRetry:
		word = "next attempt in " + w.left(at)
	}
	w.add(code, "%s %s", text, word).Until = at
}

// waits adds something that a durable function waits for, in the words of its run.
func (w *whyOf) waits(what string) {
	code, job := CauseWaiting, ID{}
	first, rest, _ := strings.Cut(what, " ")
	switch {
	case first == "signal":
		code = CauseSignal
	case first == "callback":
		code = CauseCallback
	case first == "timer":
		code = CauseTimer
	case first == "step":
		code = CauseRetry
	case first == "child":
		code = CauseChild
		id, _, _ := strings.Cut(rest, " ")
		job, _ = uuid.Parse(id) // a child whose id is not in the text is not known
	case strings.Contains(what, " children "):
		code = CauseChild
	}
	text := "waiting for " + what
	if code == CauseRetry {
		text = "waiting to retry " + what
	}
	if until := w.Wait.Until; !until.IsZero() {
		text += ", until " + until.UTC().Format(time.RFC3339) + " at the latest, in " + w.left(until)
	}
	cause := w.add(code, "%s", text)
	cause.Until, cause.Job = w.Wait.Until, job
}

// waitsFor reads what a run says that it waits for.
func waitsFor(data []byte) []string {
	var says struct {
		WaitsFor []string `json:"waits_for"`
	}
	if json.Unmarshal(data, &says) != nil {
		return nil // a later program may say it otherwise
	}
	return says.WaitsFor
}

// silent reports whether a node should have been declared dead by now: nobody may be left to do so.
func (w *whyOf) silent(n *NodeInfo) bool {
	after := silentAfter
	if dead := n.Info.DeadAfter; dead > 0 {
		after = dead + dead/2
	}
	return n.DeadAt.IsZero() && w.now.Sub(n.BeatAt) > after
}

func nodeName(id int64, nodes []NodeInfo) string {
	for i := range nodes {
		if nodes[i].ID == id && nodes[i].Info.Name != "" {
			return fmt.Sprintf("node %d (%s)", id, nodes[i].Info.Name)
		}
	}
	return fmt.Sprintf("node %d", id)
}

// served returns the nodes that may take the job, or adds why there are none.
func (w *whyOf) served() []NodeInfo {
	nodes := slices.DeleteFunc(slices.Clone(w.nodes), func(n NodeInfo) bool { return !n.DeadAt.IsZero() })
	narrow := func(code CauseCode, fits func(*NodeInfo) bool, none func(before []NodeInfo) string) bool {
		before := nodes
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(n NodeInfo) bool { return !fits(&n) })
		if len(nodes) == 0 {
			w.add(code, "%s", none(before))
		}
		return len(nodes) > 0
	}
	kind := w.Kind
	if w.Version != "" {
		kind += "@" + w.Version
	}
	if !narrow(CauseNoNode, func(n *NodeInfo) bool { return n.Info.Namespace == w.Namespace || n.Info.Namespace == "" }, w.noNode) {
		return nil
	}
	if !narrow(CauseNoKind, func(n *NodeInfo) bool { return slices.Contains(n.Info.Kinds, kind) }, w.noKind) {
		return nil
	}
	servesQueue := func(n *NodeInfo) bool { return len(n.Info.Queues) == 0 || slices.Contains(n.Info.Queues, w.Queue) }
	if !narrow(CauseNoQueue, servesQueue, func([]NodeInfo) string {
		return fmt.Sprintf("no live node that serves the kind %s serves the queue %s", w.Kind, w.Queue)
	}) {
		return nil
	}
	if !narrow(CauseSilentNode, func(n *NodeInfo) bool { return !w.silent(n) }, func(before []NodeInfo) string {
		n := before[len(before)-1]
		return fmt.Sprintf("%s serves it, but has sent no heartbeat for %s", nodeName(n.ID, before), w.since(n.BeatAt))
	}) {
		return nil
	}
	return nodes
}

func (w *whyOf) noNode(alive []NodeInfo) string {
	if len(alive) > 0 {
		return "no live node serves the namespace " + w.Namespace
	}
	last := time.Time{}
	for i := range w.nodes {
		if w.nodes[i].DeadAt.After(last) {
			last = w.nodes[i].DeadAt
		}
	}
	if last.IsZero() {
		return "no node is running"
	}
	return "no node is running; the last one ended " + w.since(last) + " ago"
}

func (w *whyOf) noKind(alive []NodeInfo) string {
	var kinds []string
	for i := range alive {
		for _, kind := range alive[i].Info.Kinds {
			name, _, _ := strings.Cut(kind, "@")
			kinds = append(kinds, name)
		}
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	const most = 10
	switch {
	case slices.Contains(kinds, w.Kind):
		return fmt.Sprintf("no live node serves version %q of the kind %s, which the job is bound to", w.Version, w.Kind)
	case len(kinds) == 0:
		return "no live node serves the kind " + w.Kind
	case len(kinds) > most:
		kinds = append(kinds[:most], "…")
	}
	return fmt.Sprintf("no live node serves the kind %s; live nodes serve %s", w.Kind, strings.Join(kinds, ", "))
}

// slots adds how busy the nodes are that serve the job: each by the slots of the job's queue, if those
// are fewer than its own and the node is not full.
func (w *whyOf) slots(nodes []NodeInfo) {
	slots, running, free, ofQueue := 0, 0, false, true
	for i := range nodes {
		n := &nodes[i]
		has, taken := n.Info.Slots, n.Running
		if own := n.Info.QueueSlots[w.Queue]; own > 0 && taken < has {
			has, taken = own, w.taken[n.ID]
		} else {
			ofQueue = false
		}
		slots, running = slots+has, running+taken
		free = free || taken < has
	}
	who, serve, alone := nodeName(nodes[0].ID, nodes), "serves it", ", the only node that serves it"
	if len(nodes) > 1 {
		who, serve, alone = fmt.Sprintf("%d nodes", len(nodes)), "serve it", " that serve it"
	}
	what := "slot"
	if ofQueue {
		what = "slot for the queue " + w.Queue
	}
	if !free {
		w.add(CauseNoFreeSlot, "no free %s on %s%s: %d of %d taken", what, who, alone, running, slots)
		return
	}
	w.add(CauseReady, "ready for %s; %s %s, %d of %d slots taken", w.since(w.RunAt), who, serve, running, slots)
}
