package firing

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/keyhash"
	"github.com/holdfastdev/holdfast/store"
)

// enqueue is that of the job for a nominal time.
//
// An overlap policy is a property of the job: with a unique key there is one that has not finished,
// or one that has not begun; with an ordering key one runs after the other, and one that waits for
// a retry keeps its turn. So nothing has to watch the job, and it is of no importance which node,
// or whether any, knows of its end.
func enqueue(s *store.Schedule, nominal time.Time, overlap store.Overlap) *store.Enqueue {
	job := s.Job.Job(s.Namespace, store.NewID(), time.Time{})
	job.Options.Source, job.Options.Nominal = s.Name, nominal
	switch overlap {
	case store.OverlapSkip:
		job.UniqueKey, job.UniqueStates = uniqueKey(s), store.Unfinished
	case store.OverlapBufferOne:
		job.UniqueKey, job.UniqueStates = uniqueKey(s), store.SetOf(store.Scheduled, store.Available)
	default:
	}
	if isInLine(overlap) {
		job.OrderingKey = orderingKey(s)
	}
	return &store.Enqueue{Job: job}
}

// isInLine reports whether the jobs run one after the other.
func isInLine(o store.Overlap) bool { return o > store.OverlapAllow }

// replaces reports whether a job takes the place of the one before.
func replaces(o store.Overlap) bool { return o == store.OverlapCancel || o == store.OverlapTerminate }

func uniqueKey(s *store.Schedule) []byte {
	h := keyhash.New(s.Namespace)
	h.Add("schedule", []byte(s.Name))
	return h.Key()
}

// orderingKey may be longer than one that a person may give: it holds the whole name.
func orderingKey(s *store.Schedule) string { return "schedule: " + s.Name }
