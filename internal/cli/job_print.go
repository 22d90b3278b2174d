package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
)

// printJob writes all that is known of a job, for people. What there is nothing of is left out.
func (a *app) printJob(r *holdfast.Record, why []holdfast.Cause) {
	now := a.env.Now()
	w := table{app: a, gap: 3}
	line := func(name, value string) {
		if value != "" {
			w.add(name, value)
		}
	}
	at := func(name string, t time.Time) {
		if !t.IsZero() {
			line(name, t.UTC().Format("2006-01-02 15:04:05.000Z")+"  "+ago(now, t))
		}
	}
	state := jobRow(now, r)[1]
	if r.Reason != "" && string(r.Reason) != r.State.String() {
		state += ", reason " + string(r.Reason)
	}
	line("id", r.ID.String())
	line("state", state)
	if !r.State.Finished() {
		for i, cause := range why {
			line([]string{"why", ""}[min(i, 1)], cause.Text)
		}
	}
	if r.State != holdfast.Completed { // whose errors are those of attempts
		line("error", r.Error)
	}
	line("kind", r.Kind)
	line("queue", fmt.Sprintf("%s, priority %d", r.Queue, r.Priority))
	line("namespace", r.Namespace)
	line("attempt", attempts(r))
	at("created", r.CreatedAt)
	if !r.State.Finished() && r.State != holdfast.Running && r.Wait == nil {
		at("due", r.RunAt)
	}
	at("claimed", r.ClaimedAt)
	at("finished", r.FinishedAt)
	at("deadline", r.Options.Deadline)
	if r.Options.Timeout > 0 {
		line("timeout", r.Options.Timeout.String())
	}
	if r.Lease.Node != 0 {
		line("node", fmt.Sprintf("%d, lease %d", r.Lease.Node, r.LeaseNumber))
	}
	if w := r.Wait; w != nil {
		at("waiting since", w.Since)
		if w.Held {
			line("held", strings.TrimSuffix(string(w.Reason)+": "+w.Error, ": "))
		} else {
			line("waits for", waitsFor(r))
		}
		at("at the latest", w.Until)
	}
	if r.Journal > 0 || r.Messages > 0 {
		line("journal", fmt.Sprintf("%s, %s, see job journal", entries(r.Journal), plural(int(r.Messages), "message")))
	}
	line("version", r.Version)
	line("ordering key", r.OrderingKey)
	line("tags", strings.Join(r.Tags, ", "))
	line("parent", idText(r.Parent))
	line("source", r.Options.Source)
	if c := r.Checkpoint; c != nil {
		line("progress", strings.TrimSpace(fmt.Sprintf("%.0f %%  %s", c.Percent, c.Message)))
		line("checkpoint", onOneLine(c.Value, 0))
	}
	line("metadata", onOneLine(r.Metadata, 0))
	line("args", onOneLine(r.Args, r.Codec))
	line("result", onOneLine(r.Result, r.Codec))
	w.flush()
	a.printAttempts(now, r.Attempts)
	a.printActions(now, r.Actions)
}

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func onOneLine(data []byte, codec int) string {
	var b bytes.Buffer
	if data == nil || json.Compact(&b, payload(data, codec)) != nil {
		return ""
	}
	return b.String()
}

func (a *app) printAttempts(now time.Time, attempts []holdfast.Attempt) {
	if len(attempts) == 0 {
		return
	}
	a.printf("\nattempts that did not complete the job:")
	w := table{app: a, gap: 2}
	w.add("#", "ENDED", "TOOK", "NODE", "OUTCOME", "REASON", "ERROR")
	for _, t := range attempts {
		took := ""
		if !t.StartedAt.IsZero() {
			took = rough(t.EndedAt.Sub(t.StartedAt))
		}
		w.add(
			strconv.Itoa(t.Number), ago(now, t.EndedAt), took, strconv.FormatInt(t.Node, 10),
			t.Outcome.String(), string(t.Reason), clip(t.Error, 100),
		)
	}
	w.flush()
	for _, t := range slices.Backward(attempts) {
		if t.Trace != "" {
			a.printf("\nstack of attempt %d:", t.Number)
			for text := range strings.Lines(t.Trace) {
				a.printf("%s", strings.TrimRight("  "+strings.Repeat("  ", len(text)-len(strings.TrimLeft(text, "\t")))+oneLine(text), " "))
			}
			return // of the last one that has any
		}
	}
}

func (a *app) printActions(now time.Time, actions []holdfast.Action) {
	if len(actions) == 0 {
		return
	}
	a.printf("\nactions:")
	w := table{app: a, gap: 2}
	w.add("WHEN", "WHAT", "WHO", "WHY")
	for _, t := range actions {
		w.add(ago(now, t.At), string(t.Kind), t.Actor, clip(t.Reason, 100))
	}
	w.flush()
}
