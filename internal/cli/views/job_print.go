package views

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/why"
)

// PrintJob prints all fields of a job that have a value.
func PrintJob(out *output.Printer, now time.Time, r *store.Record, causes []why.Cause) {
	p := jobPrint{out.NewTable(3), now}
	p.state(r, causes)
	p.times(r)
	p.rest(r)
	p.Flush()
	printAttempts(out, now, r.Attempts)
	printActions(out, now, r.Actions)
}

// jobPrint is a table of the fields of a job.
type jobPrint struct {
	*output.Table

	now time.Time
}

func (p jobPrint) line(name, value string) {
	if value != "" {
		p.Add(name, value)
	}
}

func (p jobPrint) at(name string, t time.Time) {
	if !t.IsZero() {
		p.line(name, t.UTC().Format("2006-01-02 15:04:05.000Z")+"  "+output.Ago(p.now, t))
	}
}

// state prints the state of a job, and the reasons for it.
func (p jobPrint) state(r *store.Record, causes []why.Cause) {
	state := JobRow(p.now, r)[1]
	if r.Reason != "" && string(r.Reason) != r.State.String() {
		state += ", reason " + string(r.Reason)
	}
	p.line("id", r.ID.String())
	p.line("state", state)
	name := "why"
	for _, cause := range causes {
		if !r.State.Finished() || cause.Code == why.Turn { // of what has ended the rest is shown below
			p.line(name, cause.Text)
			name = ""
		}
	}
	if r.State != store.Completed { // a completed job's errors are those of earlier attempts
		p.line("error", r.Error)
	}
	p.line("kind", r.Kind)
	p.line("queue", fmt.Sprintf("%s, priority %d", r.Queue, r.Priority))
	p.line("namespace", r.Namespace)
	p.line("attempt", attempts(r))
}

// times prints the times of the job, of its run and of its wait.
func (p jobPrint) times(r *store.Record) {
	p.at("created", r.CreatedAt)
	if !r.State.Finished() && r.State != store.Running && r.Wait == nil {
		p.at("due", r.RunAt)
	}
	p.at("claimed", r.ClaimedAt)
	p.at("finished", r.FinishedAt)
	p.at("deadline", r.Options.Deadline)
	if r.Options.Timeout > 0 {
		p.line("timeout", r.Options.Timeout.String())
	}
	if r.Options.Heartbeat > 0 {
		p.line("heartbeat timeout", r.Options.Heartbeat.String())
	}
	if r.Lease.Node != 0 {
		p.line("node", fmt.Sprintf("%d, lease %d", r.Lease.Node, r.LeaseNumber))
		p.line("build", buildText(r.Build))
	}
	if w := r.Wait; w != nil {
		p.at("waiting since", w.Since)
		if w.Held {
			p.line("held", strings.TrimSuffix(string(w.Reason)+": "+w.Error, ": "))
		} else {
			p.line("waits for", waitsFor(r))
		}
		p.at("at the latest", w.Until)
	}
	p.predecessors(r.Predecessors)
	if r.Journal > 0 || r.Messages > 0 {
		p.line("journal", fmt.Sprintf("%s, %s, see job journal", entries(r.Journal), output.Plural(int(r.Messages), "message")))
	}
}

// predecessors prints for which jobs the job waits.
func (p jobPrint) predecessors(list []store.Predecessor) {
	for i, before := range list {
		if i == mostPredecessors {
			p.line("after", fmt.Sprintf("%d more jobs; see --output json", len(list)-i))
			return
		}
		state := "removed"
		if before.State != 0 {
			state = before.State.String()
		}
		switch before.IfFailed {
		case store.OnlyIfFailed, store.OnlyIfCancelled:
			p.line("after", fmt.Sprintf("%s, %s; runs %s", before.On, state, before.IfFailed))
		case store.CancelIfFailed, store.RunIfFailed, store.HoldIfFailed:
			p.line("after", fmt.Sprintf("%s, %s; if it does not complete: %s", before.On, state, before.IfFailed))
		}
	}
}

// mostPredecessors is how many of them are printed for people.
const mostPredecessors = 10

// rest prints the options of the enqueue, and the results.
func (p jobPrint) rest(r *store.Record) {
	p.line("version", r.Version)
	p.line("ordering key", r.OrderingKey)
	if r.UniqueKey != nil {
		p.line("unique", "yes")
	}
	p.line("key", key(r))
	if r.Options.Limit != "" {
		p.line("limit", r.Options.Limit+", key "+r.Options.LimitKey)
	}
	p.line("fair key", r.Options.FairKey)
	p.line("traceparent", r.Options.TraceParent)
	p.line("tags", strings.Join(r.Tags, ", "))
	p.line("attributes", attributeText(r.Attributes))
	p.line("parent", IDText(r.Parent))
	p.line("batch", IDText(r.Batch))
	p.line("follows", IDText(r.Options.Follows))
	if c := r.Options.Called; c != (store.BatchResult{}) {
		p.line("end of batch", fmt.Sprintf("%s: %d completed, %d failed, %d cancelled", c.ID, c.Completed, c.Failed, c.Cancelled))
	}
	if nominal := r.Options.Nominal; nominal.IsZero() {
		p.line("source", r.Options.Source)
	} else {
		p.line("schedule", r.Options.Source)
		p.at("nominal time", nominal)
	}
	if c := r.Checkpoint; c != nil {
		p.line("progress", strings.TrimSpace(fmt.Sprintf("%.0f %%  %s", c.Percent, c.Message)))
		p.line("checkpoint", OnOneLine(c.Value, 0))
	}
	p.line("metadata", OnOneLine(r.Metadata, 0))
	p.line("args", OnOneLine(r.Args, r.Codec))
	p.line("result", OnOneLine(r.Result, r.ResultCodec))
}

// key is the business key of the job, and for how long it keeps that.
func key(r *store.Record) string {
	switch keep := r.Options.KeepKey; {
	case keep < 0:
		return r.Options.Key + ", kept for ever"
	case keep > 0:
		return r.Options.Key + ", kept for " + keep.String() + " after its end"
	}
	return r.Options.Key
}

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func printAttempts(out *output.Printer, now time.Time, attempts []store.Attempt) {
	if len(attempts) == 0 {
		return
	}
	out.Printf("\nattempts that did not complete the job:")
	w := out.NewTable(2)
	w.Add("#", "ENDED", "TOOK", "NODE", "BUILD", "OUTCOME", "REASON", "ERROR")
	for _, t := range attempts {
		took := ""
		if !t.StartedAt.IsZero() {
			took = output.Rough(t.EndedAt.Sub(t.StartedAt))
		}
		w.Add(
			strconv.Itoa(t.Number), output.Ago(now, t.EndedAt), took, strconv.FormatInt(t.Node, 10),
			output.Clip(t.Build.Program, output.MaxName), t.Outcome.String(), string(t.Reason), output.Clip(t.Error, 100),
		)
	}
	w.Flush()
	for _, t := range slices.Backward(attempts) {
		if t.Trace != "" {
			out.Printf("\nstack of attempt %d:", t.Number)
			for text := range strings.Lines(t.Trace) {
				out.Printf("%s", strings.TrimRight("  "+strings.Repeat("  ", len(text)-len(strings.TrimLeft(text, "\t")))+output.OneLine(text), " "))
			}
			return // of the last attempt that has one
		}
	}
}

func printActions(out *output.Printer, now time.Time, actions []store.Action) {
	if len(actions) == 0 {
		return
	}
	out.Printf("\nactions:")
	w := out.NewTable(2)
	w.Add("WHEN", "WHAT", "WHO", "WHY")
	for _, t := range actions {
		w.Add(output.Ago(now, t.At), string(t.Kind), t.Actor, output.Clip(t.Reason, 100))
	}
	w.Flush()
}
