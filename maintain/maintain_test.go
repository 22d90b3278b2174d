package maintain_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/maintain"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

var letters = holdfast.NewKind[string, string]("letter")

// onBoth runs a test on both databases. open opens a client, which is closed at the end.
func onBoth(t *testing.T, test func(t *testing.T, open func(...holdfast.Option) *holdfast.Client)) {
	t.Helper()
	opener := func(t *testing.T, source store.Source) func(...holdfast.Option) *holdfast.Client {
		t.Helper()
		return func(opts ...holdfast.Option) *holdfast.Client {
			c, err := holdfast.Open(t.Context(), source, append(opts, holdfast.WithLogger(slog.New(slog.DiscardHandler)))...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close(context.Background()) })
			return c
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, opener(t, sqlite.File(filepath.Join(t.TempDir(), "h.db"))))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pgtest.InSoak(t)
		test(t, opener(t, postgres.URL(ready.Database(t))))
	})
}

// passed waits until a time has come by the clock of the database, as each client knows it: but for
// half a round trip, which may be long on a busy machine.
func passed(t *testing.T, at time.Time, clients ...*holdfast.Client) {
	t.Helper()
	for _, c := range clients {
		e, _ := access.Engine(c)
		for !e.Store.Now().After(at) {
			time.Sleep(time.Millisecond) //nolint:forbidigo // the database's clock goes on by itself
		}
	}
}

// dueAt is when a job is due.
func dueAt(t *testing.T, c *holdfast.Client, id holdfast.ID) time.Time {
	t.Helper()
	rec, err := c.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return rec.RunAt
}

// soon makes a schedule that is to fire once, and returns when. If the time has come while it is
// made, on a busy machine, there is more of it the next time.
func soon(t *testing.T, c *holdfast.Client, name string, item holdfast.BatchItem) time.Time {
	t.Helper()
	for wait := 20 * time.Millisecond; ; wait *= 2 {
		at := time.Now().Add(wait)
		_, err := schedule.Create(t.Context(), c, schedule.New(name, schedule.At(at), item))
		if err == nil {
			return at
		}
		if !errors.Is(err, holdfast.ErrInvalid) || wait > 10*time.Second {
			t.Fatal(err)
		}
	}
}

func TestOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open func(...holdfast.Option) *holdfast.Client) {
		ctx := t.Context()
		c := open(holdfast.WithRetention(store.Retention{Cancelled: time.Microsecond}))
		due, err := letters.Enqueue(ctx, c, "due", holdfast.Delay(20*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		later, err := letters.Enqueue(ctx, c, "later", holdfast.Delay(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		gone, err := letters.Enqueue(ctx, c, "gone")
		if err == nil {
			_, err = c.Cancel(ctx, "not needed", gone.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		passed(t, soon(t, c, "now", letters.Item("fired")), c)
		passed(t, dueAt(t, c, due.ID), c)

		r, err := maintain.Once(ctx, c, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		removed := r.Removed // PostgreSQL drops days, and removes single jobs only after a day
		r.Removed = 0
		if want := (maintain.Report{Led: true, Promoted: 1, Fired: 1}); r != want || removed > 1 {
			t.Errorf("it has done %+v and removed %d, want %+v", r, removed, want)
		}
		for id, want := range map[holdfast.ID]store.State{due.ID: store.Available, later.ID: store.Scheduled} {
			rec, err := c.Get(ctx, id)
			if err != nil || rec.State != want {
				t.Errorf("a job is %v, want %v; error %v", rec.State, want, err)
			}
		}
		if r, err := maintain.Once(ctx, c, time.Minute); err != nil || r != (maintain.Report{Led: true}) {
			t.Errorf("again: %+v, error %v", r, err)
		}
	})
}

func TestOnceRefuses(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open func(...holdfast.Option) *holdfast.Client) {
		ctx := t.Context()
		c := open(maintain.Only())
		if _, err := maintain.Once(ctx, c, 0); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("without a budget: %v", err)
		}
		if _, err := maintain.Once(ctx, c, time.Second, maintain.Duty(17)); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("an unknown duty: %v", err)
		}
		if err := c.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := maintain.Once(ctx, c, time.Second); !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("beside a node of its own: %v", err)
		}
		other := open()
		r, err := maintain.Once(ctx, other, time.Minute, maintain.Promote, maintain.Settle)
		if err != nil || r.More {
			t.Errorf("beside a node of another client: %+v, error %v", r, err)
		}
		if err := c.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		if err := other.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := maintain.Once(ctx, other, time.Second); !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// TestTwoAtOnce: what two do at the same moment is done once.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open func(...holdfast.Option) *holdfast.Client) {
		ctx := t.Context()
		const jobs, at = 300, 3
		clients := make([]*holdfast.Client, at)
		for i := range clients {
			clients[i] = open()
		}
		for range jobs {
			due, err := letters.Enqueue(ctx, clients[0], "due", holdfast.Delay(time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			passed(t, dueAt(t, clients[0], due.ID), clients...)
		}
		for _, name := range []string{"a", "b", "c", "d"} {
			passed(t, soon(t, clients[0], name, letters.Item(name)), clients...)
		}
		reports := make(chan maintain.Report, at)
		for _, c := range clients {
			go func() {
				r, err := maintain.Once(ctx, c, time.Minute)
				if err != nil {
					t.Error(err)
				}
				reports <- r
			}()
		}
		var promoted, fired int64
		for range at {
			r := <-reports
			promoted, fired = promoted+r.Promoted, fired+r.Fired
		}
		count, err := clients[0].Count(ctx, store.Filter{States: []store.State{store.Available}})
		if err != nil || count.N != jobs+4 || promoted != jobs || fired != 4 {
			t.Errorf("%d jobs are available, %d were promoted and %d fired; error %v", count.N, promoted, fired, err)
		}
	})
}
