package views

import (
	"encoding/json"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/why"
)

// Job is a job. Fields that a list does not load are null in a list.
type Job struct {
	ID              string          `json:"id"`
	Namespace       string          `json:"namespace"`
	Queue           string          `json:"queue"`
	Kind            string          `json:"kind"`
	State           string          `json:"state"`
	Reason          Text            `json:"reason"`
	Error           Text            `json:"error"`
	Priority        int             `json:"priority"`
	Args            json.RawMessage `json:"args"`
	Result          json.RawMessage `json:"result"`
	Metadata        json.RawMessage `json:"metadata"`
	Codec           int             `json:"codec"`
	Tags            []string        `json:"tags"`
	Attributes      json.RawMessage `json:"attributes"`
	CreatedAt       Timestamp       `json:"created_at"`
	RunAt           Timestamp       `json:"run_at"`
	ClaimedAt       Timestamp       `json:"claimed_at"`
	StartedAt       Timestamp       `json:"started_at"`
	FinishedAt      Timestamp       `json:"finished_at"`
	ResultCodec     int             `json:"result_codec"`
	Fingerprint     Text            `json:"fingerprint"`
	Attempt         int             `json:"attempt"`
	MaxAttempts     Number          `json:"max_attempts"`
	Timeout         Span            `json:"timeout"`
	Heartbeat       Span            `json:"heartbeat_timeout"`
	Deadline        Timestamp       `json:"deadline"`
	Backoff         *Backoff        `json:"backoff"`
	OfKind          []string        `json:"of_kind"`
	OrderingKey     Text            `json:"ordering_key"`
	Unique          bool            `json:"unique"`
	Key             Text            `json:"key"`
	KeepKey         Text            `json:"keep_key"`
	KeepTurn        bool            `json:"keep_turn"`
	Limit           Text            `json:"limit"`
	LimitKey        Text            `json:"limit_key"`
	FairKey         Text            `json:"fair_key"`
	TraceParent     Text            `json:"traceparent"`
	TraceState      Text            `json:"tracestate"`
	Blocked         bool            `json:"blocked"`
	CancelRequested bool            `json:"cancel_requested"`
	LeaseNumber     Big             `json:"lease_number"`
	Node            Big             `json:"node"`
	Build           *Build          `json:"build"`
	Checkpoint      *Checkpoint     `json:"checkpoint"`
	Wait            *Wait           `json:"wait"`
	PauseRequested  bool            `json:"pause_requested"`
	Closing         bool            `json:"closing"`
	Version         Text            `json:"version"`
	Journal         Number          `json:"journal"`
	Messages        Number          `json:"messages"`
	Parent          Text            `json:"parent"`
	Batch           Text            `json:"batch"`
	OnParentClose   string          `json:"on_parent_close"`
	Source          Text            `json:"source"`
	Nominal         Timestamp       `json:"nominal"`
	Follows         Text            `json:"follows"`
	Called          *BatchResult    `json:"called"`
	Why             []Cause         `json:"why"`
	Attempts        []Attempt       `json:"attempts"`
	Actions         []Action        `json:"actions"`
	Predecessors    []Predecessor   `json:"predecessors"`
}

// Predecessor is a job for which this one waits.
type Predecessor struct {
	Job      string `json:"job"`
	IfFailed string `json:"if_failed"`
	State    Text   `json:"state"`
}

// Backoff is the policy of the delays between attempts.
type Backoff struct {
	Base   Span    `json:"base"`
	Cap    Span    `json:"cap"`
	Jitter float64 `json:"jitter"`
}

// Checkpoint is the progress that a job has saved.
type Checkpoint struct {
	Percent   float64         `json:"percent"`
	Message   Text            `json:"message"`
	Value     json.RawMessage `json:"value"`
	UpdatedAt Timestamp       `json:"updated_at"`
}

// Wait is what a parked job waits for.
type Wait struct {
	Since  Timestamp       `json:"since"`
	Until  Timestamp       `json:"until"`
	Held   bool            `json:"held"`
	Handed bool            `json:"handed_over"`
	Reason Text            `json:"reason"`
	Error  Text            `json:"error"`
	For    json.RawMessage `json:"for"`
}

// Attempt is an attempt that did not complete the job.
type Attempt struct {
	Number      int       `json:"number"`
	LeaseNumber Big       `json:"lease_number"`
	Node        Big       `json:"node"`
	Build       *Build    `json:"build"`
	ClaimedAt   Timestamp `json:"claimed_at"`
	StartedAt   Timestamp `json:"started_at"`
	EndedAt     Timestamp `json:"ended_at"`
	Outcome     string    `json:"outcome"`
	Reason      Text      `json:"reason"`
	Error       Text      `json:"error"`
	Trace       Text      `json:"trace"`
}

// Cause is one reason why a job has not finished.
type Cause struct {
	Code  string    `json:"code"`
	Text  string    `json:"text"`
	Until Timestamp `json:"until"`
	Job   Text      `json:"job"`
	Node  Big       `json:"node"`
	Limit Text      `json:"limit"`
}

// Action is an action of a person on a job.
type Action struct {
	At     Timestamp `json:"at"`
	Action string    `json:"action"`
	Actor  Text      `json:"actor"`
	Reason Text      `json:"reason"`
}

func fingerprint(n int64) Text {
	if n == 0 {
		return ""
	}
	return Text(store.FingerprintText(n))
}

// NewJob returns a job from a list, without results, attempts and actions.
func NewJob(r *store.Record) Job {
	v := Job{
		ID: r.ID.String(), Namespace: r.Namespace, Queue: r.Queue, Kind: r.Kind,
		State: r.State.String(), Reason: Text(r.Reason), Error: Text(r.Error), Priority: r.Priority,
		Args: payload(r.Args, r.Codec), Result: payload(r.Result, r.ResultCodec), Metadata: payload(r.Metadata, 0), Codec: r.Codec,
		Attributes: attributeValues(r.Attributes), Tags: append([]string{}, r.Tags...),
		CreatedAt: Timestamp(r.CreatedAt), RunAt: Timestamp(r.RunAt),
		ClaimedAt: Timestamp(r.ClaimedAt), StartedAt: Timestamp(r.StartedAt), FinishedAt: Timestamp(r.FinishedAt),
		ResultCodec: r.ResultCodec, Fingerprint: fingerprint(r.Fingerprint),
		Attempt: r.Attempt, MaxAttempts: Number(r.MaxAttempts),
		Timeout: Span(r.Options.Timeout), Heartbeat: Span(r.Options.Heartbeat), Deadline: Timestamp(r.Options.Deadline),
		OrderingKey: Text(r.OrderingKey), Unique: r.UniqueKey != nil,
		Key: Text(r.Options.Key), KeepKey: Text(KeepText(r.Options.KeepKey)), KeepTurn: r.Options.KeepTurn,
		OfKind: r.Options.OfKind.Names(), Blocked: r.Blocked, CancelRequested: r.CancelRequested,
		Limit: Text(r.Options.Limit), LimitKey: Text(r.Options.LimitKey), FairKey: Text(r.Options.FairKey),
		TraceParent: Text(r.Options.TraceParent), TraceState: Text(r.Options.TraceState),
		LeaseNumber: Big(r.LeaseNumber), Node: Big(r.Lease.Node), Build: newBuild(r.Build),
		Wait: viewWait(r), PauseRequested: r.PauseRequested, Closing: r.Closing, Version: Text(r.Version),
		Journal: Number(r.Journal), Messages: Number(r.Messages),
		Parent: Text(IDText(r.Parent)), Batch: Text(IDText(r.Batch)), Called: newBatchResult(r.Options.Called),
		OnParentClose: closeWords[r.OnParentClose], Source: Text(r.Options.Source),
		Nominal: Timestamp(r.Options.Nominal), Follows: Text(IDText(r.Options.Follows)),
	}
	if b := r.Options.Backoff; b.Base != 0 || b.Cap != 0 {
		v.Backoff = &Backoff{Base: Span(b.Base), Cap: Span(b.Cap), Jitter: b.Jitter}
	}
	if c := r.Checkpoint; c != nil {
		v.Checkpoint = &Checkpoint{
			Percent: c.Percent, Message: Text(c.Message), Value: payload(c.Value, 0), UpdatedAt: Timestamp(c.UpdatedAt),
		}
	}
	return v
}

func viewWait(r *store.Record) *Wait {
	w := r.Wait
	if w == nil {
		return nil
	}
	return &Wait{
		Since: Timestamp(w.Since), Until: Timestamp(w.Until), Held: w.Held, Handed: w.HandedOver, Reason: Text(w.Reason), Error: Text(w.Error),
		For: payload(w.For, 0),
	}
}

// closeWords are the names of the close policies of children.
var closeWords = map[store.ClosePolicy]string{
	store.CancelChild: "cancel", store.AbandonChild: "abandon", store.TerminateChild: "terminate", store.CancelAndWait: "cancel and wait",
}

func viewCauses(causes []why.Cause) []Cause {
	views := []Cause{}
	for _, c := range causes {
		views = append(views, Cause{
			Code: string(c.Code), Text: c.Text, Until: Timestamp(c.Until), Job: Text(IDText(c.Job)), Node: Big(c.Node), Limit: Text(c.Limit),
		})
	}
	return views
}

// NewWholeJob returns a job with all its fields.
func NewWholeJob(r *store.Record, causes []why.Cause) Job {
	v := NewJob(r)
	v.Why = viewCauses(causes)
	v.Attempts = []Attempt{}
	for _, a := range r.Attempts {
		v.Attempts = append(v.Attempts, Attempt{
			Number: a.Number, LeaseNumber: Big(a.LeaseNumber), Node: Big(a.Node), Build: newBuild(a.Build), ClaimedAt: Timestamp(a.ClaimedAt),
			StartedAt: Timestamp(a.StartedAt), EndedAt: Timestamp(a.EndedAt), Outcome: a.Outcome.String(), Reason: Text(a.Reason),
			Error: Text(a.Error), Trace: Text(a.Trace),
		})
	}
	v.Actions = []Action{}
	for _, a := range r.Actions {
		v.Actions = append(v.Actions, Action{Timestamp(a.At), string(a.Kind), Text(a.Actor), Text(a.Reason)})
	}
	for _, p := range r.Predecessors {
		view := Predecessor{Job: p.On.String(), IfFailed: p.IfFailed.String()}
		if p.State != 0 {
			view.State = Text(p.State.String())
		}
		v.Predecessors = append(v.Predecessors, view)
	}
	return v
}
