package app

import (
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/store"
)

// Rehearse calls work with a client whose database accepts everything and keeps nothing. An error
// is then a mistake on the command line, found before a database is opened, input is read, or half
// of the work is done. It is too fast to need Ctrl-C.
func (a *App) Rehearse(ctx context.Context, work func(context.Context, *holdfast.Client) error) error {
	return a.rehearse(ctx, work, holdfast.WithNamespace(a.Namespace))
}

// TryOptions reports what the library does not accept of options.
func (a *App) TryOptions(ctx context.Context, opts ...holdfast.Option) error {
	return a.rehearse(ctx, func(context.Context, *holdfast.Client) error { return nil }, opts...)
}

func (a *App) rehearse(ctx context.Context, work func(context.Context, *holdfast.Client) error, opts ...holdfast.Option) error {
	ctx = context.WithoutCancel(ctx)
	client, err := holdfast.Open(ctx, nowhere{now: a.Env.Now}, append(opts, holdfast.WithLogger(Silent()))...)
	if err == nil {
		err = errors.Join(work(ctx, client), CloseClient(ctx, client))
	}
	return arg.InvalidIsUsage(err)
}

// nowhere is such a database and its source. It has the methods that a rehearsal calls.
type nowhere struct {
	store.Source
	store.Store

	now func() time.Time
}

func (n nowhere) Open(context.Context) (store.Store, error) { return n, nil }

func (nowhere) String() string { return "nowhere" }

func (nowhere) Traits() store.Traits { return store.Traits{Name: "nowhere", MaxBatch: 1} }

func (n nowhere) Now() time.Time { return n.now() }

func (nowhere) Apply(context.Context, *store.Batch) error { return nil }

// GetUpdate returns an error that is no mistake of a command line.
func (nowhere) GetUpdate(context.Context, string, store.ID, string) (store.Update, error) {
	return store.Update{}, store.ErrConflict
}

func (nowhere) Pause(context.Context, store.PauseParams) error { return nil }

// Rest checks a rest.
func (nowhere) Rest(_ context.Context, p store.RestParams) (store.Resting, error) {
	return store.Resting{}, p.Check()
}

// SetQueue checks a change.
func (nowhere) SetQueue(_ context.Context, p store.SetQueueParams) (store.QueueAttempts, error) {
	return store.QueueAttempts{}, p.Check()
}

// SetRetention checks a class.
func (nowhere) SetRetention(_ context.Context, c store.RetentionClass) (store.RetentionClass, error) {
	return c, c.Check()
}

// TakesAnyAttribute tells that any search attribute is declared (searched.Anything).
func (nowhere) TakesAnyAttribute() {}

// DeclareAttributes checks declarations.
func (nowhere) DeclareAttributes(_ context.Context, p store.DeclareAttributesParams) error {
	return p.Check()
}

func (nowhere) DeleteQueue(context.Context, store.DeleteQueueParams) error { return nil }

// Schedules returns a schedule of any name, which fires so rarely that what fits to another
// schedule fits to it.
func (nowhere) Schedules(_ context.Context, filter store.ScheduleFilter) ([]store.Schedule, error) {
	return []store.Schedule{{
		Namespace: filter.Namespace, Name: filter.Name, Left: -1, Version: 1,
		ScheduleSettings: store.ScheduleSettings{
			Times: "cron 0 0 1 1 * zone=UTC",
			Job:   store.ScheduledJob{Kind: "kind", Queue: "default", Priority: 2, Args: []byte("{}")},
		},
	}}, nil
}

func (nowhere) SaveSchedule(_ context.Context, s store.Schedule, _ int64, _ string) (store.Schedule, error) {
	return s, nil
}

func (nowhere) Notify(...store.Wake) {}

func (nowhere) Close() error { return nil }

// Limits are none.
func (nowhere) Limits(context.Context, string, string) ([]store.Limit, error) { return nil, nil }

// SaveLimit checks a limit.
func (nowhere) SaveLimit(_ context.Context, l store.Limit, _ int64, _ string) (store.Limit, error) {
	return l, l.Check()
}

// CreateBatch checks a batch.
func (nowhere) CreateBatch(_ context.Context, _ store.Tx, b store.JobBatch) error { return b.Check() }
