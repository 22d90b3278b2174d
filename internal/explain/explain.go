package explain

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
	"github.com/holdfastdev/holdfast/why"
)

// Of explains a job of a namespace. The cost does not depend on the number of jobs that wait or
// have ended: where slots of a queue or a limit may be full it counts what runs there. The error is
// store.ErrNotFound if there is no such job.
func Of(ctx context.Context, s store.Store, namespace string, id store.ID) (why.Explanation, error) {
	record, err := s.Get(ctx, namespace, id)
	if err != nil {
		return why.Explanation{}, err
	}
	e := why.Explanation{Job: record.ID, State: record.State}
	w := &finding{Record: &record, now: s.Now()}
	switch {
	case record.State.Finished():
		w.finished()
		err = w.keepsTurn(ctx, s)
	case record.State == store.Running:
		if w.nodes, err = s.Nodes(ctx); err == nil {
			w.running()
		}
	case record.Wait != nil && record.Wait.Held:
		w.held()
	default:
		err = w.pending(ctx, s)
	}
	e.Causes = w.causes
	return e, err
}

// pending says why a job has not started that is not held.
func (w *finding) pending(ctx context.Context, s store.Store) error {
	w.time()
	if w.State == store.Waiting && w.Wait.Until.IsZero() {
		return nil // no node can do anything about it
	}
	obstacles, err := s.Obstacles(ctx, w.Namespace, w.ID)
	if err != nil {
		return err
	}
	if obstacles.Turn != uuid.Nil {
		if err := w.turn(ctx, s, obstacles.Turn); err != nil {
			return err
		}
	}
	if !obstacles.QueuePausedAt.IsZero() {
		w.add(why.QueuePaused, "queue %s has been paused for %s%s", w.Queue, w.since(obstacles.QueuePausedAt), by(obstacles.QueuePausedBy))
	}
	if rest := obstacles.QueueRest; rest.At(w.now) {
		w.add(why.QueueRests, "queue %s rests for %s more: one of its jobs was told to wait by what it needs, or a person has said so; "+
			"\"queue resume\" ends the rest", w.Queue, w.left(rest.Until)).Until = rest.Until
	}
	if w.nodes, err = s.Nodes(ctx); err != nil {
		return err
	}
	nodes := w.served()
	limits, err := s.Limits(ctx, w.Namespace, "")
	if err != nil {
		return err
	}
	if err := w.limits(ctx, s, limits); err != nil {
		return err
	}
	if err := w.key(ctx, s, limits); err != nil {
		return err
	}
	if len(nodes) == 0 || len(w.causes) > 0 { // which keep it from being ready
		return nil
	}
	if w.taken, err = w.takenOf(ctx, s, nodes); err != nil {
		return err
	}
	w.fair(obstacles.FairAhead)
	w.slots(nodes)
	return nil
}

// takenOf counts the slots of the job's queue that are taken on nodes where it has fewer than the
// node.
func (w *finding) takenOf(ctx context.Context, s store.Store, nodes []store.Node) (map[int64]int, error) {
	if !slices.ContainsFunc(nodes, func(n store.Node) bool { return n.Info.SlotsOf(w.Queue) > 0 }) {
		return nil, nil
	}
	taken := map[int64]int{}
	running := store.Filter{Namespace: w.Namespace, Queues: []string{w.Queue}, States: []store.State{store.Running}}
	for after := ""; ; {
		page, err := s.List(ctx, store.ListParams{Filter: running, After: after, Limit: 1000})
		if err != nil {
			return nil, err
		}
		for i := range page.Jobs {
			taken[page.Jobs[i].Lease.Node]++
		}
		after = page.Next
		if after == "" {
			return taken, nil
		}
	}
}

// turn says what the job does that has the turn.
func (w *finding) turn(ctx context.Context, s store.Store, turn store.ID) error {
	holder, err := s.Get(ctx, w.Namespace, turn)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	state := "removed"
	if err == nil {
		state = holder.State.String()
	}
	if err == nil && holder.State.Finished() {
		w.add(why.Turn, "job %s has %s and keeps the turn of its ordering key %q; retry that one, or skip it with \"job skip\", "+
			"or delete it", turn, state, w.OrderingKey).Job = turn
		return nil
	}
	w.add(why.Turn, "job %s (%s) has the turn of its ordering key %q", turn, state, w.OrderingKey).Job = turn
	return nil
}

// finding collects the causes of a job.
type finding struct {
	*store.Record

	now    time.Time
	nodes  []store.Node
	taken  map[int64]int // slots of its queue, by node
	causes []why.Cause
}

func (w *finding) add(code why.Code, format string, args ...any) *why.Cause {
	w.causes = append(w.causes, why.Cause{Code: code, Text: fmt.Sprintf(format, args...)})
	return &w.causes[len(w.causes)-1]
}

func (w *finding) since(t time.Time) string { return about(w.now.Sub(t)) }

func (w *finding) left(t time.Time) string { return about(t.Sub(w.now)) }

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

func (w *finding) finished() {
	text := w.State.String() + " " + w.since(w.FinishedAt) + " ago"
	if w.State != store.Completed {
		if string(w.Reason) != w.State.String() {
			text += " (" + string(w.Reason) + ")"
		}
		text += because(w.Error)
	}
	w.add(why.Finished, "%s", text)
}

// keepsTurn says that a job which has failed keeps the turn of its ordering key.
func (w *finding) keepsTurn(ctx context.Context, s store.Store) error {
	if !w.KeepsTurn(w.State) {
		return nil
	}
	obstacles, err := s.Obstacles(ctx, w.Namespace, w.ID)
	if err != nil || !obstacles.HasTurn {
		return err
	}
	w.add(why.Turn, "it keeps the turn of its ordering key %q, and those behind it wait: \"holdfast job retry %s\" runs it before them, "+
		"\"holdfast job skip %[2]s\" lets them go on, and so does cancelling or deleting it", w.OrderingKey, w.ID).Job = w.ID
	return nil
}

func (w *finding) running() {
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
			w.add(why.SilentNode, "%s, which ran it, %s %s ago; %s",
				nodeName(n.ID, w.nodes), ended(n), w.since(n.DeadAt), w.rescue(n.ID)).Node = n.ID
		case n.IsLate(w.now):
			w.add(why.SilentNode, "%s, which runs it, has sent no heartbeat for %s%s; %s",
				nodeName(n.ID, w.nodes), w.since(n.BeatAt), w.lease(n), w.rescue(n.ID)).Node = n.ID
		}
	}
	w.add(why.Running, "%s", text).Node = w.Lease.Node
}

// lease says until when the leases of a silent node last.
func (w *finding) lease(n *store.Node) string {
	until := n.LeasedUntil()
	if !until.After(w.now) {
		return ""
	}
	return fmt.Sprintf(", and its lease lasts until %s, for %s more", until.UTC().Format(time.RFC3339), w.left(until))
}

// rescue says who gives the jobs of a node to others.
func (w *finding) rescue(of int64) string {
	for i := range w.nodes {
		if n := &w.nodes[i]; n.ID != of && n.DeadAt.IsZero() && !n.IsSilent(w.now) {
			return "its jobs run elsewhere once the leader has declared it dead"
		}
	}
	return "no other node is live to take its jobs: start one"
}

// mostNamed is how many of the jobs for which one waits are named.
const mostNamed = 3

// dependencies adds the jobs after which the job comes: first those that have failed or were
// cancelled, about which a person has to decide.
func (w *finding) dependencies() {
	var ended, open []store.Predecessor
	for _, p := range w.Predecessors {
		if p.State == 0 || p.State.Finished() && p.IfFailed == store.HoldIfFailed {
			ended = append(ended, p)
		} else {
			open = append(open, p)
		}
	}
	for _, p := range ended[:min(len(ended), mostNamed)] {
		text := fmt.Sprintf("it comes after job %s, which %s; retry that one", p.On, hasEnded(p.State))
		if p.State == 0 {
			text = fmt.Sprintf("it comes after job %s, which %s", p.On, hasEnded(p.State))
		}
		w.add(why.Dependency, "%s, or resume this one to run it anyway, or cancel it", text).Job = p.On
	}
	for _, p := range open[:min(len(open), mostNamed)] {
		text := "it comes after job %s, which is %s"
		switch p.IfFailed {
		case store.OnlyIfFailed:
			text = "it runs only if job %s fails, which is %s"
		case store.OnlyIfCancelled:
			text = "it runs only if job %s is cancelled, which is %s"
		case store.CancelIfFailed, store.RunIfFailed, store.HoldIfFailed:
		}
		w.add(why.Dependency, text, p.On, p.State).Job = p.On
	}
	if more := len(w.Predecessors) - len(w.causes); more > 0 {
		w.add(why.Dependency, "it comes after %d more jobs", more)
	}
	if len(w.causes) == 0 {
		w.add(why.Dependency, "the jobs that it came after have finished; a node lets it go on in a moment")
	}
}

func hasEnded(state store.State) string {
	switch state {
	case 0:
		return "did not complete, and was removed"
	case store.Cancelled:
		return "was cancelled"
	default:
		return "has " + state.String()
	}
}

func (w *finding) held() {
	if w.Wait.Reason == store.ReasonDependency {
		w.dependencies()
		return
	}
	if w.Wait.Reason == store.ReasonPaused {
		who := ""
		for _, a := range w.Actions {
			if a.Kind == store.ActionPause {
				who = a.Actor
			}
		}
		w.add(why.Paused, "paused for %s%s%s", w.since(w.Wait.Since), by(who), because(w.Wait.Error))
		return
	}
	w.add(why.Held, "held for %s until a person resumes it: %s%s", w.since(w.Wait.Since), w.Wait.Reason, because(w.Wait.Error))
}

// time adds what the job's own time is waiting for.
func (w *finding) time() {
	switch w.State {
	case store.Scheduled:
		w.due(why.Scheduled, "scheduled for "+w.RunAt.UTC().Format(time.RFC3339)+",", w.RunAt)
	case store.Retryable:
		w.due(why.Retry, fmt.Sprintf("attempt %d failed%s;", w.Attempt, because(w.Error)), w.RunAt)
	case store.Waiting:
		if w.Wait.HandedOver {
			w.handedOver()
			return
		}
		if w.Wait.Reason == store.ReasonCodecKey {
			w.lacksKey()
			return
		}
		for _, what := range waitsFor(w.Wait.For) {
			w.waits(what)
		}
		if len(w.causes) == 0 {
			w.add(why.Waiting, "waiting").Until = w.Wait.Until
		}
	default: // nothing of its own
	}
}

func (w *finding) handedOver() {
	text := "handed over for " + w.since(w.Wait.Since) + ", until it is completed or failed from outside"
	if until := w.Wait.Until; !until.IsZero() {
		text += ", or its handler is called again at " + until.UTC().Format(time.RFC3339) + ", in " + w.left(until)
	}
	w.add(why.HandedOver, "%s", text).Until = w.Wait.Until
}

// lacksKey adds that a node could not read the payloads of the job.
func (w *finding) lacksKey() {
	w.add(why.CodecKey, "held for %s: %s, which took the job; it is tried again at %s, in %s; "+
		"give the key to all nodes that serve the job (codec.With, or --codec-keys)",
		w.since(w.Wait.Since), w.Wait.Error, w.Wait.Until.UTC().Format(time.RFC3339), w.left(w.Wait.Until)).Until = w.Wait.Until
}

// due adds something that is over at a time. A little later a node makes the job available.
func (w *finding) due(code why.Code, text string, at time.Time) {
	word := "due in " + w.left(at)
	switch {
	case !at.After(w.now):
		word = "due now"
	case code == why.Retry:
		word = "next attempt in " + w.left(at)
	}
	w.add(code, "%s %s", text, word).Until = at
}

// waits adds something that a durable function waits for, in the words of its run.
func (w *finding) waits(what string) {
	code, job := why.Waiting, store.ID{}
	first, rest, _ := strings.Cut(what, " ")
	switch {
	case first == "signal":
		code = why.Signal
	case first == "callback":
		code = why.Callback
	case first == "timer":
		code = why.Timer
	case first == "step":
		code = why.Retry
	case first == "child":
		code = why.Child
		id, _, _ := strings.Cut(rest, " ")
		job, _ = uuid.Parse(id) // a child whose id is not in the text is not known
	case strings.Contains(what, " children "):
		code = why.Child
	}
	text := "waiting for " + what
	if code == why.Retry {
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

func nodeName(id int64, nodes []store.Node) string {
	for i := range nodes {
		if nodes[i].ID == id && nodes[i].Info.Name != "" {
			return fmt.Sprintf("node %d (%s)", id, nodes[i].Info.Name)
		}
	}
	return fmt.Sprintf("node %d", id)
}

// served returns the nodes that may take the job, or adds why there are none.
func (w *finding) served() []store.Node {
	nodes := slices.DeleteFunc(slices.Clone(w.nodes), func(n store.Node) bool { return !n.DeadAt.IsZero() })
	narrow := func(code why.Code, fits func(*store.Node) bool, none func(before []store.Node) string) bool {
		before := nodes
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(n store.Node) bool { return !fits(&n) })
		if len(nodes) == 0 {
			w.add(code, "%s", none(before))
		}
		return len(nodes) > 0
	}
	kind := w.Kind
	if w.Version != "" {
		kind += "@" + w.Version
	}
	if !narrow(why.NoNode, func(n *store.Node) bool { return n.Info.Namespace == w.Namespace || n.Info.Namespace == "" }, w.noNode) {
		return nil
	}
	if !narrow(why.NoKind, func(n *store.Node) bool { return slices.Contains(n.Info.Kinds, kind) }, w.noKind) {
		return nil
	}
	servesQueue := func(n *store.Node) bool { return n.Info.Serves(w.Queue) }
	if !narrow(why.NoQueue, servesQueue, func([]store.Node) string {
		return fmt.Sprintf("no live node that serves the kind %s serves the queue %s", w.Kind, w.Queue)
	}) {
		return nil
	}
	if !narrow(why.SilentNode, func(n *store.Node) bool { return !n.IsSilent(w.now) }, func(before []store.Node) string {
		n := before[len(before)-1]
		return fmt.Sprintf("%s serves it, but has sent no heartbeat for %s", nodeName(n.ID, before), w.since(n.BeatAt))
	}) {
		return nil
	}
	if !narrow(why.QuietNode, func(n *store.Node) bool { return n.Mode == store.NodeRuns }, w.quiet) {
		return nil
	}
	return nodes
}

// quiet says that all nodes that serve the job were asked to claim nothing.
func (w *finding) quiet(all []store.Node) string {
	resume, name := "", nodeName(all[0].ID, all)
	if i := slices.IndexFunc(all, func(n store.Node) bool { return n.Mode == store.NodeQuiet }); i >= 0 {
		resume = fmt.Sprintf(`; "holdfast node resume %d" ends that`, all[i].ID)
	}
	if len(all) > 1 {
		return fmt.Sprintf("all %d nodes that serve it are quiet or draining, and claim nothing%s", len(all), resume)
	}
	n := all[0]
	return fmt.Sprintf("%s, the only node that serves it, has been %v for %s%s, and claims nothing%s",
		name, n.Mode, w.since(n.ModeAt), by(n.ModeBy), resume)
}

func (w *finding) noNode(alive []store.Node) string {
	if len(alive) > 0 {
		return "no live node serves the namespace " + w.Namespace
	}
	last := &store.Node{}
	for i := range w.nodes {
		if n := &w.nodes[i]; n.DeadAt.After(last.DeadAt) {
			last = n
		}
	}
	if last.DeadAt.IsZero() {
		return "no node is running"
	}
	return "no node is running; the last one " + ended(last) + " " + w.since(last.DeadAt) + " ago"
}

// ended says what a node that has ended did.
func ended(n *store.Node) string {
	switch n.Ended {
	case store.NodeLeft:
		return "left"
	case store.NodeDied:
		return "was declared dead"
	case store.NodeEndUnknown:
	}
	return "ended"
}

func (w *finding) noKind(alive []store.Node) string {
	var kinds []string
	for i := range alive {
		for _, kind := range alive[i].Info.Kinds {
			name, _, _ := strings.Cut(kind, "@")
			kinds = append(kinds, name)
		}
	}
	slices.Sort(kinds)
	kinds = slices.Compact(slices.DeleteFunc(kinds, store.IsOwnKind))
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

// slots adds how busy the nodes are that serve the job: each by the slots of the job's queue, if
// those are fewer than its own and the node is not full.
func (w *finding) slots(nodes []store.Node) {
	slots, running, ahead, free, ofQueue := 0, 0, 0, false, true
	for i := range nodes {
		n := &nodes[i]
		has, taken := n.Info.Slots, n.Running
		if own := n.Info.SlotsOf(w.Queue); own > 0 && taken < has {
			has, taken = own, w.taken[n.ID]
		} else {
			ofQueue = false
		}
		slots, running, ahead = slots+has, running+min(taken, has), ahead+max(taken-has, 0)
		free = free || taken < has
	}
	who, serve, alone := nodeName(nodes[0].ID, nodes), "serves it", ", the only node that serves it"
	late := w.late(nodes)
	if len(nodes) > 1 {
		who, serve, alone = fmt.Sprintf("%d nodes", len(nodes)), "serve it", " that serve it"
	}
	what := "slot"
	if ofQueue {
		what = "slot for the queue " + w.Queue
	}
	if !free {
		next := ""
		if ahead > 0 {
			next = fmt.Sprintf(", and %d more jobs claimed that wait for one", ahead)
		}
		w.add(why.NoFreeSlot, "no free %s on %s%s: %d of %d taken%s%s", what, who, alone, running, slots, next, late)
		return
	}
	w.add(why.Ready, "ready for %s; %s %s, %d of %d slots taken%s", w.since(w.RunAt), who, serve, running, slots, late)
}

// late says how many of the nodes that serve the job are silent, and not for so long that they
// should have been declared dead.
func (w *finding) late(nodes []store.Node) string {
	late := slices.DeleteFunc(slices.Clone(nodes), func(n store.Node) bool { return !n.IsLate(w.now) })
	switch {
	case len(late) == 0:
		return ""
	case len(nodes) == 1:
		return "; it has sent no heartbeat for " + w.since(late[0].BeatAt)
	}
	return fmt.Sprintf("; %d of them sent no heartbeat lately, such as %s for %s",
		len(late), nodeName(late[0].ID, late), w.since(late[0].BeatAt))
}
