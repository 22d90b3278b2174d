package keys

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Wanted is a key that a job wants to have.
type Wanted struct {
	store.JobKey

	Job  store.ID
	keep int64
	args []byte // a hash of those of the job
}

// WantedBy returns the key that a job wants.
func WantedBy(job *store.Job) Wanted {
	return Wanted{JobKey: job.Key(), Job: job.ID, keep: job.Options.KeepMicros(), args: job.HashArgs()}
}

// Compare orders keys as those who take them do.
func Compare(a, b store.JobKey) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key))
}

// columns are the parameters that say which keys are wanted.
func columns(wanted []Wanted) (ids []pgtype.UUID, namespaces, kinds, texts []string, args [][]byte) {
	for _, w := range wanted {
		ids, args = append(ids, pg.UUIDOf(w.Job)), append(args, w.args)
		namespaces, kinds, texts = append(namespaces, w.Namespace), append(kinds, w.Kind), append(texts, w.Key)
	}
	return ids, namespaces, kinds, texts, args
}

// Take is the statement that gives keys which are free to new jobs. Those that have got one are
// stored by the statement enqueue_careful.
func Take(wanted []Wanted, now int64) pg.Statement { return take(wanted, now, false) }

func take(wanted []Wanted, now int64, again bool) pg.Statement {
	ids, namespaces, kinds, texts, args := columns(wanted)
	keeps := make([]int64, len(wanted))
	for i, w := range wanted {
		keeps[i] = w.keep
	}
	return pg.Statement{Name: "keys_take", Args: []any{ids, namespaces, kinds, texts, keeps, args, now, again}}
}

// Obstacle is what stands in the way of an enqueue that wants a key.
type Obstacle struct {
	Place     int64   // of the enqueue, from 1 on
	RunAt     *int64  // of the job with the same id
	Namespace *string // of that job
	Holder    *string // of the key
	Due       *int64  // run time of the holder; nil: it was removed
	Differs   bool    // the holder was enqueued with other args
	Over      bool    // it has finished, and keeps the key
}

// Obstacles is the statement that finds out what stands in the way.
func Obstacles(wanted []Wanted, now int64, each func(Obstacle) error) pg.Statement {
	ids, namespaces, kinds, texts, args := columns(wanted)
	return pg.Statement{Name: "key_obstacles", Args: []any{ids, namespaces, kinds, texts, args, now}, Each: func(r pg.Row) error {
		var o Obstacle
		if err := r.Scan(&o.Place, &o.RunAt, &o.Namespace, &o.Holder, &o.Due, &o.Differs, &o.Over); err != nil {
			return err
		}
		return each(o)
	}}
}

// Answer is the result of an enqueue whose key another job holds.
func (o Obstacle) Answer() (store.EnqueueResult, error) {
	holder, err := uuid.Parse(pg.TextOf(o.Holder))
	return store.EnqueueResult{ID: holder, Existing: true, RunAt: pg.OptTime(o.Due), Differs: o.Differs}, err
}

// TakeAgain gives jobs their keys that failed or were cancelled and are to run again, as far as
// they can be had. Their bodies are locked. It returns the keys that they want, and the jobs whose
// keys another transaction is taking: these must not run again now.
func TakeAgain(ctx context.Context, t pg.Runner, jobs []pgtype.UUID, now int64) (wanted []Wanted, busy []store.ID, err error) {
	err = t.Run(ctx, "keys_of_finished", func(r pg.Row) error {
		var id pgtype.UUID
		var job store.Job
		var keep *int64
		var codec int32
		var isBusy bool
		err := r.Scan(&id, &job.Namespace, &job.Kind, &job.Options.Key, &keep, &job.Args, &codec, &isBusy)
		if job.ID, job.Codec = id.Bytes, int(codec); isBusy {
			busy = append(busy, job.ID)
			return err
		}
		if keep != nil {
			job.Options.KeepKey = time.Duration(*keep)
		}
		wanted = append(wanted, WantedBy(&job))
		return err
	}, jobs)
	if err == nil && len(wanted) > 0 {
		err = take(wanted, now, true).On(ctx, t)
	}
	return wanted, busy, err
}

// NoteHolders notes who holds the keys that other jobs want.
func NoteHolders(ctx context.Context, t pg.Runner, wanted []Wanted, now int64, taken map[store.ID]*store.UniqueError) error {
	if len(wanted) == 0 {
		return nil
	}
	return Obstacles(wanted, now, func(o Obstacle) error {
		w := wanted[o.Place-1]
		if o.Holder == nil {
			return nil
		}
		result, err := o.Answer()
		if err == nil && result.ID != w.Job {
			taken[w.Job] = &store.UniqueError{Holder: result.ID, Key: w.Key}
		}
		return err
	}).On(ctx, t)
}

// Find returns the job that has a key, or had it last and is there.
func Find(ctx context.Context, d *pg.DB, key store.JobKey) (id store.ID, err error) {
	if !pg.IsText(key.Namespace) || !pg.IsText(key.Kind) || !pg.IsText(key.Key) {
		return id, refusal.NoKey(key) // no job can have it
	}
	found := false
	err = d.Read(ctx, pg.Statement{
		Name: "key_find", Args: []any{key.Namespace, key.Kind, key.Key, d.Micros()},
		Each: func(r pg.Row) error {
			var u pgtype.UUID
			err := r.Scan(&u)
			id, found = u.Bytes, true
			return err
		},
	})
	if err == nil && !found {
		err = refusal.NoKey(key)
	}
	return id, err
}
