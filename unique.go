package holdfast

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// UniqueOption says what makes two jobs the same.
type UniqueOption func(*uniqueSpec) error

type uniqueSpec struct {
	key        string
	args       bool
	fields     []string
	queue      bool
	period     time.Duration
	states     store.StateSet
	onConflict store.OnConflict
}

// Unique lets at most one job hold a key while it is in a state that counts. The key is the kind
// and whatever the options add. A database constraint enforces this under any concurrency. By
// default all states count except completed, failed and cancelled, and an enqueue whose key is
// taken returns the job that holds it.
//
// A job gives its key up when it first enters a state that does not count, and does not take it
// back.
func Unique(opts ...UniqueOption) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		u := &uniqueSpec{states: store.Unfinished}
		for _, opt := range opts {
			if opt == nil {
				return errNoOption
			}
			if err := opt(u); err != nil {
				return err
			}
		}
		s.unique = u
		s.enqueue.OnConflict = u.onConflict
		return nil
	})
}

// ByArgs adds the args to the key. They are compared as JSON; the order of fields does not matter.
func ByArgs() UniqueOption {
	return func(u *uniqueSpec) error { u.args = true; return nil }
}

// ByFields adds the named fields of the args to the key, such as "customer" or "address.city". The
// order of the names does not matter. A missing field counts as null.
func ByFields(names ...string) UniqueOption {
	return func(u *uniqueSpec) error {
		u.fields = append(u.fields, names...)
		if len(names) == 0 {
			return invalid("unique", "ByFields needs at least one field")
		}
		return nil
	}
}

// ByQueue adds the queue to the key.
func ByQueue() UniqueOption {
	return func(u *uniqueSpec) error { u.queue = true; return nil }
}

// ByPeriod adds the period that contains the run time to the key. Periods have length d and are
// counted from 1970 in UTC.
func ByPeriod(d time.Duration) UniqueOption {
	return func(u *uniqueSpec) error {
		u.period = d
		if d < time.Second {
			return invalid("unique", "the period %v is shorter than a second", d)
		}
		return nil
	}
}

// ByKey uses the given text instead of the kind, so jobs of several kinds can exclude each other.
func ByKey(key string) UniqueOption {
	return func(u *uniqueSpec) error {
		u.key = key
		return checkName("unique key", key)
	}
}

// While sets the states that count. Scheduled and available always do.
func While(states ...State) UniqueOption {
	return func(u *uniqueSpec) error {
		u.states = store.SetOf(Scheduled, Available) | store.SetOf(states...)
		return nil
	}
}

// OnConflict sets the response to an enqueue whose key is taken: ReturnExisting (the default),
// Reject or Replace.
func OnConflict(c store.OnConflict) UniqueOption {
	return func(u *uniqueSpec) error { u.onConflict = c; return nil }
}

// What an enqueue does when its unique key is taken.
const (
	// ReturnExisting returns the job that holds the key.
	ReturnExisting = store.ReturnExisting
	// Reject returns a *UniqueError.
	Reject = store.Reject
	// Replace puts the new args, metadata and run time on the job that holds the key if it has not
	// started; otherwise it returns that job.
	Replace = store.Replace
)

// keyOf computes a job's unique key: the first 16 bytes of SHA-256 over the parts, each with its length before it, so that
// no two lists of parts run together.
func (u *uniqueSpec) keyOf(job *store.Job, now time.Time, delay time.Duration) ([]byte, error) {
	hash := sha256.New()
	part := func(name string, value []byte) {
		var size [8]byte
		for _, text := range [][]byte{[]byte(name), value} {
			binary.BigEndian.PutUint64(size[:], uint64(len(text)))
			hash.Write(size[:])
			hash.Write(text)
		}
	}
	part("namespace", []byte(job.Namespace))
	if u.key != "" {
		part("key", []byte(u.key))
	} else {
		part("kind", []byte(job.Kind))
	}
	if u.queue {
		part("queue", []byte(job.Queue))
	}
	if u.args {
		canonical, err := canonicalJSON(job.Args)
		if err != nil {
			return nil, err
		}
		part("args", canonical)
	}
	// In one order, so that who names the same fields means the same job.
	for _, name := range slices.Compact(slices.Sorted(slices.Values(u.fields))) {
		value, err := fieldOf(job.Args, name)
		if err != nil {
			return nil, err
		}
		part("field "+name, value)
	}
	if u.period > 0 {
		at := job.RunAt
		if at.IsZero() {
			at = now.Add(delay)
		}
		part("period", binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro()/u.period.Microseconds())))
	}
	return hash.Sum(nil)[:16], nil
}

// canonicalJSON writes a document with the keys of its objects sorted and without white space. Numbers stay as they were written.
func canonicalJSON(data []byte) ([]byte, error) {
	v, err := decodeExact(data)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func decodeExact(data []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, invalid("args", "%v", err)
	}
	return v, nil
}

func fieldOf(args []byte, path string) ([]byte, error) {
	v, err := decodeExact(args)
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			v = nil
			break
		}
		v = object[name]
	}
	return json.Marshal(v)
}
