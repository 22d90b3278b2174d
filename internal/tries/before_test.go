package tries

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// TestBeforeIn: what a step, or a compensation, goes on from.
func TestBeforeIn(t *testing.T) {
	due := time.Unix(100, 0).UTC()
	failure := usercode.StepError{Step: "s", Message: "no", Attempts: 3}
	entry := func(kind store.EntryKind, data []byte) *store.Entry {
		return &store.Entry{Seq: 7, Kind: kind, Data: data}
	}
	retry := entry(store.EntryStepRetry, journal.Encode(journal.Retry{Failure: failure, Until: due}))
	for name, c := range map[string]struct {
		entries []*store.Entry
		want    Before
		failed  bool
		wrong   bool // it cannot be read
	}{
		"nothing": {want: Before{Attempt: 1}},
		"retried": {entries: []*store.Entry{retry}, want: Before{Attempt: 4, Until: due}},
		"a step that succeeded": {
			entries: []*store.Entry{retry, entry(store.EntryStep, []byte("1"))},
			want:    Before{Ended: true, Result: []byte("1"), Attempt: 4, Until: due},
		},
		"a compensation that succeeded": {
			entries: []*store.Entry{entry(store.EntryCompensated, nil)},
			want:    Before{Ended: true, Attempt: 1},
		},
		"failed": {
			entries: []*store.Entry{entry(store.EntryStepFailed, journal.Encode(failure))},
			want:    Before{Ended: true, Attempt: 1}, failed: true,
		},
		"what cannot be read, of a try": {
			entries: []*store.Entry{entry(store.EntryStepRetry, []byte("{"))},
			want:    Before{Attempt: 1}, wrong: true,
		},
		"what cannot be read, of an end": {
			entries: []*store.Entry{entry(store.EntryStepFailed, []byte("{"))},
			want:    Before{Ended: true, Attempt: 1}, wrong: true,
		},
	} {
		got, err := BeforeIn(c.entries)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		told, isFailure := errors.AsType[*usercode.StepError](err)
		if isFailure != c.failed || (err != nil) != (c.failed || c.wrong) || isFailure && *told != failure {
			t.Errorf("%s: %v", name, err)
		}
	}
}
