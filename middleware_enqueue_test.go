package holdfast_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// enqueues collects the calls of an enqueue middleware, by the number of their jobs.
type enqueues struct {
	mu    sync.Mutex
	calls []string
}

func (e *enqueues) note(jobs []*store.Job, more string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, fmt.Sprint(len(jobs), more))
}

// take returns the calls since the last time.
func (e *enqueues) take() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() { e.calls = nil }()
	return strings.Join(e.calls, " ")
}

// onDatabasesWithTx runs a test on each kind of database, with a function that begins a transaction
// of the test's own there.
func onDatabasesWithTx(t *testing.T, test func(t *testing.T, source store.Source, begin func(t *testing.T) (*sql.Tx, store.Tx))) {
	begin := func(db *sql.DB, wrap func(*sql.Tx) store.Tx) func(t *testing.T) (*sql.Tx, store.Tx) {
		return func(t *testing.T) (*sql.Tx, store.Tx) {
			t.Helper()
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return tx, wrap(tx)
		}
	}
	openDB := func(t *testing.T, driver, address string) *sql.DB {
		t.Helper()
		db, err := sql.Open(driver, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		file := sqlitetest.File(t)
		db := openDB(t, "sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)")
		test(t, sqlite.File(file), begin(db, func(tx *sql.Tx) store.Tx { return sqlite.Tx(tx) }))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := ready.Database(t)
		db := openDB(t, "pgx", url)
		test(t, postgres.URL(url), begin(db, postgres.SQLTx))
	})
}

// TestAroundAllEnqueues: each way to enqueue passes the middleware once, with all its jobs; a child
// does so once, though its parent is replayed. What is changed is stored.
func TestAroundAllEnqueues(t *testing.T) {
	t.Parallel()
	onDatabasesWithTx(t, func(t *testing.T, source store.Source, begin func(t *testing.T) (*sql.Tx, store.Tx)) {
		var e enqueues
		mark := func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
			more := ""
			if run, ok := holdfast.RunFrom(ctx); ok {
				more = " of " + run.Kind()
			}
			e.note(jobs, more)
			for _, job := range jobs {
				job.Metadata = json.RawMessage(`{"marked":true}`)
				job.Tags = append(job.Tags, "marked")
			}
			return next(ctx)
		}
		ctx := t.Context()
		hf := openOn(t, source, holdfast.WithEnqueueMiddleware(mark))
		kind := holdfast.NewKind[int, int]("child")
		if err := kind.Handle(hf, func(_ *holdfast.Run, n int) (int, error) { return n, nil }); err != nil {
			t.Fatal(err)
		}
		parent := holdfast.NewKind[int, int]("parent")
		err := parent.Handle(hf, func(run *holdfast.Run, n int) (int, error) {
			child, err := kind.Start(run, n)
			if err != nil {
				return 0, err
			}
			if err := run.Sleep(60 * time.Millisecond); err != nil { // and a replay
				return 0, err
			}
			one, err := child.Wait(run)
			if err != nil {
				return 0, err
			}
			many, err := kind.CallAll(run, []int{n, n}, holdfast.FanOut{})
			return one + len(many), err
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		// done waits for the jobs, looks for the mark, and compares the calls.
		done := func(what, want string, ids ...holdfast.ID) {
			t.Helper()
			if _, err := hf.WaitAll(ctx, ids...); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			for _, id := range ids {
				record, err := hf.Get(ctx, id)
				if err != nil || !strings.Contains(string(record.Metadata), "marked") || len(record.Tags) != 1 {
					t.Errorf("%s: the job has %s and %v, %v", what, record.Metadata, record.Tags, err)
				}
			}
			if got := e.take(); got != want {
				t.Errorf("%s: the middleware was called with %s", what, got)
			}
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		job, err := kind.Enqueue(ctx, hf, 1)
		must(err)
		done("Enqueue", "1", job.ID)

		jobs, err := kind.EnqueueMany(ctx, hf, make([]int, 1500))
		must(err)
		done("EnqueueMany", "1500", jobs[0].ID, jobs[1499].ID)

		items := []holdfast.BatchItem{kind.Item(1), kind.Item(2, holdfast.Priority(9)), kind.Item(3)}
		results, err := hf.EnqueueBatch(ctx, items)
		var refused *holdfast.BatchError
		if !errors.As(err, &refused) || len(refused.Refused) != 1 || refused.Refused[1] == nil || refused.Stopped != nil {
			t.Errorf("EnqueueBatch: %v", err)
		}
		done("EnqueueBatch", "2", results[0].ID, results[2].ID)

		tx, wrapped := begin(t)
		job, err = kind.EnqueueTx(ctx, hf, wrapped, 1)
		must(err)
		results, err = hf.EnqueueBatchTx(ctx, wrapped, []holdfast.BatchItem{kind.Item(1), kind.Item(2)})
		must(err)
		must(tx.Commit())
		done("in a transaction", "1 2", job.ID, results[0].ID, results[1].ID)

		family, err := parent.Enqueue(ctx, hf, 5)
		must(err)
		if n, err := family.Wait(ctx); err != nil || n != 7 {
			t.Errorf("the parent: %d, %v", n, err)
		}
		done("children", "1 1 of parent 1 of parent 1 of parent", family.ID)
		page, err := hf.List(ctx, store.Filter{Parent: family.ID}, "", 10)
		must(err)
		if len(page.Jobs) != 3 {
			t.Errorf("the parent has %d children", len(page.Jobs))
		}
		for _, child := range page.Jobs {
			done("a child", "", child.ID)
		}
	})
}

// TestAroundEnqueuesOfAKind: inside of that of the client, with the jobs of the kind alone, and it
// may refuse all.
func TestAroundEnqueuesOfAKind(t *testing.T) {
	t.Parallel()
	errSunday := errors.New("closed on Sundays")
	onDatabasesWithTx(t, func(t *testing.T, source store.Source, begin func(t *testing.T) (*sql.Tx, store.Tx)) {
		var trace diary
		named := func(name string) func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
			return func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
				for _, job := range jobs {
					job.Tags = append(job.Tags, name)
					if string(job.Args) == "13" {
						return errSunday
					}
				}
				trace.note(fmt.Sprint(name, " ", len(jobs)))
				return next(ctx)
			}
		}
		ctx := t.Context()
		hf := openOn(t, source, holdfast.WithEnqueueMiddleware(named("all")))
		bare := openOn(t, source) // without one of its own
		a := holdfast.NewKind[int, int]("a", holdfast.Options(holdfast.WithEnqueueMiddleware(named("a1"), named("a2"))))
		b := holdfast.NewKind[int, int]("b", holdfast.WithEnqueueMiddleware(named("b")), holdfast.Unique{ByArgs: true})
		c, plain := holdfast.NewKind[int, int]("c"), holdfast.NewKind[int, int]("plain")
		err := c.Handle(bare, func(run *holdfast.Run, n int) (int, error) {
			children, err := a.CallAll(run, []int{n, n}, holdfast.FanOut{FirstSuccess: true})
			if err != nil {
				return 0, err
			}
			return len(children), nil
		})
		if err == nil {
			err = a.Handle(bare, func(*holdfast.Run, int) (int, error) { return 1, nil })
		}
		if err != nil {
			t.Fatal(err)
		}
		run(t, bare)
		seen := 0
		told := func(what, want string, err error) {
			t.Helper()
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			lines := strings.Split(trace.String(), ", ")
			if got := strings.Join(lines[seen:], ", "); got != want {
				t.Errorf("%s passes %s, want %s", what, got, want)
			}
			seen = len(lines)
		}
		job, err := a.Enqueue(ctx, hf, 1)
		told("one", "all 1, a1 1, a2 1", err)
		if record, err := job.Get(ctx); err != nil || strings.Join(record.Tags, " ") != "all a1 a2" {
			t.Errorf("the tags are %v, %v", record.Tags, err)
		}
		_, err = a.EnqueueMany(ctx, bare, []int{1, 2, 3})
		told("many", "a1 3, a2 3", err)
		mixed := []holdfast.BatchItem{a.Item(1), plain.Item(2), b.Item(3), a.Item(4)}
		results, err := bare.EnqueueBatch(ctx, mixed)
		told("a batch", "b 1, a1 2, a2 2", err)
		if record, err := bare.Get(ctx, results[1].ID); err != nil || record.Tags != nil {
			t.Errorf("a job without middleware has %v, %v", record.Tags, err)
		}
		again, err := b.Enqueue(ctx, bare, 3)
		told("a unique one", "b 1", err)
		if !again.Existing || again.ID != results[2].ID {
			t.Errorf("%+v", again)
		}
		tx, wrapped := begin(t)
		_, err = b.EnqueueTx(ctx, bare, wrapped, 5)
		told("in a transaction", "b 1", errors.Join(err, tx.Commit()))
		parent, err := c.Enqueue(ctx, bare, 7)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := parent.Wait(ctx); n != 2 || err != nil {
			t.Errorf("%d children, %v", n, err)
		}
		told("children", "a1 1, a2 1, a1 1, a2 1", nil)

		refused, err := bare.EnqueueBatch(ctx, []holdfast.BatchItem{plain.Item(1), a.Item(13), b.Item(14)})
		for i, result := range refused {
			if !errors.Is(err, errSunday) || i == 1 && !errors.Is(result.Err, errSunday) {
				t.Errorf("job %d of a batch that is refused: %v, %v", i, result.Err, err)
			}
		}
		page, err := bare.List(ctx, store.Filter{Kinds: []string{"b"}}, "", 10)
		if err != nil || len(page.Jobs) != 2 {
			t.Errorf("%d jobs of kind b, %v", len(page.Jobs), err)
		}
		option := holdfast.WithEnqueueMiddleware(named("late"))
		_, late := a.Enqueue(ctx, bare, 1, option)
		nobody := holdfast.NewKind[int, int]("n", holdfast.WithEnqueueMiddleware(nil))
		_, missing := nobody.Enqueue(ctx, bare, 1)
		edit := bare.Edit(ctx, "", job.ID, holdfast.Priority(1), option)
		for what, err := range map[string]error{"an enqueue": late, "nil": missing, "an edit": edit} {
			if !errors.Is(err, holdfast.ErrInvalid) {
				t.Errorf("an option of %s: %v", what, err)
			}
		}
	})
}

// TestEnqueuesAreValidatedAfterTheMiddleware: what it makes wrong is refused, and unique keys are
// those of what it has made.
func TestEnqueuesAreValidatedAfterTheMiddleware(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		var change func(job *store.Job)
		hf := openOn(t, source, holdfast.WithMaxPayload(100), holdfast.WithEnqueueMiddleware(
			func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
				for _, job := range jobs {
					change(job)
				}
				return next(ctx)
			}))
		kind := holdfast.NewKind[string, string]("changed")
		for what, c := range map[string]struct {
			change func(job *store.Job)
			says   string
		}{
			"queue":        {func(j *store.Job) { j.Queue = "" }, "queue: must not be empty"},
			"priority":     {func(j *store.Job) { j.Priority = 5 }, "between 1 (most urgent) and 4"},
			"tag":          {func(j *store.Job) { j.Tags = []string{"a\n"} }, "control character"},
			"metadata":     {func(j *store.Job) { j.Metadata = []byte(`[1]`) }, "not a JSON object"},
			"args":         {func(j *store.Job) { j.Args = []byte(`{`) }, "not valid JSON"},
			"large args":   {func(j *store.Job) { j.Args = []byte(`"` + strings.Repeat("x", 200) + `"`) }, "exceed the limit of 100"},
			"attempts":     {func(j *store.Job) { j.MaxAttempts = 1001 }, "between 1 and 1000"},
			"ordering key": {func(j *store.Job) { j.OrderingKey = "\x00" }, "control character"},
			"timeout":      {func(j *store.Job) { j.Options.Timeout = -1 }, "less than nothing"},
			"deadline":     {func(j *store.Job) { j.Options.Deadline = time.Now().Add(-time.Hour) }, "not after the run time"},
			"id":           {func(j *store.Job) { j.ID = holdfast.NewID() }, "must not"},
			"kind":         {func(j *store.Job) { j.Kind = "other" }, "must not"},
			"namespace":    {func(j *store.Job) { j.Namespace = "other" }, "must not"},
			"parent":       {func(j *store.Job) { j.Parent = holdfast.NewID() }, "must not"},
			"unique key":   {func(j *store.Job) { j.UniqueKey = []byte("key") }, "must not"},
		} {
			change = c.change
			_, one := kind.Enqueue(ctx, hf, "a")
			_, many := kind.EnqueueMany(ctx, hf, []string{"a", "b"})
			results, batch := hf.EnqueueBatch(ctx, []holdfast.BatchItem{kind.Item("a")})
			for how, err := range map[string]error{"one": one, "many": many, "batch": batch, "item": results[0].Err} {
				if !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s, %s: %v", what, how, err)
				}
			}
		}
		if page, err := hf.List(ctx, store.Filter{}, "", 10); err != nil || len(page.Jobs) != 0 {
			t.Errorf("%d jobs were stored, %v", len(page.Jobs), err)
		}

		at := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		change = func(j *store.Job) { j.Args, j.RunAt = []byte(`"same"`), at }
		first, err := kind.Enqueue(ctx, hf, "a", holdfast.Unique{ByArgs: true}, holdfast.Delay(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		second, err := kind.Enqueue(ctx, hf, "b", holdfast.Unique{ByArgs: true})
		if err != nil || !second.Existing || second.ID != first.ID {
			t.Errorf("%+v, %v", second, err)
		}
		if record, err := first.Get(ctx); err != nil || !record.RunAt.Equal(at) || string(record.Args) != `"same"` {
			t.Errorf("%+v, %v", record.Job, err)
		}
	})
}

// TestEnqueueMiddlewareRefuses: an error without next, none without next, and next twice.
func TestEnqueueMiddlewareRefuses(t *testing.T) {
	t.Parallel()
	errClosed := errors.New("closed on Sundays")
	for name, c := range map[string]struct {
		mw   func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error
		want error
		left int // jobs that are stored all the same, of five
	}{
		"an error": {func(context.Context, []*store.Job, func(context.Context) error) error { return errClosed }, errClosed, 0},
		"nothing":  {func(context.Context, []*store.Job, func(context.Context) error) error { return nil }, holdfast.ErrInvalid, 0},
		"next twice": {func(ctx context.Context, _ []*store.Job, next func(context.Context) error) error {
			if err := next(ctx); err != nil {
				return err
			}
			return next(ctx)
		}, holdfast.ErrInvalid, 5},
		"an error after next": {func(ctx context.Context, _ []*store.Job, next func(context.Context) error) error {
			return errors.Join(next(ctx), errClosed)
		}, errClosed, 5},
		"a context that has ended": {func(ctx context.Context, _ []*store.Job, next func(context.Context) error) error {
			over, stop := context.WithCancel(ctx)
			stop()
			_ = next(over) // which is told all the same
			return nil
		}, context.Canceled, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			hf := open(t, holdfast.WithEnqueueMiddleware(c.mw))
			kind := holdfast.NewKind[int, int]("refused")
			_, one := kind.Enqueue(ctx, hf, 1)
			_, many := kind.EnqueueMany(ctx, hf, []int{1, 2})
			results, batch := hf.EnqueueBatch(ctx, []holdfast.BatchItem{kind.Item(1), kind.Item(2)})
			for how, err := range map[string]error{"one": one, "many": many, "batch": batch} {
				if !errors.Is(err, c.want) {
					t.Errorf("%s: %v", how, err)
				}
			}
			if stored := c.left > 0; (results[1].Err == nil) != stored {
				t.Errorf("the result of an item: %+v", results[1])
			}
			if page, err := hf.List(ctx, store.Filter{}, "", 10); err != nil || len(page.Jobs) != c.left {
				t.Errorf("%d jobs were stored, %v", len(page.Jobs), err)
			}
		})
	}
	if _, err := holdfast.Open(t.Context(), memory{}, holdfast.WithEnqueueMiddleware(nil)); !errors.Is(err, holdfast.ErrInvalid) {
		t.Error(err)
	}
}

// TestEnqueueMiddlewareInItsOrder: the first is outermost.
func TestEnqueueMiddlewareInItsOrder(t *testing.T) {
	t.Parallel()
	var trace strings.Builder
	named := func(name string) func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
		return func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
			trace.WriteString(">" + name + " ")
			defer trace.WriteString(name + " ")
			jobs[0].Tags = append(jobs[0].Tags, name)
			return next(ctx)
		}
	}
	hf := open(t, holdfast.WithEnqueueMiddleware(named("a"), named("b")), holdfast.WithEnqueueMiddleware(named("c")))
	job, err := holdfast.NewKind[int, int]("k").Enqueue(t.Context(), hf, 1)
	if err != nil {
		t.Fatal(err)
	}
	record, err := job.Get(t.Context())
	if err != nil || strings.Join(record.Tags, "") != "abc" || trace.String() != ">a >b >c c b a " {
		t.Errorf("%v, %q, %v", record.Tags, trace.String(), err)
	}
}
