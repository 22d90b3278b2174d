package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// The types of this file are the JSON of the command. Their fields are an interface, documented in docs/cli.md: every field is
// always there, null says that there is nothing; times are RFC 3339 in UTC with microseconds, 64-bit integers are strings, durations
// are as Go writes them ("1m30s").

// timestamp is a time, or null if it is zero.
type timestamp time.Time

func (t timestamp) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return []byte(time.Time(t).UTC().Format(`"2006-01-02T15:04:05.000000Z"`)), nil
}

// text is a string, or null if it is empty.
type text string

func (s text) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte("null"), nil
	}
	return encode(string(s), "", "")
}

// span is a duration, or null if it is zero.
type span time.Duration

func (d span) MarshalJSON() ([]byte, error) {
	if d == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(time.Duration(d).String())
}

// number is a small integer, or null if it is zero.
type number int

func (n number) MarshalJSON() ([]byte, error) {
	if n == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(int(n))
}

// big is a 64-bit integer as a string, or null if it is zero: JavaScript and jq round larger ones than 2^53.
type big int64

func (n big) MarshalJSON() ([]byte, error) {
	if n == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(strconv.FormatInt(int64(n), 10))
}

type jobView struct {
	ID              string          `json:"id"`
	Namespace       string          `json:"namespace"`
	Queue           string          `json:"queue"`
	Kind            string          `json:"kind"`
	State           string          `json:"state"`
	Reason          text            `json:"reason"`
	Error           text            `json:"error"`
	Priority        int             `json:"priority"`
	Args            json.RawMessage `json:"args"`
	Result          json.RawMessage `json:"result"`
	Metadata        json.RawMessage `json:"metadata"`
	Codec           int             `json:"codec"`
	Tags            []string        `json:"tags"`
	CreatedAt       timestamp       `json:"created_at"`
	RunAt           timestamp       `json:"run_at"`
	ClaimedAt       timestamp       `json:"claimed_at"`
	FinishedAt      timestamp       `json:"finished_at"`
	Attempt         int             `json:"attempt"`
	MaxAttempts     number          `json:"max_attempts"`
	Timeout         span            `json:"timeout"`
	Deadline        timestamp       `json:"deadline"`
	Backoff         *backoffView    `json:"backoff"`
	OrderingKey     text            `json:"ordering_key"`
	Unique          bool            `json:"unique"`
	Blocked         bool            `json:"blocked"`
	CancelRequested bool            `json:"cancel_requested"`
	LeaseNumber     big             `json:"lease_number"`
	Node            big             `json:"node"`
	Checkpoint      *checkpointView `json:"checkpoint"`
	Wait            *waitView       `json:"wait"`
	PauseRequested  bool            `json:"pause_requested"`
	Closing         bool            `json:"closing"`
	Version         text            `json:"version"`
	Journal         number          `json:"journal"`
	Messages        number          `json:"messages"`
	Parent          text            `json:"parent"`
	OnParentClose   string          `json:"on_parent_close"`
	Source          text            `json:"source"`
	Trace           text            `json:"trace"`
	Why             []causeView     `json:"why"`
	Attempts        []attemptView   `json:"attempts"`
	Actions         []actionView    `json:"actions"`
}

type backoffView struct {
	Base   span    `json:"base"`
	Cap    span    `json:"cap"`
	Jitter float64 `json:"jitter"`
}

type checkpointView struct {
	Percent   float64         `json:"percent"`
	Message   text            `json:"message"`
	Value     json.RawMessage `json:"value"`
	UpdatedAt timestamp       `json:"updated_at"`
}

type attemptView struct {
	Number      int       `json:"number"`
	LeaseNumber big       `json:"lease_number"`
	Node        big       `json:"node"`
	ClaimedAt   timestamp `json:"claimed_at"`
	StartedAt   timestamp `json:"started_at"`
	EndedAt     timestamp `json:"ended_at"`
	Outcome     string    `json:"outcome"`
	Reason      text      `json:"reason"`
	Error       text      `json:"error"`
	Trace       text      `json:"trace"`
}

// causeView is one reason why a job has not finished.
type causeView struct {
	Code  string    `json:"code"`
	Text  string    `json:"text"`
	Until timestamp `json:"until"`
	Job   text      `json:"job"`
	Node  big       `json:"node"`
}

// actionView is something that a person did to a job.
type actionView struct {
	At     timestamp `json:"at"`
	Action string    `json:"action"`
	Actor  text      `json:"actor"`
	Reason text      `json:"reason"`
}

// viewJob is a job from a list, where the store leaves results, attempts and actions out.
func viewJob(r *holdfast.Record) jobView {
	v := jobView{
		ID: r.ID.String(), Namespace: r.Namespace, Queue: r.Queue, Kind: r.Kind,
		State: r.State.String(), Reason: text(r.Reason), Error: text(r.Error), Priority: r.Priority,
		Args: payload(r.Args, r.Codec), Result: payload(r.Result, r.Codec), Metadata: payload(r.Metadata, 0), Codec: r.Codec,
		Tags: append([]string{}, r.Tags...), CreatedAt: timestamp(r.CreatedAt), RunAt: timestamp(r.RunAt),
		ClaimedAt: timestamp(r.ClaimedAt), FinishedAt: timestamp(r.FinishedAt),
		Attempt: r.Attempt, MaxAttempts: number(r.MaxAttempts),
		Timeout: span(r.Options.Timeout), Deadline: timestamp(r.Options.Deadline),
		OrderingKey: text(r.OrderingKey), Unique: r.UniqueKey != nil, Blocked: r.Blocked, CancelRequested: r.CancelRequested,
		LeaseNumber: big(r.LeaseNumber), Node: big(r.Lease.Node),
		Wait: viewWait(r), PauseRequested: r.PauseRequested, Closing: r.Closing, Version: text(r.Version),
		Journal: number(r.Journal), Messages: number(r.Messages),
		Parent: text(idText(r.Parent)), OnParentClose: closeWords[r.OnParentClose], Source: text(r.Options.Source), Trace: text(r.Options.Trace),
	}
	if b := r.Options.Backoff; b.Base != 0 || b.Cap != 0 {
		v.Backoff = &backoffView{Base: span(b.Base), Cap: span(b.Cap), Jitter: b.Jitter}
	}
	if c := r.Checkpoint; c != nil {
		v.Checkpoint = &checkpointView{
			Percent: c.Percent, Message: text(c.Message), Value: payload(c.Value, 0), UpdatedAt: timestamp(c.UpdatedAt),
		}
	}
	return v
}

// closeWords are the names of what becomes of a child when its parent ends first.
var closeWords = map[holdfast.ClosePolicy]string{
	holdfast.CancelChild: "cancel", holdfast.AbandonChild: "abandon", holdfast.TerminateChild: "terminate",
}

// viewWholeJob is all that is known of a job.
func viewWholeJob(r *holdfast.Record, why []holdfast.Cause) jobView {
	v := viewJob(r)
	v.Why = []causeView{}
	for _, c := range why {
		v.Why = append(v.Why, causeView{
			Code: string(c.Code), Text: c.Text, Until: timestamp(c.Until), Job: text(idText(c.Job)), Node: big(c.Node),
		})
	}
	v.Attempts = []attemptView{}
	for _, a := range r.Attempts {
		v.Attempts = append(v.Attempts, attemptView{
			Number: a.Number, LeaseNumber: big(a.LeaseNumber), Node: big(a.Node), ClaimedAt: timestamp(a.ClaimedAt),
			StartedAt: timestamp(a.StartedAt), EndedAt: timestamp(a.EndedAt), Outcome: a.Outcome.String(), Reason: text(a.Reason),
			Error: text(a.Error), Trace: text(a.Trace),
		})
	}
	v.Actions = []actionView{}
	for _, a := range r.Actions {
		v.Actions = append(v.Actions, actionView{timestamp(a.At), string(a.Kind), text(a.Actor), text(a.Reason)})
	}
	return v
}

// payload is a payload as the JSON of a holdfast.Record has it: as it is, if it is JSON.
func payload(data []byte, codec int) json.RawMessage { return store.PayloadJSON(data, codec) }

type queueView struct {
	Namespace string               `json:"namespace"`
	Name      string               `json:"name"`
	CreatedAt timestamp            `json:"created_at"`
	Paused    bool                 `json:"paused"`
	PausedAt  timestamp            `json:"paused_at"`
	PausedBy  text                 `json:"paused_by"`
	Counts    map[string]countView `json:"counts"`
	OldestDue timestamp            `json:"oldest_due"`
}

// countView is a number of jobs; if it is not exact there are more.
type countView struct {
	Jobs  int  `json:"jobs"`
	Exact bool `json:"exact"`
}

// countedStates are the states of jobs that queues count.
var countedStates = []holdfast.State{
	holdfast.Available, holdfast.Running, holdfast.Scheduled, holdfast.Retryable, holdfast.Waiting,
}

func viewQueue(q *holdfast.QueueInfo) queueView {
	v := queueView{
		Namespace: q.Namespace, Name: q.Name, CreatedAt: timestamp(q.CreatedAt),
		Paused: !q.PausedAt.IsZero(), PausedAt: timestamp(q.PausedAt), PausedBy: text(q.PausedBy),
		Counts: map[string]countView{}, OldestDue: timestamp(q.OldestDue),
	}
	for _, state := range countedStates {
		count := q.Counts[state]
		v.Counts[state.String()] = countView{Jobs: count.N, Exact: !count.More}
	}
	return v
}

type nodeView struct {
	ID         big            `json:"id"`
	Name       string         `json:"name"`
	Version    text           `json:"version"`
	Alive      bool           `json:"alive"`
	Leader     bool           `json:"leader"`
	Namespace  text           `json:"namespace"`
	Slots      int            `json:"slots"`
	Running    int            `json:"running"`
	Queues     []string       `json:"queues"`      // empty: all
	QueueSlots map[string]int `json:"queue_slots"` // of those that have fewer than the node
	Kinds      []string       `json:"kinds"`
	StartedAt  timestamp      `json:"started_at"`
	BeatAt     timestamp      `json:"beat_at"`
	EndedAt    timestamp      `json:"ended_at"`
}

func viewNode(n *holdfast.NodeInfo, now time.Time) nodeView {
	queueSlots := map[string]int{} // not null
	maps.Copy(queueSlots, n.Info.QueueSlots)
	return nodeView{
		ID: big(n.ID), Name: n.Info.Name, Version: text(n.Info.Version), Alive: n.DeadAt.IsZero() && !isSilent(n, now), Leader: n.Leader,
		Namespace: text(n.Info.Namespace),
		Slots:     n.Info.Slots, Running: n.Running,
		Queues: sorted(n.Info.Queues), QueueSlots: queueSlots, Kinds: sorted(n.Info.Kinds),
		StartedAt: timestamp(n.StartedAt), BeatAt: timestamp(n.BeatAt), EndedAt: timestamp(n.DeadAt),
	}
}

// sorted is a copy of a list, in order, and never nil.
func sorted(list []string) []string {
	list = append([]string{}, list...)
	slices.Sort(list)
	return list
}

// enqueuedView is what became of one enqueue.
type enqueuedView struct {
	ID       string `json:"id"`
	Existing bool   `json:"existing"`
	Replaced bool   `json:"replaced"`
	Line     number `json:"line"` // of the file, with --file
}

// changedView is what became of one job that was to be cancelled or retried.
type changedView struct {
	ID    string `json:"id"`
	State text   `json:"state"`
	Error text   `json:"error"`
}

type pausedView struct {
	Namespace string `json:"namespace"`
	Queue     string `json:"queue"`
	Paused    bool   `json:"paused"`
	New       bool   `json:"new"` // there was no such queue
}

type schemaView struct {
	Database string `json:"database"`
	Version  int    `json:"version"`
	Latest   int    `json:"latest"`
	Current  bool   `json:"current"`
}

// findingView is something that a durable function must not do.
type findingView struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// benchView is a measurement.
type benchView struct {
	Scenario  string   `json:"scenario"`
	Jobs      int      `json:"jobs"`
	Seconds   float64  `json:"seconds"`
	PerSecond float64  `json:"per_second"`
	P50       *float64 `json:"p50_ms"` // of latencies
	P99       *float64 `json:"p99_ms"`
}

type versionView struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// idText is an id, or "" for none.
func idText(id holdfast.ID) string {
	if id == (holdfast.ID{}) {
		return ""
	}
	return id.String()
}
