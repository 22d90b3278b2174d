package env

import (
	"context"
	"errors"

	"github.com/holdfastdev/holdfast/store"
)

// persistent is a caller that asks again until it gets an answer, by the rules of the contract
// (package store, "Repeating"): outcomes, appends and claims are marked as repeated, everything
// else is sent as it was. It does so with a Resume too, whose answer is then of little worth: the
// job may go on already.
type persistent struct{ store.Store }

// Persist returns a caller of s that asks again until it gets an answer.
func Persist(s store.Store) store.Store { return persistent{s} }

// persist asks until there is an answer. The function gets true from the second time on.
func persist(ask func(again bool) error) error {
	for again := false; ; again = true {
		if err := ask(again); !errors.Is(err, store.ErrUnavailable) {
			return err
		}
	}
}

func persistFor[T any](ask func() (T, error)) (answer T, err error) {
	err = persist(func(bool) (err error) {
		answer, err = ask()
		return err
	})
	return answer, err
}

func persistTold[T any](ask func() (T, []store.Wake, error)) (answer T, wakes []store.Wake, err error) {
	err = persist(func(bool) (err error) {
		answer, wakes, err = ask()
		return err
	})
	return answer, wakes, err
}

func (p persistent) Apply(ctx context.Context, batch *store.Batch) error {
	if len(batch.Fires) > 0 {
		return p.fire(ctx, batch)
	}
	return persist(func(again bool) error {
		for _, a := range batch.Appends {
			a.Repeat = a.Repeat || again
		}
		for _, o := range batch.Outcomes {
			o.Repeat = o.Repeat || again
		}
		return p.Store.Apply(ctx, batch)
	})
}

func (p persistent) Claim(ctx context.Context, params store.ClaimParams) (claimed []store.Claimed, err error) {
	err = persist(func(again bool) (err error) {
		params.Repeat = params.Repeat || again
		claimed, err = p.Store.Claim(ctx, params)
		return err
	})
	return claimed, err
}

func (p persistent) AwaitTx(ctx context.Context, job store.ID) error {
	return persist(func(bool) error { return p.Store.AwaitTx(ctx, job) })
}

func (p persistent) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	return persistFor(func() (int64, error) { return p.Store.Join(ctx, info) })
}

func (p persistent) Beat(ctx context.Context, params store.BeatParams) (store.Beat, error) {
	return persistFor(func() (store.Beat, error) { return p.Store.Beat(ctx, params) })
}

func (p persistent) Leave(ctx context.Context, node int64) ([]store.Wake, error) {
	return persistFor(func() ([]store.Wake, error) { return p.Store.Leave(ctx, node) })
}

func (p persistent) AskNode(ctx context.Context, params store.AskNodeParams) error {
	return persist(func(bool) error { return p.Store.AskNode(ctx, params) })
}

func (p persistent) Nodes(ctx context.Context) ([]store.Node, error) {
	return persistFor(func() ([]store.Node, error) { return p.Store.Nodes(ctx) })
}

func (p persistent) Cancel(ctx context.Context, params store.CancelParams) ([]store.Result, []store.Wake, error) {
	return persistTold(func() ([]store.Result, []store.Wake, error) { return p.Store.Cancel(ctx, params) })
}

func (p persistent) Retry(ctx context.Context, params store.RetryParams) ([]store.Result, []store.Wake, error) {
	return persistTold(func() ([]store.Result, []store.Wake, error) { return p.Store.Retry(ctx, params) })
}

func (p persistent) Pause(ctx context.Context, params store.PauseParams) error {
	return persist(func(bool) error { return p.Store.Pause(ctx, params) })
}

func (p persistent) Rest(ctx context.Context, params store.RestParams) (rest store.Resting, err error) {
	err = persist(func(bool) error {
		rest, err = p.Store.Rest(ctx, params)
		return err
	})
	return rest, err
}

func (p persistent) SetQueue(ctx context.Context, params store.SetQueueParams) (store.QueueAttempts, error) {
	return persistFor(func() (store.QueueAttempts, error) { return p.Store.SetQueue(ctx, params) })
}

func (p persistent) Busy(ctx context.Context, namespace string) ([]store.BusyQueue, error) {
	return persistFor(func() ([]store.BusyQueue, error) { return p.Store.Busy(ctx, namespace) })
}

func (p persistent) AttemptsOfQueues(ctx context.Context, namespace string) (map[string]store.QueueAttempts, error) {
	return persistFor(func() (map[string]store.QueueAttempts, error) { return p.Store.AttemptsOfQueues(ctx, namespace) })
}

func (p persistent) DeleteQueue(ctx context.Context, params store.DeleteQueueParams) error {
	return persist(func(bool) error { return p.Store.DeleteQueue(ctx, params) })
}

func (p persistent) PauseJobs(ctx context.Context, params store.PauseJobsParams) ([]store.Result, []store.Wake, error) {
	return persistTold(func() ([]store.Result, []store.Wake, error) { return p.Store.PauseJobs(ctx, params) })
}

func (p persistent) Resume(ctx context.Context, params store.ResumeParams) (store.State, []store.Wake, error) {
	return persistTold(func() (store.State, []store.Wake, error) { return p.Store.Resume(ctx, params) })
}

func (p persistent) Finish(ctx context.Context, params store.FinishParams) ([]store.Result, []store.Wake, error) {
	return persistTold(func() ([]store.Result, []store.Wake, error) { return p.Store.Finish(ctx, params) })
}

func (p persistent) Fork(ctx context.Context, params store.ForkParams) ([]store.Wake, error) {
	return persistFor(func() ([]store.Wake, error) { return p.Store.Fork(ctx, params) })
}

func (p persistent) Edit(ctx context.Context, params store.EditParams) (store.State, []store.Wake, error) {
	return persistTold(func() (store.State, []store.Wake, error) { return p.Store.Edit(ctx, params) })
}

func (p persistent) Depend(ctx context.Context, params store.DependParams) (store.State, []store.Wake, error) {
	return persistTold(func() (store.State, []store.Wake, error) { return p.Store.Depend(ctx, params) })
}

func (p persistent) Delete(ctx context.Context, params store.DeleteParams) ([]store.Result, []store.Wake, error) {
	return persistTold(func() ([]store.Result, []store.Wake, error) { return p.Store.Delete(ctx, params) })
}

func (p persistent) Journals(ctx context.Context, namespace string, ids []store.ID) ([]store.Journal, error) {
	return persistFor(func() ([]store.Journal, error) { return p.Store.Journals(ctx, namespace, ids) })
}

func (p persistent) Entries(ctx context.Context, params store.JournalParams) ([]store.Entry, error) {
	return persistFor(func() ([]store.Entry, error) { return p.Store.Entries(ctx, params) })
}

func (p persistent) OpenUpdates(ctx context.Context, of []store.UpdatesAfter) ([][]store.Update, error) {
	return persistFor(func() ([][]store.Update, error) { return p.Store.OpenUpdates(ctx, of) })
}

func (p persistent) GetUpdate(ctx context.Context, namespace string, job store.ID, key string) (store.Update, error) {
	return persistFor(func() (store.Update, error) { return p.Store.GetUpdate(ctx, namespace, job, key) })
}

func (p persistent) ForgetUpdate(ctx context.Context, namespace string, job store.ID, key string) error {
	return persist(func(bool) error { return p.Store.ForgetUpdate(ctx, namespace, job, key) })
}

func (p persistent) KeepLogs(ctx context.Context, chunks []store.LogChunk) error {
	return persist(func(bool) error { return p.Store.KeepLogs(ctx, chunks) })
}

func (p persistent) Logs(ctx context.Context, params store.LogParams) ([]store.LogChunk, error) {
	return persistFor(func() ([]store.LogChunk, error) { return p.Store.Logs(ctx, params) })
}

func (p persistent) KeepFacts(ctx context.Context, facts []store.Fact) error {
	return persist(func(bool) error { return p.Store.KeepFacts(ctx, facts) })
}

func (p persistent) Facts(ctx context.Context, params store.FactParams) ([]store.Fact, error) {
	return persistFor(func() ([]store.Fact, error) { return p.Store.Facts(ctx, params) })
}

// MergeFacts takes the conflict of a call that is repeated, as its answer was lost, for its
// success: no other process merges.
func (p persistent) MergeFacts(ctx context.Context, gone []store.FactKey, merged []store.Fact) error {
	return persist(func(again bool) error {
		err := p.Store.MergeFacts(ctx, gone, merged)
		if again && errors.Is(err, store.ErrConflict) {
			return nil
		}
		return err
	})
}

func (p persistent) Describe(ctx context.Context, list []store.Descriptor, actor string) (int, error) {
	return persistFor(func() (int, error) { return p.Store.Describe(ctx, list, actor) })
}

func (p persistent) Descriptors(ctx context.Context, params store.DescriptorParams) ([]store.Descriptor, error) {
	return persistFor(func() ([]store.Descriptor, error) { return p.Store.Descriptors(ctx, params) })
}

func (p persistent) DeclareAttributes(ctx context.Context, params store.DeclareAttributesParams) error {
	return persist(func(bool) error { return p.Store.DeclareAttributes(ctx, params) })
}

func (p persistent) DeclaredAttributes(ctx context.Context, namespace string) ([]store.DeclaredAttribute, error) {
	return persistFor(func() ([]store.DeclaredAttribute, error) { return p.Store.DeclaredAttributes(ctx, namespace) })
}

func (p persistent) RemoveAttribute(ctx context.Context, params store.RemoveAttributeParams) (bool, error) {
	return persistFor(func() (bool, error) { return p.Store.RemoveAttribute(ctx, params) })
}

func (p persistent) SetRetention(ctx context.Context, class store.RetentionClass) (store.RetentionClass, error) {
	return persistFor(func() (store.RetentionClass, error) { return p.Store.SetRetention(ctx, class) })
}

func (p persistent) RetentionClasses(ctx context.Context) ([]store.RetentionClass, error) {
	return persistFor(func() ([]store.RetentionClass, error) { return p.Store.RetentionClasses(ctx) })
}

func (p persistent) DeleteRetention(ctx context.Context, class store.RetentionClass) error {
	return persist(func(again bool) error {
		err := p.Store.DeleteRetention(ctx, class)
		if again && errors.Is(err, store.ErrNotFound) {
			return nil // it was deleted, and the answer was lost
		}
		return err
	})
}

func (p persistent) Measure(ctx context.Context) (store.Measured, error) {
	return persistFor(func() (store.Measured, error) { return p.Store.Measure(ctx) })
}

func (p persistent) Expired(ctx context.Context, params store.Retention) (jobs []store.EndedJob, more bool, err error) {
	err = persist(func(bool) (err error) {
		jobs, more, err = p.Store.Expired(ctx, params)
		return err
	})
	return jobs, more, err
}

func (p persistent) RemoveExpired(ctx context.Context, jobs []store.EndedJob) (int, error) {
	return persistFor(func() (int, error) { return p.Store.RemoveExpired(ctx, jobs) })
}

func (p persistent) Removed(ctx context.Context, params store.RemovedParams) ([]store.Removed, error) {
	return persistFor(func() ([]store.Removed, error) { return p.Store.Removed(ctx, params) })
}

func (p persistent) SetFeed(ctx context.Context, on bool, actor string) (store.FeedStatus, error) {
	return persistFor(func() (store.FeedStatus, error) { return p.Store.SetFeed(ctx, on, actor) })
}

func (p persistent) FeedStatus(ctx context.Context) (store.FeedStatus, error) {
	return persistFor(func() (store.FeedStatus, error) { return p.Store.FeedStatus(ctx) })
}

func (p persistent) OrderFeed(ctx context.Context) error {
	return persist(func(bool) error { return p.Store.OrderFeed(ctx) })
}

func (p persistent) ReadFeed(ctx context.Context, params store.FeedParams) (store.FeedPage, error) {
	return persistFor(func() (store.FeedPage, error) { return p.Store.ReadFeed(ctx, params) })
}

func (p persistent) CloseChildren(ctx context.Context, limit int) (store.Closed, error) {
	return persistFor(func() (store.Closed, error) { return p.Store.CloseChildren(ctx, limit) })
}

func (p persistent) Get(ctx context.Context, namespace string, id store.ID) (store.Record, error) {
	return persistFor(func() (store.Record, error) { return p.Store.Get(ctx, namespace, id) })
}

func (p persistent) Find(ctx context.Context, key store.JobKey) (store.ID, error) {
	return persistFor(func() (store.ID, error) { return p.Store.Find(ctx, key) })
}

func (p persistent) List(ctx context.Context, params store.ListParams) (store.Page, error) {
	return persistFor(func() (store.Page, error) { return p.Store.List(ctx, params) })
}

func (p persistent) Count(ctx context.Context, params store.CountParams) (store.Counted, error) {
	return persistFor(func() (store.Counted, error) { return p.Store.Count(ctx, params) })
}

func (p persistent) WaitingOfKeys(ctx context.Context, params store.WaitingOfKeysParams) ([]int, error) {
	return persistFor(func() ([]int, error) { return p.Store.WaitingOfKeys(ctx, params) })
}

func (p persistent) DeadGroups(ctx context.Context, params store.DeadParams) (store.DeadPage, error) {
	return persistFor(func() (store.DeadPage, error) { return p.Store.DeadGroups(ctx, params) })
}

func (p persistent) StuckKeys(ctx context.Context, params store.StuckKeysParams) (store.StuckPage, error) {
	return persistFor(func() (store.StuckPage, error) { return p.Store.StuckKeys(ctx, params) })
}

func (p persistent) Queues(ctx context.Context, namespace string) ([]store.Queue, error) {
	return persistFor(func() ([]store.Queue, error) { return p.Store.Queues(ctx, namespace) })
}

func (p persistent) Ended(ctx context.Context, namespace string, ids []store.ID) ([]store.Ended, error) {
	return persistFor(func() ([]store.Ended, error) { return p.Store.Ended(ctx, namespace, ids) })
}

func (p persistent) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	return persistFor(func() (store.Promoted, error) { return p.Store.Promote(ctx, limit) })
}

func (p persistent) Rescue(ctx context.Context, params store.RescueParams) (store.Rescued, error) {
	return persistFor(func() (store.Rescued, error) { return p.Store.Rescue(ctx, params) })
}

func (p persistent) SweepCancels(ctx context.Context) (store.Swept, error) {
	return persistFor(func() (store.Swept, error) { return p.Store.SweepCancels(ctx) })
}

func (p persistent) Retain(ctx context.Context, params store.Retention) (store.Retained, error) {
	return persistFor(func() (store.Retained, error) { return p.Store.Retain(ctx, params) })
}

// ApplyWhole applies a batch, and again what another transaction was in the way of, until nothing
// is: among many who write at the same moment that may be any of them.
func ApplyWhole(ctx context.Context, s store.Store, batch *store.Batch) error {
	for {
		if err := store.ApplyEach(ctx, s, batch); err != nil {
			return err
		}
		left := &store.Batch{
			Appends:  onlyBusy(batch.Appends, func(a *store.Append) error { return a.Err }),
			Sends:    onlyBusy(batch.Sends, func(q *store.Send) error { return q.Err }),
			Outcomes: onlyBusy(batch.Outcomes, func(o *store.Outcome) error { return o.Err }),
			Enqueues: onlyBusy(batch.Enqueues, func(q *store.Enqueue) error { return q.Err }),
		}
		if left.Len() == 0 {
			return nil
		}
		batch = left
	}
}

func onlyBusy[T any](all []T, errOf func(T) error) (busy []T) {
	for _, op := range all {
		if errors.Is(errOf(op), store.ErrBusy) {
			busy = append(busy, op)
		}
	}
	return busy
}
