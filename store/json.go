package store

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// The JSON of what is known of jobs: of a Record, and of what is in it. It is that of "holdfast job
// get --output json", field by field, which docs/cli.md describes: every field is always there,
// null says that there is nothing; times are RFC 3339 in UTC with microseconds, 64-bit integers are
// strings, durations are as Go writes them. Payloads are the JSON that they are. What is no JSON,
// because of its codec or because it is damaged, is an object with the one field base64; so is, to
// tell them apart, a payload that looks like that itself.
//
// Left out is what only stores need: the bytes of the unique key and its states (unique tells
// whether there is one), the claim and the slot of a lease, and Answers. All else is read back as
// it was written.

type jobJSON struct {
	ID        ID     `json:"id"`
	Namespace string `json:"namespace"`
	Queue     string `json:"queue"`
	Kind      string `json:"kind"`

	*howJSON // of a Record

	Priority int         `json:"priority"`
	Args     payloadJSON `json:"args"`
	Codec    int         `json:"codec"`
	Metadata payloadJSON `json:"metadata"`
	Tags     []string    `json:"tags"`

	Attributes map[string]AttributeValue `json:"attributes"`

	CreatedAt     timeJSON     `json:"created_at"`
	RunAt         timeJSON     `json:"run_at"`
	Attempt       int          `json:"attempt"`
	MaxAttempts   numberJSON   `json:"max_attempts"`
	Timeout       durationJSON `json:"timeout"`
	Heartbeat     durationJSON `json:"heartbeat_timeout"`
	Deadline      timeJSON     `json:"deadline"`
	Backoff       *backoffJSON `json:"backoff"`
	OfKind        []string     `json:"of_kind"`
	OrderingKey   textJSON     `json:"ordering_key"`
	Unique        bool         `json:"unique"`
	Key           textJSON     `json:"key"`
	KeepKey       keepJSON     `json:"keep_key"`
	KeepTurn      bool         `json:"keep_turn"`
	Limit         textJSON     `json:"limit"`
	LimitKey      textJSON     `json:"limit_key"`
	FairKey       textJSON     `json:"fair_key"`
	TraceParent   textJSON     `json:"traceparent"`
	TraceState    textJSON     `json:"tracestate"`
	LeaseNumber   bigJSON      `json:"lease_number"`
	Closing       bool         `json:"closing"`
	Version       textJSON     `json:"version"`
	Parent        *ID          `json:"parent"`
	Batch         *ID          `json:"batch"`
	OnParentClose closeJSON    `json:"on_parent_close"`
	Source        textJSON     `json:"source"`
	Nominal       timeJSON     `json:"nominal"`
	Follows       *ID          `json:"follows"`
	Called        *BatchResult `json:"called"`

	*whereJSON // of a Record
}

// howJSON is how a job is.
type howJSON struct {
	State  stateJSON `json:"state"`
	Reason textJSON  `json:"reason"`
	Error  textJSON  `json:"error"`
}

// whereJSON is the rest of a Record.
type whereJSON struct {
	Result          payloadJSON `json:"result"`
	ResultCodec     int         `json:"result_codec"`
	Fingerprint     hexJSON     `json:"fingerprint"`
	ClaimedAt       timeJSON    `json:"claimed_at"`
	StartedAt       timeJSON    `json:"started_at"`
	FinishedAt      timeJSON    `json:"finished_at"`
	Blocked         bool        `json:"blocked"`
	CancelRequested bool        `json:"cancel_requested"`
	PauseRequested  bool        `json:"pause_requested"`
	Node            bigJSON     `json:"node"`
	Build           *buildJSON  `json:"build"`
	Checkpoint      *Checkpoint `json:"checkpoint"`
	Wait            *WaitInfo   `json:"wait"`
	Journal         numberJSON  `json:"journal"`
	Messages        numberJSON  `json:"messages"`
	Attempts        []Attempt   `json:"attempts"`
	Actions         []Action    `json:"actions"`

	Predecessors []Predecessor `json:"predecessors"`
}

type backoffJSON struct {
	Base   durationJSON `json:"base"`
	Cap    durationJSON `json:"cap"`
	Jitter float64      `json:"jitter"`
}

func (j Job) json() *jobJSON {
	v := &jobJSON{
		ID: j.ID, Namespace: j.Namespace, Queue: j.Queue, Kind: j.Kind, Priority: j.Priority,
		Args: payloadJSON{j.Args, j.Codec}, Codec: j.Codec, Metadata: payloadJSON{j.Metadata, 0}, Tags: append([]string{}, j.Tags...),
		Attributes: AttributeValues(j.Attributes),
		CreatedAt:  timeJSON(j.CreatedAt), RunAt: timeJSON(j.RunAt), Attempt: j.Attempt, MaxAttempts: numberJSON(j.MaxAttempts),
		Timeout: durationJSON(j.Options.Timeout), Heartbeat: durationJSON(j.Options.Heartbeat),
		Deadline: timeJSON(j.Options.Deadline), OrderingKey: textJSON(j.OrderingKey),
		Unique: j.UniqueKey != nil, Key: textJSON(j.Options.Key), KeepKey: keepJSON(j.Options.KeepKey),
		KeepTurn: j.Options.KeepTurn, OfKind: j.Options.OfKind.Names(),
		Limit: textJSON(j.Options.Limit), LimitKey: textJSON(j.Options.LimitKey), FairKey: textJSON(j.Options.FairKey),
		TraceParent: textJSON(j.Options.TraceParent), TraceState: textJSON(j.Options.TraceState),
		LeaseNumber: bigJSON(j.LeaseNumber), Closing: j.Closing, Version: textJSON(j.Version),
		OnParentClose: closeJSON(j.OnParentClose), Source: textJSON(j.Options.Source), Nominal: timeJSON(j.Options.Nominal),
	}
	if b := j.Options.Backoff; b != (Backoff{}) {
		v.Backoff = &backoffJSON{durationJSON(b.Base), durationJSON(b.Cap), b.Jitter}
	}
	if j.Parent != (ID{}) {
		v.Parent = &j.Parent
	}
	if j.Batch != (ID{}) {
		v.Batch = &j.Batch
	}
	if j.Options.Called != (BatchResult{}) {
		v.Called = &j.Options.Called
	}
	if j.Options.Follows != (ID{}) {
		v.Follows = &j.Options.Follows
	}
	return v
}

func (v *jobJSON) job() Job {
	j := Job{
		ID: v.ID, Namespace: v.Namespace, Queue: v.Queue, Kind: v.Kind, Priority: v.Priority,
		Args: v.Args.data, Codec: v.Codec, Metadata: v.Metadata.data,
		CreatedAt: time.Time(v.CreatedAt), RunAt: time.Time(v.RunAt), Attempt: v.Attempt, MaxAttempts: int(v.MaxAttempts),
		Options: Options{
			Timeout: time.Duration(v.Timeout), Heartbeat: time.Duration(v.Heartbeat), Deadline: time.Time(v.Deadline), Source: string(v.Source),
			Nominal: time.Time(v.Nominal), Key: string(v.Key), KeepKey: time.Duration(v.KeepKey), KeepTurn: v.KeepTurn,
			Limit: string(v.Limit), LimitKey: string(v.LimitKey), FairKey: string(v.FairKey),
			TraceParent: string(v.TraceParent), TraceState: string(v.TraceState),
		},
		OrderingKey: string(v.OrderingKey), LeaseNumber: int64(v.LeaseNumber), Version: string(v.Version), Closing: v.Closing,
		OnParentClose: ClosePolicy(v.OnParentClose),
	}
	if len(v.Tags) > 0 {
		j.Tags = v.Tags
	}
	for _, name := range slices.Sorted(maps.Keys(v.Attributes)) {
		j.Attributes = append(j.Attributes, Attribute{Name: name, Value: v.Attributes[name]})
	}
	for _, name := range v.OfKind {
		if of, err := SettingNamed(name); err == nil { // a later program may know more
			j.Options.OfKind |= of
		}
	}
	if v.Follows != nil {
		j.Options.Follows = *v.Follows
	}
	if b := v.Backoff; b != nil {
		j.Options.Backoff = Backoff{Base: time.Duration(b.Base), Cap: time.Duration(b.Cap), Jitter: b.Jitter}
	}
	if v.Unique {
		j.UniqueKey = []byte{}
	}
	if v.Parent != nil {
		j.Parent = *v.Parent
	}
	if v.Batch != nil {
		j.Batch = *v.Batch
	}
	if v.Called != nil {
		j.Options.Called = *v.Called
	}
	return j
}

// MarshalJSON writes the job with its payloads as the JSON that they are.
func (j Job) MarshalJSON() ([]byte, error) { return encodeJSON(j.json()) }

// UnmarshalJSON reads what MarshalJSON has written. Of a unique key it knows only that there is
// one: UniqueKey is empty, and not nil. UniqueStates and Answers are left out.
func (j *Job) UnmarshalJSON(data []byte) error {
	v := jobJSON{howJSON: &howJSON{}, whereJSON: &whereJSON{}} // which are not looked at
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*j = v.job()
	return nil
}

// MarshalJSON writes the record with its payloads as the JSON that they are, as "holdfast job get
// --output json" does.
func (r Record) MarshalJSON() ([]byte, error) {
	v := r.json()
	v.howJSON = &howJSON{stateJSON(r.State), textJSON(r.Reason), textJSON(r.Error)}
	v.whereJSON = &whereJSON{
		Result: payloadJSON{r.Result, r.ResultCodec}, ResultCodec: r.ResultCodec, Fingerprint: hexJSON(r.Fingerprint),
		ClaimedAt: timeJSON(r.ClaimedAt), StartedAt: timeJSON(r.StartedAt), FinishedAt: timeJSON(r.FinishedAt),
		Blocked: r.Blocked, CancelRequested: r.CancelRequested, PauseRequested: r.PauseRequested, Node: bigJSON(r.Lease.Node),
		Build:      r.Build.json(),
		Checkpoint: r.Checkpoint, Wait: r.Wait, Journal: numberJSON(r.Journal), Messages: numberJSON(r.Messages),
		Attempts: r.Attempts, Actions: r.Actions, Predecessors: r.Predecessors,
	}
	return encodeJSON(v)
}

// UnmarshalJSON reads what MarshalJSON has written. Of a unique key it knows only that there is
// one: UniqueKey is empty, and not nil. UniqueStates, Answers, and the claim record of the lease
// are left out.
func (r *Record) UnmarshalJSON(data []byte) error {
	how, where := &howJSON{}, &whereJSON{}
	v := jobJSON{howJSON: how, whereJSON: where}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*r = Record{
		Job: v.job(), State: State(how.State), Reason: Reason(how.Reason), Error: string(how.Error),
		Result: where.Result.data, ResultCodec: where.ResultCodec, Fingerprint: int64(where.Fingerprint),
		ClaimedAt: time.Time(where.ClaimedAt), StartedAt: time.Time(where.StartedAt), FinishedAt: time.Time(where.FinishedAt),
		Blocked: where.Blocked, CancelRequested: where.CancelRequested, PauseRequested: where.PauseRequested,
		Checkpoint: where.Checkpoint, Wait: where.Wait, Journal: int64(where.Journal), Messages: int64(where.Messages),
		Attempts: where.Attempts, Actions: where.Actions, Predecessors: where.Predecessors,
	}
	r.Build = where.Build.build()
	if where.Node != 0 {
		r.Lease = Lease{Job: r.ID, Number: r.LeaseNumber, Node: int64(where.Node)}
	}
	return nil
}

type attemptJSON struct {
	Number      int        `json:"number"`
	LeaseNumber bigJSON    `json:"lease_number"`
	Node        bigJSON    `json:"node"`
	Build       *buildJSON `json:"build"`
	ClaimedAt   timeJSON   `json:"claimed_at"`
	StartedAt   timeJSON   `json:"started_at"`
	EndedAt     timeJSON   `json:"ended_at"`
	Outcome     stateJSON  `json:"outcome"`
	Reason      textJSON   `json:"reason"`
	Error       textJSON   `json:"error"`
	Trace       textJSON   `json:"trace"`
}

// MarshalJSON writes the attempt as a Record does.
func (a Attempt) MarshalJSON() ([]byte, error) {
	return encodeJSON(attemptJSON{
		a.Number, bigJSON(a.LeaseNumber), bigJSON(a.Node), a.Build.json(), timeJSON(a.ClaimedAt), timeJSON(a.StartedAt), timeJSON(a.EndedAt),
		stateJSON(a.Outcome), textJSON(a.Reason), textJSON(a.Error), textJSON(a.Trace),
	})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (a *Attempt) UnmarshalJSON(data []byte) error {
	var v attemptJSON
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*a = Attempt{
		v.Number, int64(v.LeaseNumber), int64(v.Node), v.Build.build(), time.Time(v.ClaimedAt), time.Time(v.StartedAt), time.Time(v.EndedAt),
		State(v.Outcome), Reason(v.Reason), string(v.Error), string(v.Trace),
	}
	return nil
}

type predecessorJSON struct {
	Job      ID            `json:"job"`
	IfFailed FailurePolicy `json:"if_failed"`
	State    stateJSON     `json:"state"`
}

// MarshalJSON writes the predecessor as a Record does; the state of one that was removed is null.
func (p Predecessor) MarshalJSON() ([]byte, error) {
	return encodeJSON(predecessorJSON{p.On, p.IfFailed, stateJSON(p.State)})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (p *Predecessor) UnmarshalJSON(data []byte) error {
	var v predecessorJSON
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*p = Predecessor{Dependency{v.Job, v.IfFailed}, State(v.State)}
	return nil
}

type actionJSON struct {
	At     timeJSON `json:"at"`
	Action string   `json:"action"`
	Actor  textJSON `json:"actor"`
	Reason textJSON `json:"reason"`
}

// MarshalJSON writes the action as a Record does.
func (a Action) MarshalJSON() ([]byte, error) {
	return encodeJSON(actionJSON{timeJSON(a.At), string(a.Kind), textJSON(a.Actor), textJSON(a.Reason)})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (a *Action) UnmarshalJSON(data []byte) error {
	var v actionJSON
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*a = Action{time.Time(v.At), ActionKind(v.Action), string(v.Actor), string(v.Reason)}
	return nil
}

type checkpointJSON struct {
	Percent   float64     `json:"percent"`
	Message   textJSON    `json:"message"`
	Value     payloadJSON `json:"value"`
	UpdatedAt timeJSON    `json:"updated_at"`
}

// MarshalJSON writes the checkpoint with its value as the JSON that it is.
func (c Checkpoint) MarshalJSON() ([]byte, error) {
	return encodeJSON(checkpointJSON{c.Percent, textJSON(c.Message), payloadJSON{c.Value, 0}, timeJSON(c.UpdatedAt)})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (c *Checkpoint) UnmarshalJSON(data []byte) error {
	var v checkpointJSON
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*c = Checkpoint{Percent: v.Percent, Message: string(v.Message), Value: v.Value.data, UpdatedAt: time.Time(v.UpdatedAt)}
	return nil
}

type waitJSON struct {
	Since  timeJSON    `json:"since"`
	Until  timeJSON    `json:"until"`
	Held   bool        `json:"held"`
	Handed bool        `json:"handed_over"`
	Reason textJSON    `json:"reason"`
	Error  textJSON    `json:"error"`
	For    payloadJSON `json:"for"`
}

// MarshalJSON writes the wait with what it is for as the JSON that it is.
func (w WaitInfo) MarshalJSON() ([]byte, error) {
	return encodeJSON(waitJSON{
		timeJSON(w.Since), timeJSON(w.Until), w.Held, w.HandedOver, textJSON(w.Reason), textJSON(w.Error), payloadJSON{w.For, 0},
	})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (w *WaitInfo) UnmarshalJSON(data []byte) error {
	var v waitJSON
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*w = WaitInfo{
		Since: time.Time(v.Since), Until: time.Time(v.Until), Held: v.Held, HandedOver: v.Handed,
		Reason: Reason(v.Reason), Error: string(v.Error), For: v.For.data,
	}
	return nil
}

// What follows is for those who look into a store: fields by their names, and the payload as in a
// Record.

type (
	plainEntry   Entry
	plainMessage Message
	plainEnded   Ended
)

type entryJSON struct {
	plainEntry

	Data payloadJSON
}

// MarshalJSON writes the entry with its data as the JSON that it is.
func (e Entry) MarshalJSON() ([]byte, error) {
	return encodeJSON(entryJSON{plainEntry(e), payloadJSON{e.Data, e.Codec}})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (e *Entry) UnmarshalJSON(data []byte) error {
	var v entryJSON
	if err := json.Unmarshal(data, &v); err != nil { //nolint:musttag // the fields have their own names
		return err
	}
	*e = Entry(v.plainEntry)
	e.Data = v.Data.data
	return nil
}

type messageJSON struct {
	plainMessage

	State stateJSON // there is one only in the answer of a child
	Data  payloadJSON
}

// MarshalJSON writes the message with its data as the JSON that it is.
func (m Message) MarshalJSON() ([]byte, error) {
	return encodeJSON(messageJSON{plainMessage(m), stateJSON(m.State), payloadJSON{m.Data, m.Codec}})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (m *Message) UnmarshalJSON(data []byte) error {
	var v messageJSON
	if err := json.Unmarshal(data, &v); err != nil { //nolint:musttag // the fields have their own names
		return err
	}
	*m = Message(v.plainMessage)
	m.State, m.Data = State(v.State), v.Data.data
	return nil
}

type endedJSON struct {
	plainEnded

	Result payloadJSON
}

// MarshalJSON writes the end with its result as the JSON that it is.
func (e Ended) MarshalJSON() ([]byte, error) {
	return encodeJSON(endedJSON{plainEnded(e), payloadJSON{e.Result, e.Codec}})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (e *Ended) UnmarshalJSON(data []byte) error {
	var v endedJSON
	if err := json.Unmarshal(data, &v); err != nil { //nolint:musttag // the fields have their own names
		return err
	}
	*e = Ended(v.plainEnded)
	e.Result = v.Result.data
	return nil
}

// encodeJSON is json.Marshal that leaves it to the caller's encoder whether <, > and & are escaped.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// payloadJSON is a payload as its codec wrote it.
type payloadJSON struct {
	data  []byte
	codec int
}

// PayloadJSON is a payload as it is written in JSON: as it is, if it is JSON, and else as an object
// with the one field base64.
func PayloadJSON(data []byte, codec int) json.RawMessage {
	if IsSealedCodec(codec) {
		return SealedView(data, codec)
	}
	if sealed, codec, ok := OpenSealedJSON(data); ok {
		return SealedView(sealed, codec)
	}
	text, err := payloadJSON{data, codec}.MarshalJSON()
	if err != nil {
		return nil // never: bytes are always written
	}
	return text
}

// marked is a payload that is no JSON.
type marked struct {
	Base64 []byte `json:"base64"`
}

func (p payloadJSON) MarshalJSON() ([]byte, error) {
	switch {
	case len(p.data) == 0:
		return []byte("null"), nil
	case p.codec == 0 && utf8.Valid(p.data) && json.Valid(p.data):
		if _, looksMarked := markOf(p.data); !looksMarked {
			return p.data, nil
		}
	}
	return json.Marshal(marked{p.data})
}

func (p *payloadJSON) UnmarshalJSON(data []byte) error {
	*p = payloadJSON{}
	if string(data) == "null" {
		return nil
	}
	text, looksMarked := markOf(data)
	if !looksMarked {
		p.data = bytes.Clone(data)
		return nil
	}
	plain, err := base64.StdEncoding.DecodeString(text)
	p.data = plain
	return err
}

// markOf returns the text of an object with the one field base64, if the JSON is one.
func markOf(data []byte) (text string, ok bool) {
	if data = bytes.TrimLeft(data, " \t\r\n"); len(data) == 0 || data[0] != '{' {
		return "", false
	}
	// It is decoded only if it may be one.
	if !bytes.Contains(data, []byte("base64")) && !bytes.Contains(data, []byte(`\u`)) {
		return "", false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || len(fields) != 1 {
		return "", false
	}
	value, ok := fields["base64"]
	if !ok || len(value) == 0 || value[0] != '"' {
		return "", false
	}
	return text, json.Unmarshal(value, &text) == nil
}

// timeJSON is a time, or null if it is zero.
type timeJSON time.Time

func (t timeJSON) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return []byte(time.Time(t).UTC().Format(`"2006-01-02T15:04:05.000000Z"`)), nil
}

func (t *timeJSON) UnmarshalJSON(data []byte) error { return (*time.Time)(t).UnmarshalJSON(data) }

// textJSON is a string, or null if it is empty.
type textJSON string

func (s textJSON) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte("null"), nil
	}
	return encodeJSON(string(s))
}

// durationJSON is a duration, or null if it is zero.
type durationJSON time.Duration

func (d durationJSON) MarshalJSON() ([]byte, error) {
	if d == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(time.Duration(d).String())
}

func (d *durationJSON) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil || text == "" {
		return err
	}
	parsed, err := time.ParseDuration(text)
	*d = durationJSON(parsed)
	return err
}

// keepJSON is for how long a key is kept, null if it is not, or "forever".
type keepJSON time.Duration

func (d keepJSON) MarshalJSON() ([]byte, error) {
	if d < 0 {
		return []byte(`"forever"`), nil
	}
	return durationJSON(d).MarshalJSON()
}

func (d *keepJSON) UnmarshalJSON(data []byte) error {
	if string(data) == `"forever"` {
		*d = keepJSON(KeepForever)
		return nil
	}
	return (*durationJSON)(d).UnmarshalJSON(data)
}

// numberJSON is a small integer, or null if it is zero.
type numberJSON int64

func (n numberJSON) MarshalJSON() ([]byte, error) {
	if n == 0 {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

// hexJSON is 64 bits as sixteen hexadecimal digits, or null if it is zero.
type hexJSON int64

func (n hexJSON) MarshalJSON() ([]byte, error) {
	if n == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(FingerprintText(int64(n)))
}

func (n *hexJSON) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil || text == "" {
		return err
	}
	parsed, err := strconv.ParseUint(text, 16, 64)
	*n = hexJSON(parsed)
	return err
}

// FingerprintText is a fingerprint as people and programs read it: sixteen hexadecimal digits.
func FingerprintText(fingerprint int64) string { return fmt.Sprintf("%016x", uint64(fingerprint)) }

// bigJSON is a 64-bit integer as a string, or null if it is zero: others round larger ones than
// 2^53.
type bigJSON int64

func (n bigJSON) MarshalJSON() ([]byte, error) {
	if n == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(strconv.FormatInt(int64(n), 10))
}

func (n *bigJSON) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil || text == "" {
		return err
	}
	parsed, err := strconv.ParseInt(text, 10, 64)
	*n = bigJSON(parsed)
	return err
}

// closeJSON is a policy by its name. In journals policies are numbers.
type closeJSON ClosePolicy

var closeNames = map[closeJSON]string{
	closeJSON(CancelChild): "cancel", closeJSON(AbandonChild): "abandon", closeJSON(TerminateChild): "terminate",
	closeJSON(CancelAndWait): "cancel and wait",
}

func (p closeJSON) MarshalText() ([]byte, error) {
	if name, ok := closeNames[p]; ok {
		return []byte(name), nil
	}
	return strconv.AppendUint(nil, uint64(p), 10), nil
}

func (p *closeJSON) UnmarshalText(text []byte) error {
	for policy, name := range closeNames {
		if name == string(text) {
			*p = policy
			return nil
		}
	}
	n, err := strconv.ParseUint(string(text), 10, 8)
	*p = closeJSON(n)
	return err
}

// stateJSON is a state, or null if there is none.
type stateJSON State

func (s stateJSON) MarshalJSON() ([]byte, error) {
	if s == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(State(s).String())
}

func (s *stateJSON) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	return json.Unmarshal(data, (*State)(s))
}
