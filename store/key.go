package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// A job may have a business key (Options.Key): the name that its business gives it, such as the
// number of an order. Within a namespace and kind at most one job holds a key. It is held by the
// job that was enqueued with it last, from its enqueue until it finishes, and for Options.KeepKey
// after that, whether the job is still there or was removed. An enqueue whose key is held inserts
// nothing, and answers with the holder; one whose key is not takes it. That a job finishes is
// written nowhere but with the job: who holds a key is found out by the next enqueue that wants it.
//
// A finished job that runs again because a person asks takes its key again, or fails with a
// *UniqueError. A child, a fork, and a job with a unique key have no business key.

// MaxKey is how long a business key may be, in bytes.
const MaxKey = 512

// KeepForever is the KeepKey of a job that keeps its key for ever, and the time for which a
// RetentionClass keeps jobs for ever.
const KeepForever time.Duration = -1

// SentKept is for how long an enqueue with a Send is remembered, so that it may be repeated.
const SentKept = 24 * time.Hour

// JobKey is what a business key is looked up by.
type JobKey struct{ Namespace, Kind, Key string }

// Key is the job's business key; its Key is "" if it has none.
func (j *Job) Key() JobKey { return JobKey{j.Namespace, j.Kind, j.Options.Key} }

// KeepMicros is KeepKey in microseconds, as stores count; negative for ever.
func (o *Options) KeepMicros() int64 {
	if o.KeepKey < 0 {
		return -1
	}
	return o.KeepKey.Microseconds()
}

// HashArgs returns 16 bytes that stand for the args of the job, by which EnqueueResult.Differs
// compares them: args that are the same JSON have the same ones, in whatever order and with
// whatever spaces it is written.
//
// Of args that are sealed they are those of the plain ones, as the envelope says. Without a
// business key it does not say, and they are those of the envelope.
func (j *Job) HashArgs() []byte {
	args := j.Args
	if IsSealedCodec(j.Codec) {
		if e, ok := ParseEnvelope(args); ok && e.Args != nil {
			return e.Args
		}
	}
	if j.Codec == 0 {
		if canonical, err := CanonicalJSON(args); err == nil {
			args = canonical
		}
	}
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint32(nil, uint32(j.Codec)), args...))
	return sum[:16]
}

// CanonicalJSON writes a document with the keys of its objects sorted and without white space.
// Numbers are copied.
func CanonicalJSON(data []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// MayWait reports whether the enqueue may have to wait for another transaction: one that inserts a
// job with the same key or id.
func (q *Enqueue) MayWait() bool {
	return len(q.Job.UniqueKey) > 0 || q.Job.Options.Key != "" || q.KnownID
}

// Check reports why no store takes the enqueue, an ErrInvalid.
func (q *Enqueue) Check() error {
	if err := q.Job.Check(); err != nil {
		return err
	}
	if err := CheckQueueName(q.Job.Queue); err != nil {
		return fmt.Errorf("job %s: %w", q.Job.ID, err)
	}
	if len(q.After) > 0 {
		if q.Job.Parent != (ID{}) {
			return fmt.Errorf("%w: job %s is a child and comes after others", ErrInvalid, q.Job.ID)
		}
		if err := checkDependencies(q.Job.ID, q.After); err != nil {
			return err
		}
	}
	if err := q.checkFollowUps(); err != nil {
		return err
	}
	if q.Send == nil {
		return nil
	}
	switch m := &q.Send.Message; {
	case q.Job.Options.Key == "":
		return fmt.Errorf("%w: job %s: a message is sent with an enqueue only if that has a business key", ErrInvalid, q.Job.ID)
	case m.Kind != MessageSignal:
		return fmt.Errorf("%w: job %s: a message of kind %d cannot be sent with an enqueue", ErrInvalid, q.Job.ID, m.Kind)
	}
	q.Send.Job = q.Job.ID
	return q.Send.Check()
}

// checkKey reports why no job has such a business key.
func (j *Job) checkKey() error {
	key, keep := j.Options.Key, j.Options.KeepKey
	switch {
	case key == "" && keep == 0:
		return nil
	case key == "":
		return fmt.Errorf("%w: job %s: there is no business key to keep", ErrInvalid, j.ID)
	case len(key) > MaxKey:
		return fmt.Errorf("%w: job %s: a business key of %d bytes exceeds the limit of %d", ErrInvalid, j.ID, len(key), MaxKey)
	case !utf8.ValidString(key) || hasControl(key):
		return fmt.Errorf("%w: job %s: the business key %.60q is not valid UTF-8 or contains a control character", ErrInvalid, j.ID, key)
	case len(j.UniqueKey) > 0:
		return fmt.Errorf("%w: job %s has a business key and a unique key", ErrInvalid, j.ID)
	case j.Parent != ID{}:
		return fmt.Errorf("%w: job %s is a child and has a business key", ErrInvalid, j.ID)
	}
	return nil
}

// CheckKey reports why no list can be made of the jobs of a business key, an ErrInvalid.
func (f *Filter) CheckKey() error {
	if f.Key != "" && (f.Namespace == "" || len(f.Kinds) == 0) {
		return fmt.Errorf("%w: a list by the key %q needs a namespace and kinds", ErrInvalid, f.Key)
	}
	return nil
}

func hasControl(text string) bool {
	for _, r := range text {
		if r < ' ' || r >= 0x7F && r <= 0x9F {
			return true
		}
	}
	return false
}
