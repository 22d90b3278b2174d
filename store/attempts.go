package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// AttemptSettings say how the jobs of a queue are attempted, and how long they are kept. What is 0
// is not set, and left to others: see Policy.Of.
type AttemptSettings struct {
	MaxAttempts int           `json:"max_attempts,omitempty"` // how many attempts there are, 1 to MostAttempts
	Backoff     Backoff       `json:"backoff,omitzero"`       // how long to wait after a failed one
	Timeout     time.Duration `json:"timeout,omitempty"`      // of one attempt
	Heartbeat   time.Duration `json:"heartbeat,omitempty"`    // how long an attempt may go without progress
	// Retention is the class by which the queue's finished jobs are kept (see RetentionClass). Not
	// set, or of a class that is not there: as the database keeps those of other queues.
	Retention string `json:"retention,omitempty"`
}

// MostAttempts bounds what may be set as MaxAttempts of a queue.
const MostAttempts = 1000

// Setting is one of AttemptSettings, or several of them.
type Setting uint8

// The settings, which are kept in databases.
const (
	SettingMaxAttempts Setting = 1 << iota
	SettingBackoff
	SettingTimeout
	SettingHeartbeat
	SettingRetention
)

// settingNames are the names of settings, by their place.
var settingNames = []string{"max-attempts", "backoff", "timeout", "heartbeat-timeout", "retention"}

// SettingNamed returns the setting of a name. The error is ErrInvalid, and lists the names.
func SettingNamed(name string) (Setting, error) {
	place, err := numberOf[uint8](settingNames, name, "setting")
	if err != nil {
		return 0, err
	}
	return 1 << place, nil
}

// Names returns the names of the settings.
func (s Setting) Names() []string {
	names := []string{}
	for i, name := range settingNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// String returns the names of the settings.
func (s Setting) String() string { return strings.Join(s.Names(), ", ") }

// Which are those that are set.
func (a AttemptSettings) Which() (set Setting) {
	for i, isSet := range [...]bool{a.MaxAttempts != 0, a.Backoff != (Backoff{}), a.Timeout != 0, a.Heartbeat != 0, a.Retention != ""} {
		if isSet {
			set |= 1 << i
		}
	}
	return set
}

// with returns the settings, of which these are as in others.
func (a AttemptSettings) with(these Setting, others AttemptSettings) AttemptSettings {
	if these&SettingMaxAttempts != 0 {
		a.MaxAttempts = others.MaxAttempts
	}
	if these&SettingBackoff != 0 {
		a.Backoff = others.Backoff
	}
	if these&SettingTimeout != 0 {
		a.Timeout = others.Timeout
	}
	if these&SettingHeartbeat != 0 {
		a.Heartbeat = others.Heartbeat
	}
	if these&SettingRetention != 0 {
		a.Retention = others.Retention
	}
	return a
}

// String tells what is set, as people read it.
func (a AttemptSettings) String() string {
	var said []string
	if a.MaxAttempts != 0 {
		said = append(said, fmt.Sprintf("max-attempts %d", a.MaxAttempts))
	}
	if a.Backoff != (Backoff{}) {
		said = append(said, "backoff "+a.Backoff.String())
	}
	if a.Timeout != 0 {
		said = append(said, "timeout "+a.Timeout.String())
	}
	if a.Heartbeat != 0 {
		said = append(said, "heartbeat-timeout "+a.Heartbeat.String())
	}
	if a.Retention != "" {
		said = append(said, fmt.Sprintf("retention %q", a.Retention))
	}
	return strings.Join(said, ", ")
}

// QueueAttempts are what a person has set of the attempts of a queue's jobs. The zero value: that
// is nothing.
type QueueAttempts struct {
	AttemptSettings

	SetAt time.Time // when they were last changed
	SetBy string    // and by whom
}

// SetQueueParams changes what is set of the attempts of a queue's jobs. A queue that does not exist
// is created.
type SetQueueParams struct {
	Namespace string
	Queue     string
	Set       AttemptSettings // what is 0 stays as it is
	Unset     Setting         // what is no longer set
	Actor     string

	// If, unless nil, is what was read: if it is not what is set now, the error is a
	// *ChangedError, and nothing changes. A change that was made already, such as by a request
	// whose answer was lost, is none.
	If *QueueAttempts
}

// Check reports why no store takes it, an ErrInvalid.
func (p *SetQueueParams) Check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: queue %.200q: %s", ErrInvalid, p.Queue, fmt.Sprintf(format, args...))
	}
	b := p.Set.Backoff
	switch both := p.Set.Which() & p.Unset; {
	case both != 0:
		return wrong("%v is to be set and to be unset", both)
	case p.Set.Which()|p.Unset == 0 || p.Unset >= 1<<len(settingNames):
		return wrong("nothing is to be set; there are %s", strings.Join(settingNames, ", "))
	case p.Set.MaxAttempts < 0 || p.Set.MaxAttempts > MostAttempts:
		return wrong("max attempts %d is not between 1 and %d", p.Set.MaxAttempts, MostAttempts)
	case b != (Backoff{}) && (b.Base <= 0 || b.Cap < b.Base || !(b.Jitter >= 0 && b.Jitter <= 1)):
		return wrong("backoff %v to %v with jitter %v: the times must be positive, the second not below the first, "+
			"and the jitter between 0 and 1", b.Base, b.Cap, b.Jitter)
	case p.Set.Timeout < 0:
		return wrong("timeout %v is not positive", p.Set.Timeout)
	case p.Set.Heartbeat < 0:
		return wrong("heartbeat timeout %v is not positive", p.Set.Heartbeat)
	}
	if !isText(p.Actor) {
		return wrong("the actor %.60q is not valid UTF-8, or contains NUL", p.Actor)
	}
	if p.Set.Retention != "" {
		if err := CheckRetentionName(p.Set.Retention); err != nil {
			return err
		}
	}
	if p.Set.Which() != 0 {
		if err := CheckQueueName(p.Queue); err != nil {
			return err
		}
	}
	return checkQueue(p.Namespace, p.Queue)
}

// ChangedError is the ErrConflict of what is set not being what was read.
type ChangedError struct{ Kind, Name string } // what it is set of, such as queue and mail

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%v: what is set of %s %.200q was changed since it was read; read it again", ErrConflict, e.Kind, e.Name)
}

func (*ChangedError) Unwrap() error { return ErrConflict }

// Allows reports that what is set is not what was read, a *ChangedError.
func (p *SetQueueParams) Allows(was QueueAttempts) error {
	if p.If == nil || p.If.Encode() == was.Encode() || p.After(was, was.SetAt) == was {
		return nil
	}
	return &ChangedError{"queue", p.Queue}
}

// After returns what is set after the change. One that changes nothing leaves when and by whom as
// they are, too.
func (p *SetQueueParams) After(was QueueAttempts, now time.Time) QueueAttempts {
	next := was.with(p.Unset, AttemptSettings{}).with(p.Set.Which(), p.Set)
	switch next {
	case was.AttemptSettings:
		return was
	case AttemptSettings{}:
		return QueueAttempts{}
	}
	return QueueAttempts{AttemptSettings: next, SetAt: now.Truncate(time.Microsecond), SetBy: p.Actor}
}

// Detail is what the record of the change says.
func (p *SetQueueParams) Detail() string {
	var said []string
	if set := p.Set.String(); set != "" {
		said = append(said, set)
	}
	if p.Unset != 0 {
		said = append(said, "unset "+p.Unset.String())
	}
	return strings.Join(said, "; ")
}

// queueDocument is how stores keep QueueAttempts. A later form has another version; this program
// reads of it what it knows.
type queueDocument struct {
	Version int `json:"v"`
	AttemptSettings

	SetAt int64  `json:"set_at"` // in microseconds
	SetBy string `json:"set_by,omitempty"`
}

// Encode returns them as stores keep them: a JSON document, or "" if nothing is set.
func (q QueueAttempts) Encode() string {
	if q.AttemptSettings == (AttemptSettings{}) {
		return ""
	}
	text, err := json.Marshal(queueDocument{1, q.AttemptSettings, q.SetAt.UnixMicro(), q.SetBy})
	if err != nil {
		return "" // a number that JSON does not have, which Check refuses
	}
	return string(text)
}

// DecodeQueueAttempts reads what Encode has written.
func DecodeQueueAttempts(text string) (q QueueAttempts, err error) {
	if text == "" {
		return q, nil
	}
	var d queueDocument
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return q, fmt.Errorf("what is set of a queue cannot be read: %w", err)
	}
	if d.AttemptSettings == (AttemptSettings{}) {
		return q, nil
	}
	return QueueAttempts{d.AttemptSettings, time.UnixMicro(d.SetAt).UTC(), d.SetBy}, nil
}
