package wire

import (
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// Batch is a batch as it travels: the jobs of its fires are numbers of its enqueues, since what
// they point to would be another enqueue at the other end.
type Batch struct {
	Batch store.Batch
	Jobs  [][]int // by fire and run; -1: none
	// Requests are the numbers of the enqueues and sends whose results are the answers of requests.
	Requests []RequestOf
}

// BatchOf returns how a batch travels. It does not change it.
func BatchOf(b *store.Batch) (Batch, error) {
	sent := Batch{Batch: *b}
	if len(b.Fires)+len(b.Requests) == 0 {
		return sent, nil
	}
	numbers := numbersOf(b.Enqueues)
	var err error
	if sent.Batch.Requests, sent.Requests, err = requestsOf(b, numbers); err != nil || len(b.Fires) == 0 {
		return sent, err
	}
	sent.Batch.Fires = make([]*store.Fire, len(b.Fires))
	sent.Jobs = make([][]int, len(b.Fires))
	for i, f := range b.Fires {
		fire := *f
		fire.Runs = slices.Clone(f.Runs)
		jobs := make([]int, len(f.Runs))
		for k := range fire.Runs {
			run := &fire.Runs[k]
			if jobs[k] = -1; run.Enqueue != nil {
				number, there := numbers[run.Enqueue]
				if !there {
					return sent, fmt.Errorf("%w: schedule %q fires a job that is not in its batch", store.ErrInvalid, f.Name)
				}
				jobs[k], run.Enqueue = number, nil
			}
		}
		sent.Batch.Fires[i], sent.Jobs[i] = &fire, jobs
	}
	return sent, nil
}

// Open returns the batch that has arrived.
func (sent *Batch) Open() (*store.Batch, error) {
	b := &sent.Batch
	if hasNil(b.Requests) || hasNil(b.Checkpoints) || hasNil(b.Appends) || hasNil(b.Sends) || hasNil(b.Outcomes) || hasNil(b.Fires) ||
		hasNil(b.Calls) ||
		!complete(b.Enqueues) {
		return nil, fmt.Errorf("%w: the batch has an operation that is null", store.ErrInvalid)
	}
	for _, a := range b.Appends {
		if !complete(a.Enqueues) {
			return nil, fmt.Errorf("%w: an append has an enqueue that is null", store.ErrInvalid)
		}
	}
	if err := openRequests(b, sent.Requests); err != nil {
		return nil, err
	}
	if len(sent.Jobs) != len(b.Fires) {
		return nil, fmt.Errorf("%w: the batch has the jobs of %d fires, and %d fires", store.ErrInvalid, len(sent.Jobs), len(b.Fires))
	}
	for i, f := range b.Fires {
		if len(sent.Jobs[i]) != len(f.Runs) {
			return nil, fmt.Errorf("%w: a fire has %d jobs, and %d runs", store.ErrInvalid, len(sent.Jobs[i]), len(f.Runs))
		}
		for k, number := range sent.Jobs[i] {
			switch {
			case number < 0:
			case number >= len(b.Enqueues):
				return nil, fmt.Errorf("%w: a fire has the job %d of %d", store.ErrInvalid, number, len(b.Enqueues))
			default:
				f.Runs[k].Enqueue = b.Enqueues[number]
			}
		}
	}
	return b, nil
}

func hasNil[T any](list []*T) bool { return slices.Contains(list, nil) }

// complete reports whether none of the enqueues, and of their follow-ups, is nil.
func complete(list []*store.Enqueue) bool {
	for _, q := range list {
		if q == nil || !complete(q.FollowUps) {
			return false
		}
	}
	return true
}
