package holdfast

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/keyhash"
	"github.com/holdfastdev/holdfast/store"
)

// Unique lets at most one job hold a key while it is in a state that counts. The key is the kind
// and whatever the fields add; Unique{} means one job of the kind. A database constraint enforces
// this under any concurrency.
//
// A job gives its key up when it first enters a state that does not count, and does not take it
// back.
type Unique struct {
	// ByArgs adds the args to the key. They are compared as JSON; the order of fields does not
	// matter.
	ByArgs bool
	// ByFields adds the named fields of the args to the key, such as "customer" or "address.city".
	// The names are those of the JSON of the args. Their order does not matter. A missing field
	// counts as null; one that the args have in other letters, such as "Customer", is an
	// ErrInvalid.
	ByFields []string
	// ByQueue adds the queue to the key.
	ByQueue bool
	// ByPeriod adds the period that contains the run time to the key, if it is not zero. Periods
	// have this length, at least a second, and are counted from 1970 in UTC.
	ByPeriod time.Duration
	// ByKey is used instead of the kind, if it is not "", so jobs of several kinds can exclude each
	// other.
	ByKey string
	// While are the states that count. Scheduled and available always do. Default: all but
	// completed, failed and cancelled.
	While []store.State
	// OnConflict is the response to an enqueue whose key is taken: store.ReturnExisting, the
	// default, returns the job that holds it; store.Reject returns a *store.UniqueError;
	// store.Replace puts the new args, metadata and run time on the job that holds the key if it
	// is of the same kind and has not started, and otherwise returns that job.
	OnConflict store.OnConflict
	// MaxDelay bounds how long the job that holds the key can be delayed by store.Replace: it runs
	// at the latest this long after it was enqueued, however often its run time is replaced.
	// Together with Delay it debounces: the job runs when nothing has asked for it for the Delay,
	// or MaxDelay after it was asked for first. It needs store.Replace, a Delay that is no longer
	// than itself, and no RunAt; zero: no bound.
	MaxDelay time.Duration
}

func (u Unique) enqueue(s *enqueueSpec) error {
	s.unique = &u
	s.enqueue.OnConflict, s.enqueue.MaxDelay = u.OnConflict, u.MaxDelay
	switch {
	case u.ByFields != nil && len(u.ByFields) == 0:
		return invalid("unique", "ByFields needs at least one field")
	case slices.Contains(u.ByFields, ""):
		return invalid("unique", "the name of a field in ByFields must not be empty")
	case u.ByPeriod != 0 && u.ByPeriod < time.Second:
		return invalid("unique", "the period %v is shorter than a second", u.ByPeriod)
	case u.OnConflict > store.Replace:
		return invalid("unique", "there is no response %d to a conflict", u.OnConflict)
	case u.MaxDelay < 0:
		return invalid("unique", "MaxDelay must not be negative, it is %v", u.MaxDelay)
	case u.MaxDelay > 0 && u.OnConflict != store.Replace:
		return invalid("unique", "MaxDelay needs OnConflict to be store.Replace: nothing else changes the run time of a job")
	case u.ByKey != "":
		return checkName("unique key", u.ByKey)
	}
	return nil
}

// states returns the states in which the job holds the key.
func (u Unique) states() store.StateSet {
	if len(u.While) == 0 {
		return store.Unfinished
	}
	return store.SetOf(store.Scheduled, store.Available) | store.SetOf(u.While...)
}

// keyOf computes a job's unique key.
func (u Unique) keyOf(job *store.Job, now time.Time, delay time.Duration) ([]byte, error) {
	hash := keyhash.New(job.Namespace)
	if u.ByKey != "" {
		hash.Add("key", []byte(u.ByKey))
	} else {
		hash.Add("kind", []byte(job.Kind))
	}
	if u.ByQueue {
		hash.Add("queue", []byte(job.Queue))
	}
	if u.ByArgs {
		canonical, err := store.CanonicalJSON(job.Args)
		if err != nil {
			return nil, invalid("args", "%v", err)
		}
		hash.Add("args", canonical)
	}
	// sorted: the order of the names does not matter
	for _, name := range slices.Compact(slices.Sorted(slices.Values(u.ByFields))) {
		value, err := fieldOf(job.Args, name)
		if err != nil {
			return nil, err
		}
		hash.Add("field "+name, value)
	}
	if u.ByPeriod > 0 {
		at := job.RunAt
		if at.IsZero() {
			at = now.Add(delay)
		}
		hash.Add("period", binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro()/u.ByPeriod.Microseconds())))
	}
	return hash.Key(), nil
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
		if v, ok = object[name]; !ok {
			for other := range object {
				if strings.EqualFold(name, other) {
					return nil, invalid("unique", "the args have no field %q, but %q", name, other)
				}
			}
		}
	}
	return json.Marshal(v)
}
