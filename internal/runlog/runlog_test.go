package runlog

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kept is a database of lines.
type kept struct {
	mu     sync.Mutex
	err    error
	calls  int
	chunks []store.LogChunk
	lost   int
}

func (k *kept) keep(_ context.Context, chunks []store.LogChunk) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.calls++; k.err != nil {
		return k.err
	}
	k.chunks = append(k.chunks, chunks...)
	return nil
}

func (k *kept) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = err
}

// records are the lines that are kept.
func (k *kept) records(t *testing.T) (all []Record) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.chunks {
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(c.Lines)) {
			var r Record
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
	}
	return all
}

func keeper(k *kept) *Keeper {
	log := slog.New(slog.DiscardHandler)
	return New(Parts{
		Keep: k.keep, Guard: supervise.New(logs.NewLimiter(log)), Outage: logs.NewOutage(log), Lost: func(lines int, _ error) { k.lost += lines },
	})
}

func begin(k *Keeper) *Run { return beginWith(k, 2) }

// beginWith begins a run with the lease of a number.
func beginWith(k *Keeper, lease int64) *Run {
	return k.Begin(&store.Claimed{Job: store.Job{ID: uuid.Must(uuid.NewV7()), Attempt: 1}, Lease: store.Lease{Number: lease}})
}

func never() bool { return false }

type badly struct{}

func (badly) LogValue() slog.Value { panic("badly") }

// TestLines: whatever is logged is a line that can be read.
func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kept{}
		keeper := keeper(k)
		log := begin(keeper).Logger(slog.DiscardHandler, never)
		log.Info("plain")
		log.With("msg", 1).WithGroup("g").Warn("attributes", "time", 2)
		log.Info("not UTF-8 \xff and NUL \x00", "k\x00", "\xfe")
		long := strings.Repeat("ü", MaxLine)
		log.Info(long, "short", 1) //nolint:sloglint // any message
		log.Info("long attributes", "a", strings.Repeat("x", 2*MaxLine))
		log.Info("panics", "v", badly{})
		log.Debug("not kept")
		keeper.Close(t.Context())
		all := k.records(t)
		if len(all) != 6 {
			t.Fatalf("%d lines: %+v", len(all), all)
		}
		if r := all[0]; r.Message != "plain" || r.Attrs != nil || r.Level != slog.LevelInfo || !r.Time.Equal(time.Now()) {
			t.Errorf("%+v", r)
		}
		if r := all[1]; string(r.Attrs) != `{"msg":1,"g":{"time":2}}` || r.Level != slog.LevelWarn {
			t.Errorf("%+v", r)
		}
		if r := all[2]; r.Message != "not UTF-8 \ufffd and NUL \x00" {
			t.Errorf("%q", r.Message)
		}
		if r := all[3]; r.Cut < 2*MaxLine || len(r.Message) != MaxLine/8 || string(r.Attrs) != `{"short":1}` {
			t.Errorf("cut to %d of %d: %s", len(r.Message), r.Cut, r.Attrs)
		}
		if r := all[4]; r.Cut < 2*MaxLine || r.Message != "long attributes" || r.Attrs != nil {
			t.Errorf("%+v", r)
		}
	})
}

// TestCloseTellsWhatIsLost: the database is away when the keeper ends. An outcome that waits for
// the lines goes on.
func TestCloseTellsWhatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kept{err: store.ErrUnavailable}
		keeper := keeper(k)
		r, ended := begin(keeper), false
		log := r.Logger(slog.DiscardHandler, never)
		log.Info("one")
		log.Info("two")
		keeper.End(r, func() { ended = true })
		keeper.Close(t.Context())
		if k.lost != 2 || !ended {
			t.Errorf("%d lines are told to be lost, and the outcome goes on: %v", k.lost, ended)
		}
	})
}

// TestOpens: later runs of a job ask for what the earlier ones have to be looked at.
func TestOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kept{}
		keeper := keeper(k)
		beginWith(keeper, 1).Logger(slog.DiscardHandler, never).Info("the first")
		beginWith(keeper, 2).Logger(slog.DiscardHandler, never).Info("a later one")
		keeper.Close(t.Context())
		for _, c := range k.chunks {
			if c.Opens != (c.Lease > 1) {
				t.Errorf("run %d opens: %v", c.Lease, c.Opens)
			}
		}
	})
}

// TestTheOldestGo: by their number and by their bytes, and the numbers say how many.
func TestTheOldestGo(t *testing.T) {
	for name, size := range map[string]int{"many": 1, "large": 1000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &kept{}
				keeper := keeper(k)
				log := begin(keeper).Logger(slog.DiscardHandler, never)
				const lines = 5 * store.LogRunLines
				line := strings.Repeat("x", size)
				for i := range lines {
					if log.Info(line); i%400 == 0 { //nolint:sloglint // any message
						time.Sleep(2 * Every)
					}
				}
				keeper.Close(t.Context())
				n, bytes, keep := 0, 0, int64(0)
				for _, c := range k.chunks {
					keep = max(keep, c.Keep)
				}
				for i, c := range k.chunks {
					if c.Opens != (i == 0) {
						t.Errorf("chunk %d opens: %v", i, c.Opens)
					}
					if c.First >= keep {
						n, bytes = n+c.Count, bytes+len(c.Lines)
					}
				}
				if n > store.LogRunLines || bytes > store.LogRunBytes || n < store.LogRunLines*3/4 && bytes < store.LogRunBytes/2 {
					t.Errorf("%d lines with %d bytes are kept", n, bytes)
				}
				if last := k.chunks[len(k.chunks)-1]; last.First+int64(last.Count)-1 != lines {
					t.Errorf("the last chunk: %d.%d", last.First, last.Count)
				}
			})
		})
	}
}

// TestALostAnswerIsRepeated with the same chunks, and what came meanwhile follows.
func TestALostAnswerIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kept{err: store.ErrUnavailable}
		keeper := keeper(k)
		log := begin(keeper).Logger(slog.DiscardHandler, never)
		log.Info("one")
		time.Sleep(2 * Every)
		log.Info("two")
		time.Sleep(2 * Every)
		k.fail(nil)
		time.Sleep(3 * Every)
		synctest.Wait()
		if len(k.chunks) != 2 || k.chunks[0].First != 1 || k.chunks[0].Count != 1 || k.chunks[1].First != 2 || k.chunks[1].Opens || k.lost > 0 {
			t.Errorf("%+v, %d lost", k.chunks, k.lost)
		}
		if calls := k.calls; calls > 7 {
			t.Errorf("%d calls", calls)
		}
		keeper.Close(t.Context())
	})
}

// TestEndsAreWrittenTogether: an end waits for its lines, and not for ever; runs that have logged
// nothing wait for nothing.
func TestEndsAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kept{}
		keeper := keeper(k)
		ended := 0
		keeper.End(nil, func() { ended++ })
		keeper.End(begin(keeper), func() { ended++ })
		if ended != 2 || k.calls != 0 {
			t.Fatalf("%d ends, %d calls", ended, k.calls)
		}
		k.mu.Lock() // the first write hangs while the others end
		done := make(chan int, 10)
		for i := range 10 {
			r := begin(keeper)
			r.Logger(slog.DiscardHandler, never).Info("line")
			keeper.End(r, func() { done <- i })
		}
		k.mu.Unlock()
		for range 10 {
			<-done
		}
		if k.calls > 3 {
			t.Errorf("%d writes for ten runs that ended together", k.calls)
		}
		keeper.Close(t.Context())
	})
}

// TestMuchIsLeftWhileTheDatabaseIsAway, and then some is lost, which is told.
func TestMuchIsLeftWhileTheDatabaseIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kept{err: store.ErrUnavailable}
		keeper := keeper(k)
		const runs = mostLeft + 50
		for range runs {
			r := begin(keeper)
			r.Logger(slog.DiscardHandler, never).Info("line")
			done := make(chan struct{})
			keeper.End(r, func() { close(done) })
			<-done
		}
		time.Sleep(10 * Every)
		k.fail(nil)
		time.Sleep(10 * Every)
		synctest.Wait()
		if n := len(k.chunks); n+k.lost != runs || n < mostLeft/2 || n > mostLeft {
			t.Errorf("%d lines are there and %d lost, of %d", n, k.lost, runs)
		}
		keeper.Close(t.Context())
	})
}
