package journal

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// LastSuccess returns the Seq of the last entry that a run keeps which is resumed after it failed,
// 0 for none: what failed after it is done again. The error is ErrConflict if its compensations
// have run.
func LastSuccess(entries []store.Entry) (seq int64, err error) {
	for _, e := range slices.Backward(entries) {
		switch e.Kind {
		case store.EntryCompensated:
			return 0, fmt.Errorf("%w: its compensations have run; fork it from the first undone step or an earlier one", store.ErrConflict)
		case store.EntryStep, store.EntryTimer, store.EntryChild, store.EntryCallback, store.EntryPublished, store.EntryStreamed,
			store.EntryContinued:
			if !IsCompensation(e.Path) {
				return e.Seq, nil
			}
		case store.EntryEnded:
			var end Ended
			if err := Decode(&e, &end); err != nil || end.State == store.Completed {
				return e.Seq, err
			}
		default: // decided or failed after the last success
		}
	}
	return 0, nil
}

const forkHint = "so its answer would go only to the original job; wait for it, or fork from an earlier step"

// ForkPoint returns the Seq of the last entry that a fork from a step keeps, and the entry after
// it, with which the fork begins. from is the name or the path of an entry. The error is
// ErrNotFound if there is no such entry, and ErrConflict if the fork would keep a child or a
// callback that has not been answered.
func ForkPoint(j store.Journal, from string) (keep int64, next *store.Entry, err error) {
	i := slices.IndexFunc(j.Entries, func(e store.Entry) bool { return e.Name == from || e.Path == from })
	if i < 0 {
		return 0, nil, fmt.Errorf("%w: its journal has no step %q", store.ErrNotFound, from)
	}
	answered := answeredIn(j.Messages)
	for _, e := range j.Entries[:i] {
		switch e.Kind {
		case store.EntryChild:
			var child Child
			if err := json.Unmarshal(e.Data, &child); err == nil && !answered[child.ID] {
				return 0, nil, fmt.Errorf("%w: child %s (entry %d) has not finished, %s", store.ErrConflict, child.ID, e.Seq, forkHint)
			}
		case store.EntryCallback:
			if !answered[e.Name] {
				return 0, nil, fmt.Errorf("%w: the callback of entry %d has no answer yet, %s", store.ErrConflict, e.Seq, forkHint)
			}
		default:
		}
	}
	return j.Entries[i].Seq - 1, &j.Entries[i], nil
}

// answeredIn returns the children and callbacks that messages answer.
func answeredIn(messages []store.Message) map[string]bool {
	answered := map[string]bool{}
	for _, m := range messages {
		switch m.Kind {
		case store.MessageChild:
			answered[m.From.String()] = true
		case store.MessageCallback, store.MessageCallbackFailed:
			answered[m.Name] = true
		default: // a heartbeat is no answer
		}
	}
	return answered
}
