package views

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// Attempts are what a person has set of the attempts of a queue's jobs, and of how long they are
// kept; null is not set.
type Attempts struct {
	MaxAttempts Number    `json:"max_attempts"`
	Backoff     *Backoff  `json:"backoff"`
	Timeout     Span      `json:"timeout"`
	Heartbeat   Span      `json:"heartbeat_timeout"`
	Retention   Text      `json:"retention"` // the class by which finished jobs are kept
	SetAt       Timestamp `json:"set_at"`
	SetBy       Text      `json:"set_by"`
}

func newAttempts(q store.QueueAttempts) Attempts {
	return Attempts{
		MaxAttempts: Number(q.MaxAttempts), Backoff: newBackoff(q.Backoff), Timeout: Span(q.Timeout), Heartbeat: Span(q.Heartbeat),
		Retention: Text(q.Retention), SetAt: Timestamp(q.SetAt), SetBy: Text(q.SetBy),
	}
}

func newBackoff(b store.Backoff) *Backoff {
	if b == (store.Backoff{}) {
		return nil
	}
	return &Backoff{Base: Span(b.Base), Cap: Span(b.Cap), Jitter: b.Jitter}
}

// SetQueue is what is set of a queue after a change.
type SetQueue struct {
	Namespace string   `json:"namespace"`
	Queue     string   `json:"queue"`
	Attempts  Attempts `json:"attempts"`
}

// NewSetQueue returns the view of what is set of a queue.
func NewSetQueue(namespace, queue string, set store.QueueAttempts) SetQueue {
	return SetQueue{Namespace: namespace, Queue: queue, Attempts: newAttempts(set)}
}

// SetText tells what is set of a queue, and since when, as people read it; "" if nothing is.
func SetText(now time.Time, q store.QueueAttempts) string {
	text := q.String()
	if text == "" {
		return ""
	}
	text += "; set " + output.Ago(now, q.SetAt)
	if q.SetBy != "" {
		text += " by " + q.SetBy
	}
	return text
}

// KindAttempts is how the jobs of a kind are attempted in a queue, if their enqueue says nothing.
type KindAttempts struct {
	Kind        string             `json:"kind"`
	Nodes       []Big              `json:"nodes"` // on which it is so
	MaxAttempts Effective[Number]  `json:"max_attempts"`
	Backoff     EffectiveOfBackoff `json:"backoff"`
	Timeout     Effective[Span]    `json:"timeout"`
	Heartbeat   Effective[Span]    `json:"heartbeat_timeout"`
}

// Effective is what counts of a setting, who has said it, and what the handler says.
type Effective[T any] struct {
	Declared  T            `json:"declared"`
	Effective T            `json:"effective"`
	SaidBy    store.SaidBy `json:"said_by"`
}

// EffectiveOfBackoff is that of a backoff. If a function of the handler decides, the waits after
// the first attempts are there.
type EffectiveOfBackoff struct {
	Effective[*Backoff]

	Waits []Span `json:"waits"`
}

// mostWaits bounds the waits that are told of a function.
const mostWaits = 10

// kindsAttempts returns how jobs are attempted on the nodes that serve their queue: for each kind
// once, or once for each way in which nodes do it.
func kindsAttempts(queue store.AttemptSettings, nodes []*store.Node) []KindAttempts {
	found := []KindAttempts{}
	for _, n := range nodes {
		for _, kind := range kindsOf(n) {
			name, _, versioned := strings.Cut(kind, "@")
			if versioned {
				continue // of the same handler
			}
			v := newKindAttempts(name, n.Info.Policies[name], queue)
			if i := slices.IndexFunc(found, func(k KindAttempts) bool { return sameAttempts(k, v) }); i >= 0 {
				found[i].Nodes = append(found[i].Nodes, Big(n.ID))
				continue
			}
			v.Nodes = []Big{Big(n.ID)}
			found = append(found, v)
		}
	}
	slices.SortStableFunc(found, func(a, b KindAttempts) int { return strings.Compare(a.Kind, b.Kind) })
	return found
}

func newKindAttempts(kind string, p store.Policy, queue store.AttemptSettings) KindAttempts {
	is, by := p.In(queue).Of(&store.Job{})
	v := KindAttempts{
		Kind:        kind,
		MaxAttempts: Effective[Number]{Number(p.MaxAttempts), Number(is.MaxAttempts), by.MaxAttempts},
		Timeout:     Effective[Span]{Span(p.Timeout), Span(is.Timeout), by.Timeout},
		Heartbeat:   Effective[Span]{Span(p.Heartbeat), Span(is.Heartbeat), by.Heartbeat},
		Backoff:     EffectiveOfBackoff{Waits: []Span{}},
	}
	v.Backoff.Effective = Effective[*Backoff]{newBackoff(p.Backoff), newBackoff(is.Backoff), by.Backoff}
	for _, d := range p.Delays[:min(len(p.Delays), mostWaits)] {
		v.Backoff.Waits = append(v.Backoff.Waits, Span(d))
	}
	if by.Backoff == store.ByHandler && len(p.Delays) > 0 {
		v.Backoff.Effective.Effective = nil // the waits count
	}
	return v
}

func sameAttempts(a, b KindAttempts) bool {
	return a.Kind == b.Kind && a.MaxAttempts == b.MaxAttempts && a.Timeout == b.Timeout && a.Heartbeat == b.Heartbeat &&
		a.Backoff.text() == b.Backoff.text() && slices.Equal(a.Backoff.Waits, b.Backoff.Waits)
}

// kindAttemptsHeader is the header of a table of them.
var kindAttemptsHeader = []string{"KIND", "MAX ATTEMPTS", "BACKOFF", "TIMEOUT", "HEARTBEAT"}

func kindAttemptsRow(v *KindAttempts) []string {
	number := func(n Number) string { return strconv.Itoa(int(n)) }
	return []string{
		output.Clip(v.Kind, output.MaxName), said(v.MaxAttempts, number), v.Backoff.text(), said(v.Timeout, lasting), said(v.Heartbeat, lasting),
	}
}

func lasting(d Span) string {
	if d == 0 {
		return "none"
	}
	return time.Duration(d).String()
}

// said tells what counts, who has said it, and what the handler says instead.
func said[T comparable](e Effective[T], text func(T) string) string {
	var none T
	return text(e.Effective) + whose(e.SaidBy, e.Declared != none, func() string { return text(e.Declared) })
}

func whose(by store.SaidBy, declared bool, text func() string) string {
	switch {
	case by == store.ByDefault:
		return ""
	case by == store.ByQueue && declared:
		return " (queue; the handler says " + text() + ")"
	}
	return " (" + string(by) + ")"
}

func (e *EffectiveOfBackoff) text() string {
	text := func(b *Backoff) string {
		if b == nil {
			return "a function"
		}
		return store.Backoff{Base: time.Duration(b.Base), Cap: time.Duration(b.Cap)}.String()
	}
	return text(e.Effective.Effective) + whose(e.SaidBy, e.Declared != nil || len(e.Waits) > 0, func() string { return text(e.Declared) })
}
