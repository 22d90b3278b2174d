// Package faults makes a store fail on demand, in the ways in which a database does: the request is
// lost, the answer is lost after the commit, it takes long, or it arrives twice. What the engine
// must survive can so be tested without a network, and always in the same way.
//
//	faulty := faults.Wrap(s, faults.Script(map[string][]faults.Fault{
//		"Apply": {{Kind: faults.FailAfter}},         // the first answer is lost
//		"Claim": {{}, {Kind: faults.FailBefore}},    // the second request is lost
//	}))
//
// A lost answer is lost: after FailAfter the results in a Batch are those of a batch that was never
// sent, so that a caller cannot use by mistake what it could not have seen.
package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Kind says in which way a call goes wrong.
type Kind uint8

const (
	// None lets the call through.
	None Kind = iota
	// FailBefore loses the request: nothing happens, and the caller gets ErrUnavailable.
	FailBefore
	// FailAfter loses the answer: the call happens, and the caller gets ErrUnavailable.
	FailAfter
	// Duplicate makes the call a second time before the caller gets the answer, which is that of
	// the second. Outcomes, appends and claims are marked as repeated in the second, as the
	// contract asks of who repeats them. What the contract does not let anybody repeat is made
	// once: sends without a key, a Resume.
	Duplicate
)

// String returns the kind's name.
func (k Kind) String() string {
	return [...]string{"none", "fail before", "fail after", "duplicate"}[k]
}

// Fault is what happens to one call.
type Fault struct {
	Kind Kind
	// Err replaces ErrUnavailable of FailBefore and FailAfter.
	Err error
	// Before and After, if set, are called before the call reaches the store and after it came
	// back. A call is delayed by a Before that waits for a channel; they get the call's context,
	// which they should heed.
	Before func(context.Context)
	After  func(context.Context)
	// Busy, if set, picks operations of an Apply that a caller's transaction is in the way of: they
	// do not happen, and have ErrBusy. One that refuses its batch does so; the others go through,
	// or wrong, as Kind says. It is called with a *store.CheckpointWrite, *store.Append,
	// *store.Send, *store.Outcome or *store.Enqueue.
	Busy func(operation any) bool
}

// Call is one call of a method.
type Call struct {
	Op string // the method's name
	N  int    // how many calls of this method came before
}

// Plan decides what happens to each call. It may be called by many goroutines at once.
type Plan func(Call) Fault

// Script lets the calls of each method go wrong as listed, in order; what is not listed goes
// through.
func Script(faults map[string][]Fault) Plan {
	return func(c Call) Fault {
		if list := faults[c.Op]; c.N < len(list) {
			return list[c.N]
		}
		return Fault{}
	}
}

// Seeded lets each call go wrong with the given probability, in a way that depends on the seed
// alone as long as calls come in the same order.
func Seeded(seed uint64, probability float64) Plan {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	return func(Call) Fault {
		mu.Lock()
		defer mu.Unlock()
		if random.Float64() >= probability {
			return Fault{}
		}
		return Fault{Kind: []Kind{FailBefore, FailAfter, Duplicate}[random.IntN(3)]}
	}
}

// Store is a store whose calls go wrong. Use Wrap.
type Store struct {
	inner store.Store

	mu    sync.Mutex // guards the fields below
	plan  Plan
	calls map[string]int
}

var _ store.Store = (*Store)(nil)

// Wrap returns a store that passes every call on to inner, unless plan says otherwise. A nil plan
// lets all through.
func Wrap(inner store.Store, plan Plan) *Store {
	return &Store{inner: inner, plan: plan, calls: map[string]int{}}
}

// Plan replaces the plan, and resets the counts of calls.
func (s *Store) Plan(plan Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = plan
	clear(s.calls)
}

// Calls returns how many calls of a method came since the plan was set.
func (s *Store) Calls(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

func (s *Store) next(op string) Fault {
	s.mu.Lock()
	plan, n := s.plan, s.calls[op]
	s.calls[op]++
	s.mu.Unlock()
	if plan == nil {
		return Fault{}
	}
	return plan(Call{Op: op, N: n})
}

// errOnce is what a call answers to its duplicate if it is one that must not be repeated.
var errOnce = errors.New("not repeated")

// do makes a call under the plan. The function gets false for the call itself and true for its
// duplicate.
func (s *Store) do(ctx context.Context, op string, call func(again bool) error) error {
	return s.next(op).apply(ctx, op, call)
}

func (f Fault) apply(ctx context.Context, op string, call func(again bool) error) error {
	if f.Before != nil {
		f.Before(ctx)
	}
	if f.Kind == FailBefore {
		return f.err(op, "the request was lost")
	}
	err := call(false)
	if f.Kind == Duplicate && err == nil {
		if err = call(true); errors.Is(err, errOnce) {
			err = nil
		}
	}
	if f.After != nil {
		f.After(ctx)
	}
	if f.Kind == FailAfter {
		return f.err(op, "the answer was lost")
	}
	return err
}

func (f Fault) err(op, what string) error {
	if f.Err != nil {
		return f.Err
	}
	return fmt.Errorf("%w: %s: %s", store.ErrUnavailable, op, what)
}

// answer makes a call that returns a value, which is lost with the error.
func answer[T any](ctx context.Context, s *Store, op string, call func() (T, error)) (T, error) {
	var result T
	err := s.do(ctx, op, func(bool) (err error) {
		result, err = call()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return result, nil
}

// told makes a call that returns a value and wake-ups, which are lost with the error.
func told[T any](ctx context.Context, s *Store, op string, call func() (T, []store.Wake, error)) (T, []store.Wake, error) {
	var wakes []store.Wake
	result, err := answer(ctx, s, op, func() (result T, err error) {
		result, wakes, err = call()
		return result, err
	})
	if err != nil {
		return result, nil, err
	}
	return result, wakes, nil
}

// Claim implements store.Claims.
func (s *Store) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	var claimed []store.Claimed
	err := s.do(ctx, "Claim", func(again bool) (err error) {
		params := params
		params.Repeat = params.Repeat || again
		claimed, err = s.inner.Claim(ctx, params)
		return err
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// Join implements store.Nodes.
func (s *Store) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	return answer(ctx, s, "Join", func() (int64, error) { return s.inner.Join(ctx, info) })
}

// Beat implements store.Nodes.
func (s *Store) Beat(ctx context.Context, params store.BeatParams) (store.Beat, error) {
	return answer(ctx, s, "Beat", func() (store.Beat, error) { return s.inner.Beat(ctx, params) })
}

// Leave implements store.Nodes.
func (s *Store) Leave(ctx context.Context, node int64) ([]store.Wake, error) {
	return answer(ctx, s, "Leave", func() ([]store.Wake, error) { return s.inner.Leave(ctx, node) })
}

// Nodes implements store.Nodes.
func (s *Store) Nodes(ctx context.Context) ([]store.Node, error) {
	return answer(ctx, s, "Nodes", func() ([]store.Node, error) { return s.inner.Nodes(ctx) })
}

// AskNode implements store.Nodes.
func (s *Store) AskNode(ctx context.Context, params store.AskNodeParams) error {
	return s.do(ctx, "AskNode", func(bool) error { return s.inner.AskNode(ctx, params) })
}

// Cancel implements store.Operators.
func (s *Store) Cancel(ctx context.Context, params store.CancelParams) ([]store.Result, []store.Wake, error) {
	return told(ctx, s, "Cancel", func() ([]store.Result, []store.Wake, error) { return s.inner.Cancel(ctx, params) })
}

// Retry implements store.Operators.
func (s *Store) Retry(ctx context.Context, params store.RetryParams) ([]store.Result, []store.Wake, error) {
	return told(ctx, s, "Retry", func() ([]store.Result, []store.Wake, error) { return s.inner.Retry(ctx, params) })
}

// Pause implements store.Queues.
func (s *Store) Pause(ctx context.Context, params store.PauseParams) error {
	return s.do(ctx, "Pause", func(bool) error { return s.inner.Pause(ctx, params) })
}

// Rest implements store.Queues.
func (s *Store) Rest(ctx context.Context, params store.RestParams) (rest store.Resting, err error) {
	err = s.do(ctx, "Rest", func(bool) error {
		rest, err = s.inner.Rest(ctx, params)
		return err
	})
	return rest, err
}

// SetQueue implements store.Queues.
func (s *Store) SetQueue(ctx context.Context, params store.SetQueueParams) (set store.QueueAttempts, err error) {
	err = s.do(ctx, "SetQueue", func(bool) error {
		set, err = s.inner.SetQueue(ctx, params)
		return err
	})
	return set, err
}

// AttemptsOfQueues implements store.Queues.
func (s *Store) AttemptsOfQueues(ctx context.Context, namespace string) (map[string]store.QueueAttempts, error) {
	return answer(ctx, s, "AttemptsOfQueues", func() (map[string]store.QueueAttempts, error) {
		return s.inner.AttemptsOfQueues(ctx, namespace)
	})
}

// DeleteQueue implements store.Queues. It is not duplicated: the second one would find no queue.
func (s *Store) DeleteQueue(ctx context.Context, params store.DeleteQueueParams) error {
	return s.do(ctx, "DeleteQueue", func(again bool) error {
		if again {
			return errOnce
		}
		return s.inner.DeleteQueue(ctx, params)
	})
}

// PauseJobs implements store.Operators.
func (s *Store) PauseJobs(ctx context.Context, params store.PauseJobsParams) ([]store.Result, []store.Wake, error) {
	return told(ctx, s, "PauseJobs", func() ([]store.Result, []store.Wake, error) { return s.inner.PauseJobs(ctx, params) })
}

// Resume implements store.Operators. It is not duplicated: the second one would find a job that
// goes on already.
func (s *Store) Resume(ctx context.Context, params store.ResumeParams) (state store.State, wakes []store.Wake, err error) {
	err = s.do(ctx, "Resume", func(again bool) (err error) {
		if again {
			return errOnce
		}
		state, wakes, err = s.inner.Resume(ctx, params)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	return state, wakes, nil
}

// Fork implements store.Operators.
func (s *Store) Fork(ctx context.Context, params store.ForkParams) ([]store.Wake, error) {
	return answer(ctx, s, "Fork", func() ([]store.Wake, error) { return s.inner.Fork(ctx, params) })
}

// Edit implements store.Editors.
func (s *Store) Edit(ctx context.Context, params store.EditParams) (store.State, []store.Wake, error) {
	return told(ctx, s, "Edit", func() (store.State, []store.Wake, error) { return s.inner.Edit(ctx, params) })
}

// Depend implements store.Editors.
func (s *Store) Depend(ctx context.Context, params store.DependParams) (store.State, []store.Wake, error) {
	return told(ctx, s, "Depend", func() (store.State, []store.Wake, error) { return s.inner.Depend(ctx, params) })
}

// Delete implements store.Editors.
func (s *Store) Delete(ctx context.Context, params store.DeleteParams) ([]store.Result, []store.Wake, error) {
	return told(ctx, s, "Delete", func() ([]store.Result, []store.Wake, error) { return s.inner.Delete(ctx, params) })
}

// Get implements store.Reader.
func (s *Store) Get(ctx context.Context, namespace string, id store.ID) (store.Record, error) {
	return answer(ctx, s, "Get", func() (store.Record, error) { return s.inner.Get(ctx, namespace, id) })
}

// List implements store.Reader.
func (s *Store) List(ctx context.Context, params store.ListParams) (store.Page, error) {
	return answer(ctx, s, "List", func() (store.Page, error) { return s.inner.List(ctx, params) })
}

// Count implements store.Reader.
func (s *Store) Count(ctx context.Context, params store.CountParams) (store.Counted, error) {
	return answer(ctx, s, "Count", func() (store.Counted, error) { return s.inner.Count(ctx, params) })
}

// WaitingOfKeys implements store.Reader.
func (s *Store) WaitingOfKeys(ctx context.Context, params store.WaitingOfKeysParams) ([]int, error) {
	return answer(ctx, s, "WaitingOfKeys", func() ([]int, error) { return s.inner.WaitingOfKeys(ctx, params) })
}

// DeadGroups implements store.Reader.
func (s *Store) DeadGroups(ctx context.Context, params store.DeadParams) (store.DeadPage, error) {
	return answer(ctx, s, "DeadGroups", func() (store.DeadPage, error) { return s.inner.DeadGroups(ctx, params) })
}

// StuckKeys implements store.Reader.
func (s *Store) StuckKeys(ctx context.Context, params store.StuckKeysParams) (store.StuckPage, error) {
	return answer(ctx, s, "StuckKeys", func() (store.StuckPage, error) { return s.inner.StuckKeys(ctx, params) })
}

// Obstacles implements store.Reader.
func (s *Store) Obstacles(ctx context.Context, namespace string, id store.ID) (store.Obstacles, error) {
	return answer(ctx, s, "Obstacles", func() (store.Obstacles, error) { return s.inner.Obstacles(ctx, namespace, id) })
}

// Queues implements store.Queues.
func (s *Store) Queues(ctx context.Context, namespace string) ([]store.Queue, error) {
	return answer(ctx, s, "Queues", func() ([]store.Queue, error) { return s.inner.Queues(ctx, namespace) })
}

// Busy implements store.Claims.
func (s *Store) Busy(ctx context.Context, namespace string) ([]store.BusyQueue, error) {
	return answer(ctx, s, "Busy", func() ([]store.BusyQueue, error) { return s.inner.Busy(ctx, namespace) })
}

// Unserved implements store.Queues.
func (s *Store) Unserved(ctx context.Context, limit int) ([]store.Unserved, error) {
	return answer(ctx, s, "Unserved", func() ([]store.Unserved, error) { return s.inner.Unserved(ctx, limit) })
}

// Find implements store.Keys.
func (s *Store) Find(ctx context.Context, key store.JobKey) (store.ID, error) {
	return answer(ctx, s, "Find", func() (store.ID, error) { return s.inner.Find(ctx, key) })
}

// Journals implements store.Journals.
func (s *Store) Journals(ctx context.Context, namespace string, ids []store.ID) ([]store.Journal, error) {
	return answer(ctx, s, "Journals", func() ([]store.Journal, error) { return s.inner.Journals(ctx, namespace, ids) })
}

// Entries implements store.Journals.
func (s *Store) Entries(ctx context.Context, params store.JournalParams) ([]store.Entry, error) {
	return answer(ctx, s, "Entries", func() ([]store.Entry, error) { return s.inner.Entries(ctx, params) })
}

// Messages implements store.Journals.
func (s *Store) Messages(ctx context.Context, params store.InboxParams) ([]store.Message, error) {
	return answer(ctx, s, "Messages", func() ([]store.Message, error) { return s.inner.Messages(ctx, params) })
}

// OpenUpdates implements store.Updates.
func (s *Store) OpenUpdates(ctx context.Context, of []store.UpdatesAfter) ([][]store.Update, error) {
	return answer(ctx, s, "OpenUpdates", func() ([][]store.Update, error) { return s.inner.OpenUpdates(ctx, of) })
}

// GetUpdate implements store.Updates.
func (s *Store) GetUpdate(ctx context.Context, namespace string, job store.ID, key string) (store.Update, error) {
	return answer(ctx, s, "GetUpdate", func() (store.Update, error) { return s.inner.GetUpdate(ctx, namespace, job, key) })
}

// ForgetUpdate implements store.Updates.
func (s *Store) ForgetUpdate(ctx context.Context, namespace string, job store.ID, key string) error {
	return s.do(ctx, "ForgetUpdate", func(bool) error { return s.inner.ForgetUpdate(ctx, namespace, job, key) })
}

// KeepLogs implements store.Logs.
func (s *Store) KeepLogs(ctx context.Context, chunks []store.LogChunk) error {
	return s.do(ctx, "KeepLogs", func(bool) error { return s.inner.KeepLogs(ctx, chunks) })
}

// KeepFacts implements store.Facts.
func (s *Store) KeepFacts(ctx context.Context, facts []store.Fact) error {
	return s.do(ctx, "KeepFacts", func(bool) error { return s.inner.KeepFacts(ctx, facts) })
}

// Facts implements store.Facts.
func (s *Store) Facts(ctx context.Context, params store.FactParams) ([]store.Fact, error) {
	return answer(ctx, s, "Facts", func() ([]store.Fact, error) { return s.inner.Facts(ctx, params) })
}

// MergeFacts implements store.Facts.
func (s *Store) MergeFacts(ctx context.Context, gone []store.FactKey, merged []store.Fact) error {
	return s.do(ctx, "MergeFacts", func(bool) error { return s.inner.MergeFacts(ctx, gone, merged) })
}

// Measure implements store.Facts.
func (s *Store) Measure(ctx context.Context) (store.Measured, error) {
	return answer(ctx, s, "Measure", func() (store.Measured, error) { return s.inner.Measure(ctx) })
}

// Logs implements store.Logs.
func (s *Store) Logs(ctx context.Context, params store.LogParams) ([]store.LogChunk, error) {
	return answer(ctx, s, "Logs", func() ([]store.LogChunk, error) { return s.inner.Logs(ctx, params) })
}

// Describe implements store.Descriptors.
func (s *Store) Describe(ctx context.Context, list []store.Descriptor, actor string) (int, error) {
	return answer(ctx, s, "Describe", func() (int, error) { return s.inner.Describe(ctx, list, actor) })
}

// Descriptors implements store.Descriptors.
func (s *Store) Descriptors(ctx context.Context, params store.DescriptorParams) ([]store.Descriptor, error) {
	return answer(ctx, s, "Descriptors", func() ([]store.Descriptor, error) { return s.inner.Descriptors(ctx, params) })
}

// DeclareAttributes implements store.Attributes.
func (s *Store) DeclareAttributes(ctx context.Context, params store.DeclareAttributesParams) error {
	return s.do(ctx, "DeclareAttributes", func(bool) error { return s.inner.DeclareAttributes(ctx, params) })
}

// DeclaredAttributes implements store.Attributes.
func (s *Store) DeclaredAttributes(ctx context.Context, namespace string) ([]store.DeclaredAttribute, error) {
	return answer(ctx, s, "DeclaredAttributes", func() ([]store.DeclaredAttribute, error) {
		return s.inner.DeclaredAttributes(ctx, namespace)
	})
}

// RemoveAttribute implements store.Attributes.
func (s *Store) RemoveAttribute(ctx context.Context, params store.RemoveAttributeParams) (bool, error) {
	return answer(ctx, s, "RemoveAttribute", func() (bool, error) { return s.inner.RemoveAttribute(ctx, params) })
}

// SetRetention implements store.Retentions.
func (s *Store) SetRetention(ctx context.Context, class store.RetentionClass) (store.RetentionClass, error) {
	return answer(ctx, s, "SetRetention", func() (store.RetentionClass, error) { return s.inner.SetRetention(ctx, class) })
}

// RetentionClasses implements store.Retentions.
func (s *Store) RetentionClasses(ctx context.Context) ([]store.RetentionClass, error) {
	return answer(ctx, s, "RetentionClasses", func() ([]store.RetentionClass, error) { return s.inner.RetentionClasses(ctx) })
}

// DeleteRetention implements store.Retentions.
func (s *Store) DeleteRetention(ctx context.Context, class store.RetentionClass) error {
	return s.do(ctx, "DeleteRetention", func(bool) error { return s.inner.DeleteRetention(ctx, class) })
}

// Expired implements store.Retentions.
func (s *Store) Expired(ctx context.Context, params store.Retention) (jobs []store.EndedJob, more bool, err error) {
	err = s.do(ctx, "Expired", func(bool) (err error) {
		jobs, more, err = s.inner.Expired(ctx, params)
		return err
	})
	return jobs, more, err
}

// RemoveExpired implements store.Retentions.
func (s *Store) RemoveExpired(ctx context.Context, jobs []store.EndedJob) (int, error) {
	return answer(ctx, s, "RemoveExpired", func() (int, error) { return s.inner.RemoveExpired(ctx, jobs) })
}

// Removed implements store.Retentions.
func (s *Store) Removed(ctx context.Context, params store.RemovedParams) ([]store.Removed, error) {
	return answer(ctx, s, "Removed", func() ([]store.Removed, error) { return s.inner.Removed(ctx, params) })
}

// SetFeed implements store.Feed.
func (s *Store) SetFeed(ctx context.Context, on bool, actor string) (status store.FeedStatus, err error) {
	return status, s.do(ctx, "SetFeed", func(bool) error {
		status, err = s.inner.SetFeed(ctx, on, actor)
		return err
	})
}

// FeedStatus implements store.Feed.
func (s *Store) FeedStatus(ctx context.Context) (store.FeedStatus, error) {
	return answer(ctx, s, "FeedStatus", func() (store.FeedStatus, error) { return s.inner.FeedStatus(ctx) })
}

// OrderFeed implements store.Feed.
func (s *Store) OrderFeed(ctx context.Context) error {
	return s.do(ctx, "OrderFeed", func(bool) error { return s.inner.OrderFeed(ctx) })
}

// ReadFeed implements store.Feed.
func (s *Store) ReadFeed(ctx context.Context, params store.FeedParams) (store.FeedPage, error) {
	return answer(ctx, s, "ReadFeed", func() (store.FeedPage, error) { return s.inner.ReadFeed(ctx, params) })
}

// Ended implements store.Reader.
func (s *Store) Ended(ctx context.Context, namespace string, ids []store.ID) ([]store.Ended, error) {
	return answer(ctx, s, "Ended", func() ([]store.Ended, error) { return s.inner.Ended(ctx, namespace, ids) })
}

// Promote implements store.Maintenance.
func (s *Store) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	return answer(ctx, s, "Promote", func() (store.Promoted, error) { return s.inner.Promote(ctx, limit) })
}

// Rescue implements store.Maintenance.
func (s *Store) Rescue(ctx context.Context, params store.RescueParams) (store.Rescued, error) {
	return answer(ctx, s, "Rescue", func() (store.Rescued, error) { return s.inner.Rescue(ctx, params) })
}

// SweepCancels implements store.Maintenance.
func (s *Store) SweepCancels(ctx context.Context) (store.Swept, error) {
	return answer(ctx, s, "SweepCancels", func() (store.Swept, error) { return s.inner.SweepCancels(ctx) })
}

// CloseChildren implements store.Maintenance.
func (s *Store) CloseChildren(ctx context.Context, limit int) (store.Closed, error) {
	return answer(ctx, s, "CloseChildren", func() (store.Closed, error) { return s.inner.CloseChildren(ctx, limit) })
}

// Retain implements store.Maintenance.
func (s *Store) Retain(ctx context.Context, params store.Retention) (store.Retained, error) {
	return answer(ctx, s, "Retain", func() (store.Retained, error) { return s.inner.Retain(ctx, params) })
}

// Traits implements store.Store.
func (s *Store) Traits() store.Traits { return s.inner.Traits() }

// Now implements store.Store.
func (s *Store) Now() time.Time { return s.inner.Now() }

// Watch implements store.Store. Its wake-ups are hints and may be lost at any time, so there is
// nothing to lose here but the watch itself: FailBefore ends it at once and FailAfter after its
// first wake-up, with an error, which a real one never does.
func (s *Store) Watch(ctx context.Context, wake func(store.Wake)) error {
	watching, end := context.WithCancel(ctx)
	defer end()
	fault := s.next("Watch")
	if fault.Kind == FailAfter {
		tell := wake
		wake = func(w store.Wake) {
			if watching.Err() == nil {
				tell(w)
				end()
			}
		}
	}
	err := fault.apply(ctx, "Watch", func(bool) error { return s.inner.Watch(watching, wake) })
	if fault.Kind == FailAfter && ctx.Err() != nil {
		return nil // it was the caller who ended it
	}
	return err
}

// Notify implements store.Store. FailBefore loses the wake-ups, Duplicate sends them twice.
func (s *Store) Notify(wakes ...store.Wake) {
	_ = s.do(context.Background(), "Notify", func(bool) error {
		s.inner.Notify(wakes...)
		return nil
	})
}

// Close implements store.Store. It always goes through.
func (s *Store) Close() error { return s.inner.Close() }
