package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/postgres/internal/apikeys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/attributes"
	"github.com/holdfastdev/holdfast/store/postgres/internal/audits"
	"github.com/holdfastdev/holdfast/store/postgres/internal/batches"
	"github.com/holdfastdev/holdfast/store/postgres/internal/claims"
	"github.com/holdfastdev/holdfast/store/postgres/internal/classes"
	"github.com/holdfastdev/holdfast/store/postgres/internal/descriptors"
	"github.com/holdfastdev/holdfast/store/postgres/internal/endpoints"
	"github.com/holdfastdev/holdfast/store/postgres/internal/facts"
	"github.com/holdfastdev/holdfast/store/postgres/internal/feed"
	"github.com/holdfastdev/holdfast/store/postgres/internal/joblog"
	"github.com/holdfastdev/holdfast/store/postgres/internal/keys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/limits"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/move"
	"github.com/holdfastdev/holdfast/store/postgres/internal/namespaces"
	"github.com/holdfastdev/holdfast/store/postgres/internal/operate"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/read"
	"github.com/holdfastdev/holdfast/store/postgres/internal/schedules"
	"github.com/holdfastdev/holdfast/store/postgres/internal/schema"
	"github.com/holdfastdev/holdfast/store/postgres/internal/updates"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// Store is an open database. Use Config.Open.
type Store struct {
	ownPool bool
	db      *pg.DB
	local   *local.Store
	tables  *schema.Tables
	read    *read.Store
	claims  *claims.Store
	write   *write.Store
	operate *operate.Store
	updates *updates.Store
	logs    *joblog.Store
	facts   *facts.Store
	move    *move.Store

	schedules *schedules.Store
	batches   *batches.Store
	limits    *limits.Store
	feed      *feed.Store
	classes   *classes.Store
	describes *descriptors.Store
	searched  *attributes.Store
	spaces    *namespaces.Store
	admits    *apikeys.Store
	sends     *endpoints.Store
	audits    *audits.Store

	close sync.Once
}

// Apply implements store.Writer. It is done in one round trip of a few statements that assume that
// all is well: every lease lives, every id is new. If one finds something else nothing has
// happened, and the batch is done again on the slow path, which asks first and then writes what can
// be written.
func (s *Store) Apply(ctx context.Context, in *store.Batch) error {
	return pg.Classify(ctx, "apply", s.write.Apply(ctx, in))
}

// Claim implements store.Claims. It takes at most 1000 jobs at once. Among claims that run at the
// same moment each passes over what the others are taking, so that order holds within each claim
// and, for one claimer, across them. What was put behind jobs that are taken already, and what came
// to a lane that had no work, without this process hearing of it, may have to wait for 250 ms while
// there is other work: see cursors.
func (s *Store) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	claimed, err := s.claims.Claim(ctx, params)
	return claimed, pg.Classify(ctx, "claim", err)
}

// Busy implements store.Claims.
func (s *Store) Busy(ctx context.Context, namespace string) ([]store.BusyQueue, error) {
	queues, err := s.read.Busy(ctx, namespace)
	return queues, pg.Classify(ctx, "look which queues have jobs", err)
}

// EnqueueTx implements store.Writer. Nodes are told when the transaction commits. A unique key that
// another open transaction has taken is waited for, as with any unique index, for as long as the
// caller's lock_timeout allows.
func (s *Store) EnqueueTx(ctx context.Context, wrapped store.Tx, enqueues []*store.Enqueue) error {
	t, err := s.callers(wrapped)
	if err == nil {
		err = s.write.EnqueueTx(ctx, t, enqueues)
	}
	return pg.Classify(ctx, "enqueue in the caller's transaction", err)
}

// SendTx implements store.Writer. The bodies of the jobs stay locked until the transaction ends:
// runs of theirs cannot be parked or put back meanwhile, and children of theirs cannot finish. It
// should be the last thing before the commit.
func (s *Store) SendTx(ctx context.Context, wrapped store.Tx, sends []*store.Send) error {
	t, err := s.callers(wrapped)
	if err == nil {
		err = s.write.SendTx(ctx, t, sends)
	}
	return pg.Classify(ctx, "send in the caller's transaction", err)
}

// AppendTx implements store.Writer. The job's body stays locked until the transaction ends. Who
// takes the job from its run locks the body first, so this lock is what keeps the lease while the
// transaction is open; other jobs of the node are not concerned. The server ends a transaction that
// does not commit within ten seconds after it.
func (s *Store) AppendTx(ctx context.Context, wrapped store.Tx, a *store.Append) error {
	t, err := s.callers(wrapped)
	if err == nil {
		err = s.write.AppendTx(ctx, t, a)
	}
	return pg.Classify(ctx, "append in the caller's transaction", err)
}

// AwaitTx implements store.Writer. Such a transaction has the job's body locked. AwaitTx polls for
// the lock instead of waiting for it, so that it occupies no connection meanwhile.
func (s *Store) AwaitTx(ctx context.Context, job store.ID) error {
	return pg.Classify(ctx, "wait for a transaction on job "+job.String(), s.write.AwaitTx(ctx, job))
}

// Get implements store.Reader.
func (s *Store) Get(ctx context.Context, namespace string, id store.ID) (store.Record, error) {
	record, err := s.read.Get(ctx, namespace, id)
	return record, pg.Classify(ctx, "get job "+id.String(), err)
}

// Ended implements store.Reader.
func (s *Store) Ended(ctx context.Context, namespace string, ids []store.ID) ([]store.Ended, error) {
	ended, err := s.read.Ended(ctx, namespace, ids)
	return ended, pg.Classify(ctx, "read ended jobs", err)
}

// Find implements store.Keys.
func (s *Store) Find(ctx context.Context, key store.JobKey) (store.ID, error) {
	id, err := keys.Find(ctx, s.db, key)
	return id, pg.Classify(ctx, "find a job by its key", err)
}

// List implements store.Reader. A page is read in one snapshot.
func (s *Store) List(ctx context.Context, params store.ListParams) (store.Page, error) {
	page, err := s.read.List(ctx, params)
	return page, pg.Classify(ctx, "list jobs", err)
}

// Count implements store.Reader. Each part is counted in one snapshot.
func (s *Store) Count(ctx context.Context, params store.CountParams) (store.Counted, error) {
	counted, err := s.read.Count(ctx, params)
	return counted, pg.Classify(ctx, "count jobs", err)
}

// WaitingOfKeys implements store.Reader.
func (s *Store) WaitingOfKeys(ctx context.Context, params store.WaitingOfKeysParams) ([]int, error) {
	counts, err := s.read.WaitingOfKeys(ctx, params)
	return counts, pg.Classify(ctx, "count the jobs of keys", err)
}

// StuckKeys implements store.Reader.
func (s *Store) StuckKeys(ctx context.Context, params store.StuckKeysParams) (store.StuckPage, error) {
	page, err := s.read.StuckKeys(ctx, params)
	return page, pg.Classify(ctx, "list the stuck keys of queue "+params.Queue, err)
}

// DeadGroups implements store.Reader. A page is read in one snapshot.
func (s *Store) DeadGroups(ctx context.Context, params store.DeadParams) (store.DeadPage, error) {
	page, err := s.read.DeadGroups(ctx, params)
	return page, pg.Classify(ctx, "group dead letters", err)
}

// Journals implements store.Journals.
func (s *Store) Journals(ctx context.Context, namespace string, ids []store.ID) ([]store.Journal, error) {
	journals, err := s.read.Journals(ctx, namespace, ids)
	return journals, pg.Classify(ctx, "read journals", err)
}

// Entries implements store.Journals.
func (s *Store) Entries(ctx context.Context, params store.JournalParams) ([]store.Entry, error) {
	entries, err := s.read.Entries(ctx, params)
	return entries, pg.Classify(ctx, "read the journal of job "+params.Job.String(), err)
}

// Messages implements store.Journals.
func (s *Store) Messages(ctx context.Context, params store.InboxParams) ([]store.Message, error) {
	messages, err := s.read.Messages(ctx, params)
	return messages, pg.Classify(ctx, "read the messages to job "+params.Job.String(), err)
}

// OpenUpdates implements store.Updates.
func (s *Store) OpenUpdates(ctx context.Context, of []store.UpdatesAfter) ([][]store.Update, error) {
	open, err := s.updates.OpenUpdates(ctx, of)
	return open, pg.Classify(ctx, "read updates", err)
}

// GetUpdate implements store.Updates.
func (s *Store) GetUpdate(ctx context.Context, namespace string, job store.ID, key string) (store.Update, error) {
	u, err := s.updates.GetUpdate(ctx, namespace, job, key)
	return u, pg.Classify(ctx, "read an update of job "+job.String(), err)
}

// ForgetUpdate implements store.Updates.
func (s *Store) ForgetUpdate(ctx context.Context, namespace string, job store.ID, key string) error {
	return pg.Classify(ctx, "forget an update of job "+job.String(), s.updates.ForgetUpdate(ctx, namespace, job, key))
}

// KeepLogs implements store.Logs.
func (s *Store) KeepLogs(ctx context.Context, chunks []store.LogChunk) error {
	return pg.Classify(ctx, "keep logs", s.logs.KeepLogs(ctx, chunks))
}

// Logs implements store.Logs.
func (s *Store) Logs(ctx context.Context, params store.LogParams) ([]store.LogChunk, error) {
	chunks, err := s.logs.Logs(ctx, params)
	return chunks, pg.Classify(ctx, "read the logs of job "+params.Job.String(), err)
}

// KeepFacts implements store.Facts.
func (s *Store) KeepFacts(ctx context.Context, facts []store.Fact) error {
	return pg.Classify(ctx, "keep facts", s.facts.KeepFacts(ctx, facts))
}

// Facts implements store.Facts.
func (s *Store) Facts(ctx context.Context, params store.FactParams) ([]store.Fact, error) {
	found, err := s.facts.Facts(ctx, params)
	return found, pg.Classify(ctx, "read facts", err)
}

// MergeFacts implements store.Facts.
func (s *Store) MergeFacts(ctx context.Context, gone []store.FactKey, merged []store.Fact) error {
	return pg.Classify(ctx, "merge facts", s.facts.MergeFacts(ctx, gone, merged))
}

// Measure implements store.Facts. It asks for the size of the whole database, which the server adds
// up from the sizes of its files.
func (s *Store) Measure(ctx context.Context) (store.Measured, error) {
	m, err := s.facts.Measure(ctx)
	return m, pg.Classify(ctx, "measure the database", err)
}

// SetFeed implements store.Feed. It makes or drops triggers on the tables of jobs, so the user has
// to own these.
func (s *Store) SetFeed(ctx context.Context, on bool, actor string) (store.FeedStatus, error) {
	status, err := s.feed.SetFeed(ctx, on, actor)
	return status, pg.Classify(ctx, "switch the feed", err)
}

// FeedStatus implements store.Feed.
func (s *Store) FeedStatus(ctx context.Context) (store.FeedStatus, error) {
	status, err := s.feed.FeedStatus(ctx)
	return status, pg.Classify(ctx, "look at the feed", err)
}

// OrderFeed implements store.Feed.
func (s *Store) OrderFeed(ctx context.Context) error {
	return pg.Classify(ctx, "order the feed", s.feed.OrderFeed(ctx))
}

// ReadFeed implements store.Feed.
func (s *Store) ReadFeed(ctx context.Context, params store.FeedParams) (store.FeedPage, error) {
	page, err := s.feed.ReadFeed(ctx, params)
	return page, pg.Classify(ctx, "read the feed", err)
}

// Describe implements store.Descriptors.
func (s *Store) Describe(ctx context.Context, list []store.Descriptor, actor string) (int, error) {
	changed, err := s.describes.Describe(ctx, list, actor)
	return changed, pg.Classify(ctx, "describe", err)
}

// Descriptors implements store.Descriptors.
func (s *Store) Descriptors(ctx context.Context, params store.DescriptorParams) ([]store.Descriptor, error) {
	all, err := s.describes.Descriptors(ctx, params)
	return all, pg.Classify(ctx, "list descriptors", err)
}

// DeclareAttributes implements store.Attributes.
func (s *Store) DeclareAttributes(ctx context.Context, params store.DeclareAttributesParams) error {
	return pg.Classify(ctx, "declare search attributes", s.searched.DeclareAttributes(ctx, params))
}

// DeclaredAttributes implements store.Attributes.
func (s *Store) DeclaredAttributes(ctx context.Context, namespace string) ([]store.DeclaredAttribute, error) {
	all, err := s.searched.DeclaredAttributes(ctx, namespace)
	return all, pg.Classify(ctx, "list search attributes", err)
}

// RemoveAttribute implements store.Attributes.
func (s *Store) RemoveAttribute(ctx context.Context, params store.RemoveAttributeParams) (bool, error) {
	more, err := s.searched.RemoveAttribute(ctx, params)
	return more, pg.Classify(ctx, "remove the search attribute "+params.Name, err)
}

// SetRetention implements store.Retentions.
func (s *Store) SetRetention(ctx context.Context, class store.RetentionClass) (store.RetentionClass, error) {
	is, err := s.classes.SetRetention(ctx, class)
	return is, pg.Classify(ctx, "set retention class "+class.Name, err)
}

// RetentionClasses implements store.Retentions.
func (s *Store) RetentionClasses(ctx context.Context) ([]store.RetentionClass, error) {
	all, err := s.classes.RetentionClasses(ctx)
	return all, pg.Classify(ctx, "list retention classes", err)
}

// DeleteRetention implements store.Retentions.
func (s *Store) DeleteRetention(ctx context.Context, class store.RetentionClass) error {
	return pg.Classify(ctx, "delete retention class "+class.Name, s.classes.DeleteRetention(ctx, class))
}

// Expired implements store.Retentions.
func (s *Store) Expired(ctx context.Context, params store.Retention) ([]store.EndedJob, bool, error) {
	jobs, more, err := s.operate.Expired(ctx, params)
	return jobs, more, pg.Classify(ctx, "look for old jobs", err)
}

// RemoveExpired implements store.Retentions.
func (s *Store) RemoveExpired(ctx context.Context, jobs []store.EndedJob) (int, error) {
	removed, err := s.operate.RemoveExpired(ctx, jobs)
	return removed, pg.Classify(ctx, "remove old jobs", err)
}

// Removed implements store.Retentions.
func (s *Store) Removed(ctx context.Context, params store.RemovedParams) ([]store.Removed, error) {
	all, err := s.classes.Removed(ctx, params)
	return all, pg.Classify(ctx, "read what was removed", err)
}

// Obstacles implements store.Reader.
func (s *Store) Obstacles(ctx context.Context, namespace string, id store.ID) (store.Obstacles, error) {
	obstacles, err := s.read.Obstacles(ctx, namespace, id)
	return obstacles, pg.Classify(ctx, "look up what blocks job "+id.String(), err)
}

// Queues implements store.Queues. Its cost is bounded for each queue, and by the number of jobs
// that run.
func (s *Store) Queues(ctx context.Context, namespace string) ([]store.Queue, error) {
	queues, err := s.read.Queues(ctx, namespace)
	return queues, pg.Classify(ctx, "list the queues", err)
}

// AttemptsOfQueues implements store.Queues.
func (s *Store) AttemptsOfQueues(ctx context.Context, namespace string) (map[string]store.QueueAttempts, error) {
	set, err := s.read.AttemptsOfQueues(ctx, namespace)
	return set, pg.Classify(ctx, "see what is set of queues", err)
}

// Unserved implements store.Queues. What nodes serve is read by itself: who joins or leaves between
// the two statements may or may not be seen, as one that does so a moment later.
func (s *Store) Unserved(ctx context.Context, limit int) ([]store.Unserved, error) {
	found, err := s.read.Unserved(ctx, limit)
	return found, pg.Classify(ctx, "look for unserved jobs", err)
}

// Cancel implements store.Operators. Each thousand of jobs is a transaction of its own, and a child
// is cancelled before its parent, if it is asked for in this order, since it may wake it.
func (s *Store) Cancel(ctx context.Context, params store.CancelParams) ([]store.Result, []store.Wake, error) {
	results, wakes, err := s.operate.Cancel(ctx, params)
	return results, wakes, pg.Classify(ctx, "cancel", err)
}

// PauseJobs implements store.Operators. Each thousand of jobs is a transaction of its own.
func (s *Store) PauseJobs(ctx context.Context, params store.PauseJobsParams) ([]store.Result, []store.Wake, error) {
	results, wakes, err := s.operate.PauseJobs(ctx, params)
	return results, wakes, pg.Classify(ctx, "pause jobs", err)
}

// Resume implements store.Operators. A job that another transaction has locked is tried again a few
// times; after that it is a caller's transaction, and ErrBusy.
func (s *Store) Resume(ctx context.Context, params store.ResumeParams) (store.State, []store.Wake, error) {
	to, wakes, err := s.operate.Resume(ctx, params)
	return to, wakes, pg.Classify(ctx, "resume job "+params.Job.String(), err)
}

// Retry implements store.Operators. Each thousand of jobs is a transaction of its own.
func (s *Store) Retry(ctx context.Context, params store.RetryParams) ([]store.Result, []store.Wake, error) {
	results, wakes, err := s.operate.Retry(ctx, params)
	return results, wakes, pg.Classify(ctx, "retry", err)
}

// Fork implements store.Operators.
func (s *Store) Fork(ctx context.Context, params store.ForkParams) ([]store.Wake, error) {
	wakes, err := s.operate.Fork(ctx, params)
	return wakes, pg.Classify(ctx, "fork job "+params.From.String(), err)
}

// SaveSchedule implements store.Schedules.
func (s *Store) SaveSchedule(ctx context.Context, sc store.Schedule, expect int64, actor string) (store.Schedule, error) {
	saved, err := s.schedules.SaveSchedule(ctx, sc, expect, actor)
	return saved, pg.Classify(ctx, fmt.Sprintf("save schedule %q", sc.Name), err)
}

// DeleteSchedule implements store.Schedules.
func (s *Store) DeleteSchedule(ctx context.Context, namespace, name string, expect int64, actor string) error {
	return pg.Classify(ctx, fmt.Sprintf("delete schedule %q", name), s.schedules.DeleteSchedule(ctx, namespace, name, expect, actor))
}

// Schedules implements store.Schedules.
func (s *Store) Schedules(ctx context.Context, filter store.ScheduleFilter) ([]store.Schedule, error) {
	found, err := s.schedules.Schedules(ctx, filter)
	return found, pg.Classify(ctx, "list schedules", err)
}

// DueSchedules implements store.Schedules.
func (s *Store) DueSchedules(ctx context.Context, limit int) ([]store.Schedule, time.Time, error) {
	due, next, err := s.schedules.DueSchedules(ctx, limit)
	return due, next, pg.Classify(ctx, "look for due schedules", err)
}

// ScheduleRuns implements store.Schedules.
func (s *Store) ScheduleRuns(ctx context.Context, params store.ScheduleRunParams) ([]store.ScheduleRun, error) {
	runs, err := s.schedules.ScheduleRuns(ctx, params)
	return runs, pg.Classify(ctx, fmt.Sprintf("read the runs of schedule %q", params.Name), err)
}

// SaveLimit implements store.Limits.
func (s *Store) SaveLimit(ctx context.Context, l store.Limit, expect int64, actor string) (store.Limit, error) {
	saved, err := s.limits.SaveLimit(ctx, l, expect, actor)
	return saved, pg.Classify(ctx, fmt.Sprintf("save limit %q", l.Name), err)
}

// DeleteLimit implements store.Limits.
func (s *Store) DeleteLimit(ctx context.Context, namespace, name string, force bool, actor string) error {
	return pg.Classify(ctx, fmt.Sprintf("delete limit %q", name), s.limits.DeleteLimit(ctx, namespace, name, force, actor))
}

// Limits implements store.Limits.
func (s *Store) Limits(ctx context.Context, namespace, name string) ([]store.Limit, error) {
	found, err := s.limits.Limits(ctx, namespace, name)
	return found, pg.Classify(ctx, "list limits", err)
}

// Grant implements store.Limits.
func (s *Store) Grant(ctx context.Context, params store.GrantParams) ([]store.Grant, error) {
	granted, err := s.limits.Grant(ctx, params)
	return granted, pg.Classify(ctx, "ask for slots of limits", err)
}

// RunningOf implements store.Limits.
func (s *Store) RunningOf(ctx context.Context, namespace, limit, key string, most int) ([]store.ID, error) {
	ids, err := s.limits.RunningOf(ctx, namespace, limit, key, most)
	return ids, pg.Classify(ctx, "look who runs under a limit", err)
}

// NextOf implements store.Limits.
func (s *Store) NextOf(ctx context.Context, namespace, limit, key string) (time.Time, error) {
	next, err := s.limits.NextOf(ctx, namespace, limit, key)
	return next, pg.Classify(ctx, "look at the rate of a key", err)
}

// TakePermits implements store.Rates.
func (s *Store) TakePermits(ctx context.Context, asks []store.PermitAsk) ([]store.Permits, error) {
	taken, err := s.limits.TakePermits(ctx, asks)
	return taken, pg.Classify(ctx, "ask for permits of limits", err)
}

// Drain implements store.Rates.
func (s *Store) Drain(ctx context.Context, namespace, name string, until time.Time, actor string) error {
	return pg.Classify(ctx, fmt.Sprintf("drain limit %q", name), s.limits.Drain(ctx, namespace, name, until, actor))
}

// ResumeLimit implements store.Rates.
func (s *Store) ResumeLimit(ctx context.Context, params store.ResumeLimitParams) error {
	return pg.Classify(ctx, fmt.Sprintf("resume limit %q", params.Name), s.limits.ResumeLimit(ctx, params))
}

// Reserve implements store.Rates.
func (s *Store) Reserve(ctx context.Context, r *store.Reservation) error {
	return pg.Classify(ctx, fmt.Sprintf("reserve a permit of limit %q", r.Name), s.limits.Reserve(ctx, r, limits.Writes{
		LockBody: write.LockBody, AppendHeld: s.write.AppendHeld,
	}))
}

// Edit implements store.Editors. A job that another transaction has locked is tried again a few
// times; after that it is a caller's transaction, and ErrBusy.
func (s *Store) Edit(ctx context.Context, params store.EditParams) (store.State, []store.Wake, error) {
	state, wakes, err := s.operate.Edit(ctx, params)
	return state, wakes, pg.Classify(ctx, "edit job "+params.Job.String(), err)
}

// Depend implements store.Editors. Those who change what waits for what do so one at a time.
func (s *Store) Depend(ctx context.Context, params store.DependParams) (store.State, []store.Wake, error) {
	state, wakes, err := s.operate.Depend(ctx, params)
	return state, wakes, pg.Classify(ctx, "let job "+params.Job.String()+" wait", err)
}

// Delete implements store.Editors. Each thousand of jobs is a transaction of its own.
func (s *Store) Delete(ctx context.Context, params store.DeleteParams) ([]store.Result, []store.Wake, error) {
	results, wakes, err := s.operate.Delete(ctx, params)
	return results, wakes, pg.Classify(ctx, "delete", err)
}

// CancelTx implements store.Callers. The bodies of the jobs stay locked until the transaction ends,
// as with SendTx: they are not claimed, sent to or put back meanwhile, and what people ask for them
// is ErrBusy, or a request that is applied later.
func (s *Store) CancelTx(ctx context.Context, wrapped store.Tx, params store.CancelParams) ([]store.Result, error) {
	return s.inCallers(ctx, wrapped, "cancel", func(t pg.Runner) ([]store.Result, error) { return s.operate.CancelTx(ctx, t, params) })
}

// RetryTx implements store.Callers, with the same locks. A unique key that another transaction is
// taking, or giving back, is awaited for 50 ms, and then the job is ErrBusy.
func (s *Store) RetryTx(ctx context.Context, wrapped store.Tx, params store.RetryParams) ([]store.Result, error) {
	return s.inCallers(ctx, wrapped, "retry", func(t pg.Runner) ([]store.Result, error) { return s.operate.RetryTx(ctx, t, params) })
}

// Finish implements store.Callers.
func (s *Store) Finish(ctx context.Context, params store.FinishParams) ([]store.Result, []store.Wake, error) {
	results, wakes, err := s.operate.Finish(ctx, params)
	return results, wakes, pg.Classify(ctx, "finish jobs", err)
}

// FinishTx implements store.Callers, with the locks of CancelTx.
func (s *Store) FinishTx(ctx context.Context, wrapped store.Tx, params store.FinishParams) ([]store.Result, error) {
	return s.inCallers(ctx, wrapped, "finish jobs", func(t pg.Runner) ([]store.Result, error) { return s.operate.FinishTx(ctx, t, params) })
}

// Pause implements store.Queues.
func (s *Store) Pause(ctx context.Context, params store.PauseParams) error {
	if err := params.Check(); err != nil {
		return err
	}
	return pg.Classify(ctx, "pause queue "+params.Queue, s.operate.Pause(ctx, params))
}

// Rest implements store.Queues.
func (s *Store) Rest(ctx context.Context, params store.RestParams) (store.Resting, error) {
	if err := params.Check(); err != nil {
		return store.Resting{}, err
	}
	rest, err := s.operate.Rest(ctx, params)
	return rest, pg.Classify(ctx, "let queue "+params.Queue+" rest", err)
}

// SetQueue implements store.Queues.
func (s *Store) SetQueue(ctx context.Context, params store.SetQueueParams) (store.QueueAttempts, error) {
	if err := params.Check(); err != nil {
		return store.QueueAttempts{}, err
	}
	set, err := s.limits.SetQueue(ctx, params)
	return set, pg.Classify(ctx, "set queue "+params.Queue, err)
}

// DeleteQueue implements store.Queues.
func (s *Store) DeleteQueue(ctx context.Context, params store.DeleteQueueParams) error {
	if err := params.Check(); err != nil {
		return err
	}
	return pg.Classify(ctx, "delete queue "+params.Queue, s.operate.DeleteQueue(ctx, params))
}

// Join implements store.Nodes.
func (s *Store) Join(ctx context.Context, info store.NodeInfo) (id int64, err error) {
	id, err = s.operate.Join(ctx, info)
	return id, pg.Classify(ctx, "join", err)
}

// Beat implements store.Nodes. The leader lease is one row on the database's clock: it is taken
// when it has expired, which ends the epoch, and prolonged by the node that has it. Two nodes can
// think that they lead only as long as one of them has not looked at its clock. A beat also
// measures how far the local clock is off, and sees to the partitions of the days to come. All that
// it answers is asked in one statement, so that an idle node sends nothing else.
func (s *Store) Beat(ctx context.Context, params store.BeatParams) (store.Beat, error) {
	beat, err := s.operate.Beat(ctx, params)
	return beat, pg.Classify(ctx, "beat", err)
}

// Leave implements store.Nodes.
func (s *Store) Leave(ctx context.Context, node int64) ([]store.Wake, error) {
	wakes, err := s.operate.Leave(ctx, node)
	return wakes, pg.Classify(ctx, "leave", err)
}

// Nodes implements store.Nodes.
func (s *Store) Nodes(ctx context.Context) ([]store.Node, error) {
	nodes, err := s.read.Nodes(ctx)
	return nodes, pg.Classify(ctx, "list the nodes", err)
}

// AskNode implements store.Nodes.
func (s *Store) AskNode(ctx context.Context, params store.AskNodeParams) error {
	return pg.Classify(ctx, fmt.Sprintf("ask node %d", params.Node), s.operate.AskNode(ctx, params))
}

// Promote implements store.Maintenance. Several nodes may promote at once: each passes over what
// the others have taken.
func (s *Store) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	promoted, err := s.write.Promote(ctx, limit)
	return promoted, pg.Classify(ctx, "promote", err)
}

// SweepCancels implements store.Maintenance. It sees to requests to pause as well, which are not
// counted.
func (s *Store) SweepCancels(ctx context.Context) (store.Swept, error) {
	swept, err := s.operate.SweepCancels(ctx)
	if err == nil {
		err = s.operate.SweepPauses(ctx)
	}
	return swept, pg.Classify(ctx, "sweep requests", err)
}

// CloseChildren implements store.Maintenance. What is to be done is asked, done, and then
// forgotten, each in a transaction of its own: who is interrupted, or does it at the same moment as
// another, does it twice, which changes nothing.
func (s *Store) CloseChildren(ctx context.Context, limit int) (store.Closed, error) {
	closed, err := s.operate.CloseChildren(ctx, limit)
	return closed, pg.Classify(ctx, "close children", err)
}

// Rescue implements store.Maintenance. Nodes are marked dead first. One that is claiming or writing
// a journal at this moment has locked its row or its fence: it is passed over, and found dead by a
// later rescue. One that is marked claims nothing and writes no journal any more, and once its
// records are taken its outcomes find no lease. Limit is that of claim records; 0 means 100.
func (s *Store) Rescue(ctx context.Context, params store.RescueParams) (store.Rescued, error) {
	operation := "rescue"
	if len(params.Lost) > 0 {
		operation = "give up leases"
	}
	rescued, err := s.operate.Rescue(ctx, params)
	return rescued, pg.Classify(ctx, operation, err)
}

// Retain implements store.Maintenance. The partitions of a day are dropped once the day and the
// shortest time are over and few of its jobs are left to keep; those move to the default partition.
// Jobs there, and jobs that are kept for a shorter time than completed ones, are deleted one by
// one.
func (s *Store) Retain(ctx context.Context, params store.Retention) (store.Retained, error) {
	retained, err := s.operate.Retain(ctx, params)
	return retained, pg.Classify(ctx, "remove old jobs", err)
}

// Survey implements store.Copies.
func (s *Store) Survey(ctx context.Context) (store.Survey, error) {
	found, err := s.move.Survey(ctx)
	return found, pg.Classify(ctx, "survey", err)
}

// Export implements store.Copies.
func (s *Store) Export(ctx context.Context, params store.ExportParams) (store.Exported, error) {
	page, err := s.move.Export(ctx, params)
	return page, pg.Classify(ctx, "export jobs", err)
}

// Import implements store.Copies. Lanes are made before the transaction of the page.
func (s *Store) Import(ctx context.Context, params store.ImportParams) error {
	return pg.Classify(ctx, "import jobs", s.move.Import(ctx, params))
}

// Now implements store.Store: the clock of the database, told by the local one and the offset
// between them, which every beat measures again, and, in a process without a node, an enqueue for
// later; or the injected clock. It is off by at most half the shortest round trip, and after one of
// the clocks was set until the next measurement.
func (s *Store) Now() time.Time { return s.db.Now() }

// Notify implements store.Store. Wake-ups of the same queue within 5 ms become one. They are sent
// without session features too, since NOTIFY needs none, and others may listen.
func (s *Store) Notify(wakes ...store.Wake) { s.local.Notify(wakes...) }

// Watch implements store.Store. It listens on a connection of its own beside the pool. While
// notifications demonstrably arrive Traits().Wakeups is true. Without session features it reports
// nothing.
func (s *Store) Watch(ctx context.Context, wake func(store.Wake)) error {
	return s.local.Watch(ctx, wake)
}

// inCallers does something to jobs in a caller's transaction.
func (s *Store) inCallers(
	ctx context.Context, wrapped store.Tx, doing string, do func(t pg.Runner) ([]store.Result, error),
) (results []store.Result, err error) {
	t, err := s.callers(wrapped)
	if err == nil {
		results, err = do(t)
	}
	if err != nil {
		return nil, pg.Classify(ctx, doing+" in the caller's transaction", err)
	}
	return results, nil
}

// callers returns what runs statements in a caller's transaction. It must be on the same database
// as the store; its search path and settings do not matter.
func (s *Store) callers(wrapped store.Tx) (pg.Runner, error) {
	if s.db.IsClosed() {
		return nil, pg.ErrClosed
	}
	theirs, ok := wrapped.(callersTx)
	switch {
	case ok && theirs.pgx != nil:
		return pg.PgxRunner{DB: s.db, Tx: theirs.pgx}, nil
	case ok && theirs.sql != nil:
		return pg.SQLRunner{DB: s.db, Tx: theirs.sql}, nil
	}
	return nil, refusal.NotWrapped("postgres.Tx or postgres.SQLTx")
}
