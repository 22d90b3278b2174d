package codec_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/codec"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
	"github.com/holdfastdev/holdfast/why"
)

// sources are an empty database of each sort, which several clients may open.
var sources = map[string]func(*testing.T) store.Source{
	"sqlite":   func(t *testing.T) store.Source { return parse(t, filepath.Join(t.TempDir(), "jobs.db")) },
	"postgres": func(t *testing.T) store.Source { pgtest.InSoak(t); return parse(t, ready.Database(t)) },
}

func parse(t *testing.T, url string) store.Source {
	t.Helper()
	source, err := dsn.Parse(url)
	handle(t, err)
	return source
}

var double = holdfast.NewKind[int, int]("double")

func handleDouble(t *testing.T, hf *holdfast.Client) {
	t.Helper()
	handle(t, double.Handle(hf, func(_ *holdfast.Run, n int) (int, error) { return 2 * n, nil }))
}

// TestMissingKeyHoldsTheJob: a node that lacks the key of a job's args holds the job, and says
// which key; no attempt counts; and a node that has the key runs it.
func TestMissingKeyHoldsTheJob(t *testing.T) {
	t.Parallel()
	for name, database := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, keys, ctx := database(t), keysOf(t, "k1", "k2"), t.Context()
			both := open(t, source, codec.With(aes(t, keys[1], keys[0])))
			job, err := double.Enqueue(ctx, both, 21, holdfast.MaxAttempts(1))
			handle(t, err)
			log := &lines{}
			lacks := open(t, source, codec.With(aes(t, keys[0])), holdfast.WithLogger(log.logger()))
			handleDouble(t, lacks)
			handle(t, lacks.Start(ctx))
			var held store.Record
			var explained why.Explanation
			eventually(t, "the job is held twice", func() bool {
				held, err = lacks.Get(ctx, job.ID)
				handle(t, err)
				explained, err = lacks.Why(ctx, job.ID)
				handle(t, err)
				after, err := lacks.Get(ctx, job.ID)
				handle(t, err)
				return held.State == store.Waiting && held.LeaseNumber >= 2 && after.State == store.Waiting && after.LeaseNumber == held.LeaseNumber
			})
			w, least := held.Wait, time.Second<<(held.LeaseNumber-1) // the second time for two seconds, and up to a quarter more
			if held.Attempt != 0 || len(held.Attempts) != 0 || w == nil || w.Held || w.Reason != store.ReasonCodecKey ||
				w.Error != `codec key "k2" is missing on this node` || w.Until.Sub(held.ClaimedAt) < least || w.Until.Sub(w.Since) > 2*least {
				t.Errorf("held: %+v, waits %+v", held, w)
			}
			if c := explained.Causes[0]; c.Code != why.CodecKey || !strings.Contains(c.Text, `codec key "k2"`) || !c.Until.Equal(w.Until) {
				t.Errorf("why: %+v", explained)
			}
			if n := log.count(`codec key \"k2\" is missing`); n != 1 {
				t.Errorf("the key is logged %d times in the first minute, want once", n)
			}
			handle(t, lacks.Stop(ctx))
			handleDouble(t, both)
			start(t, both)
			if got, err := job.Wait(ctx); err != nil || got != 42 {
				t.Errorf("with the key: %d, %v", got, err)
			}
			// The result is sealed, too: who lacks the key is told so.
			var missing *store.MissingKeyError
			if _, err := double.Job(lacks, job.ID).Wait(ctx); !errors.As(err, &missing) || missing.Key != "k2" ||
				!errors.Is(err, holdfast.ErrInvalid) {
				t.Errorf("the result without the key: %v", err)
			}
			if _, err := double.Get(ctx, lacks, job.ID); !errors.As(err, &missing) {
				t.Errorf("the job without the key: %v", err)
			}
			if record, err := lacks.Get(ctx, job.ID); err != nil || record.Codec != store.SealedCodec || record.Attempt != 1 {
				t.Errorf("the record without the key: %+v, %v", record, err)
			}
		})
	}
}

// TestMissingKeyOfAJournal: a durable run that cannot read what it remembers, or what was sent to
// it, is held, and goes on where the key is, without repeating what it has done.
func TestMissingKeyOfAJournal(t *testing.T) {
	t.Parallel()
	for name, database := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, keys, ctx := database(t), keysOf(t, "k1", "k2"), t.Context()
			flow, signal := holdfast.NewKind[string, string]("flow"), holdfast.NewSignal[string]("go")
			var steps atomic.Int64
			handler := func(run *holdfast.Run, in string) (string, error) {
				out, err := holdfast.Step(run, "s", func(context.Context) (string, error) { steps.Add(1); return in + " step", nil })
				if err != nil {
					return "", err
				}
				sent, err := signal.Wait(run)
				return out + " " + sent, err
			}
			old := open(t, source, codec.With(aes(t, keys[0])))
			handle(t, flow.Handle(old, handler))
			handle(t, old.Start(ctx))
			job, err := flow.Enqueue(ctx, old, "in", holdfast.MaxAttempts(1))
			handle(t, err)
			both := open(t, source, codec.With(aes(t, keys[1], keys[0])))
			parked := func(reason store.Reason) func() bool {
				return func() bool {
					r, err := both.Get(ctx, job.ID)
					handle(t, err)
					return r.State == store.Waiting && r.Wait.Reason == reason
				}
			}
			eventually(t, "it waits for the signal", parked(""))
			_, err = signal.Send(ctx, both, job.ID, "signal") // with the key that the old node lacks
			handle(t, err)
			eventually(t, "it is held", parked(store.ReasonCodecKey))
			handle(t, old.Stop(ctx))
			handle(t, flow.Handle(both, handler))
			start(t, both)
			if got, err := flow.Job(both, job.ID).Wait(ctx); err != nil || got != "in step signal" || steps.Load() != 1 {
				t.Errorf("%q after %d steps: %v", got, steps.Load(), err)
			}
			if r, err := both.Get(ctx, job.ID); err != nil || r.Attempt != 1 || len(r.Attempts) != 0 {
				t.Errorf("the attempts: %+v, %v", r, err)
			}
		})
	}
}

// TestCancelOfAHeldJob: a job that is held for a key can be cancelled, and is not tried again and
// again because of the request.
func TestCancelOfAHeldJob(t *testing.T) {
	source, keys, ctx := sources["sqlite"](t), keysOf(t, "k1", "k2"), t.Context()
	both := open(t, source, codec.With(aes(t, keys[1], keys[0])))
	job, err := double.Enqueue(ctx, both, 1)
	handle(t, err)
	lacks := open(t, source, codec.With(aes(t, keys[0])))
	handleDouble(t, lacks)
	start(t, lacks)
	eventually(t, "it is held", func() bool {
		r, err := lacks.Get(ctx, job.ID)
		return err == nil && r.State == store.Waiting
	})
	if results, err := lacks.Cancel(ctx, "enough", job.ID); err != nil || results[0].State != store.Cancelled {
		t.Errorf("cancelled: %+v, %v", results, err)
	}
}

// TestRotation: jobs that were enqueued with the old key run on a node whose first key is the new
// one, as do those that were enqueued without any.
func TestRotation(t *testing.T) {
	source, keys, ctx := sources["sqlite"](t), keysOf(t, "k1", "k2"), t.Context()
	var jobs []*holdfast.Job[int]
	for _, opts := range [][]holdfast.Option{nil, {codec.With(aes(t, keys[0]))}, {codec.With(aes(t, keys[1], keys[0]))}} {
		job, err := double.Enqueue(ctx, open(t, source, opts...), len(jobs))
		handle(t, err)
		jobs = append(jobs, job)
	}
	hf := open(t, source, codec.With(aes(t, keys[1], keys[0])))
	handleDouble(t, hf)
	start(t, hf)
	for i, job := range jobs {
		if got, err := double.Job(hf, job.ID).Wait(ctx); err != nil || got != 2*i {
			t.Errorf("job %d: %d, %v", i, got, err)
		}
	}
}

// TestDamaged: args under another key of the same name, and a result that was changed in the
// database or moved to another job's args, are errors with a type; the job fails and is not
// retried.
func TestDamaged(t *testing.T) {
	source, ctx := sources["sqlite"](t), t.Context()
	first, other := open(t, source, codec.With(aes(t, keysOf(t, "k1")...))), open(t, source, codec.With(aes(t, keysOf(t, "k1")...)))
	job, err := double.Enqueue(ctx, first, 1)
	handle(t, err)
	handleDouble(t, other)
	start(t, other)
	var failed *holdfast.JobError
	if _, err := job.Wait(ctx); !errors.As(err, &failed) || failed.Reason != store.ReasonTerminal ||
		!strings.Contains(failed.Message, `codec key "k1"`) {
		t.Errorf("the job of another key: %v", err)
	}
	r, err := other.Get(ctx, job.ID)
	if err != nil || r.Attempt != 1 || r.Codec != store.DamagedCodec {
		t.Errorf("the record: %+v, %v", r, err)
	}
	var damaged *store.DamagedError
	if _, err := double.Get(ctx, other, job.ID); !errors.As(err, &damaged) || damaged.Key != "k1" {
		t.Errorf("its args: %v", err)
	}
	text, err := json.Marshal(store.PayloadJSON(r.Args, r.Codec))
	if err != nil || string(text) != `{"encrypted_with":"k1","damaged":true}` {
		t.Errorf("as JSON: %s, %v", text, err)
	}
}

// TestCancelOfAHeldRun: a run that cannot read its journal is not tried again at once because it
// was asked to stop; it ends itself where the key is.
func TestCancelOfAHeldRun(t *testing.T) {
	source, keys, ctx := sources["sqlite"](t), keysOf(t, "k1", "k2"), t.Context()
	flow, signal := holdfast.NewKind[string, string]("flow"), holdfast.NewSignal[string]("go")
	handler := func(run *holdfast.Run, _ string) (string, error) {
		if err := holdfast.Do(run, "s", func(context.Context) error { return nil }); err != nil {
			return "", err
		}
		return signal.Wait(run)
	}
	both := open(t, source, codec.With(aes(t, keys[1], keys[0])))
	handle(t, flow.Handle(both, handler))
	handle(t, both.Start(ctx))
	job, err := flow.Enqueue(ctx, both, "in")
	handle(t, err)
	var parked store.Record
	waits := func(lease int64) func() bool {
		return func() bool {
			parked, err = both.Get(ctx, job.ID)
			handle(t, err)
			return parked.State == store.Waiting && parked.LeaseNumber > lease
		}
	}
	eventually(t, "it waits for the signal", waits(0))
	handle(t, both.Stop(ctx))
	lacks := open(t, source, codec.With(aes(t, keys[0])))
	handle(t, flow.Handle(lacks, handler))
	handle(t, lacks.Start(ctx))
	_, err = both.Cancel(ctx, "enough", job.ID)
	handle(t, err)
	eventually(t, "it is held", waits(parked.LeaseNumber))
	if parked.Wait.Reason != store.ReasonCodecKey || !parked.Wait.Until.After(parked.Wait.Since) {
		t.Errorf("it waits: %+v", parked.Wait)
	}
	handle(t, lacks.Stop(ctx))
	again := open(t, source, codec.With(aes(t, keys[1], keys[0])))
	handle(t, flow.Handle(again, handler))
	start(t, again)
	var ended *holdfast.JobError
	if _, err := flow.Job(again, job.ID).Wait(ctx); !errors.As(err, &ended) || ended.State != store.Cancelled || ended.Message != "enough" {
		t.Errorf("with the key: %v", err)
	}
}

// away is a codec whose key service does not answer for a time.
type away struct {
	store.Codec

	is atomic.Bool
}

func (a *away) Decode(ctx context.Context, payloads []*store.Payload) error {
	if a.is.Load() {
		return errors.New("the key service is away")
	}
	return a.Codec.Decode(ctx, payloads)
}

// mute is a codec that cannot encode.
type mute struct{ store.Codec }

func (mute) Encode(context.Context, []*store.Payload) error {
	return errors.New("there is no key to encrypt with")
}

// TestEncodeErrorIsSaidSo: an enqueue that the codec did not let through does not blame the
// database, and neither does the health of the node.
func TestEncodeErrorIsSaidSo(t *testing.T) {
	t.Parallel()
	hf := open(t, sources["sqlite"](t), codec.With(mute{aes(t, keysOf(t, "k1")...)}))
	kind := holdfast.NewKind[string, string]("letter")
	enqueue := func(within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, err := kind.Enqueue(ctx, hf, "ada")
		return err
	}
	within := 300 * time.Millisecond
	err := enqueue(within)
	encode, is := errors.AsType[*store.EncodeError](err)
	for !is && errors.Is(err, context.DeadlineExceeded) && within < 10*time.Second { // on a busy machine it was not tried
		within *= 2
		err = enqueue(within)
		encode, is = errors.AsType[*store.EncodeError](err)
	}
	if !is || !strings.Contains(err.Error(), "no key to encrypt with") || strings.Contains(err.Error(), "database") ||
		!errors.Is(err, holdfast.ErrUnavailable) {
		t.Fatalf("it says %v, of %+v", err, encode)
	}
	if since := hf.Health().AwaySince; !since.IsZero() {
		t.Errorf("the database is taken as away since %v", since)
	}
}

// TestCodecThatFailsIsSaidSo: its own error is in the log, and the job is held and then runs.
func TestCodecThatFailsIsSaidSo(t *testing.T) {
	t.Parallel()
	var text lockedBuffer
	c := &away{Codec: aes(t, keysOf(t, "k1")...)}
	hf := open(t, sources["sqlite"](t), codec.With(c), holdfast.WithLogger(slog.New(slog.NewTextHandler(&text, nil))))
	kind := holdfast.NewKind[string, string]("letter")
	if err := kind.Handle(hf, func(_ *holdfast.Run, in string) (string, error) { return in, nil }); err != nil {
		t.Fatal(err)
	}
	job, err := kind.Enqueue(t.Context(), hf, "ada")
	if err != nil {
		t.Fatal(err)
	}
	c.is.Store(true)
	start(t, hf)
	const message = "the codec could not decode payloads; jobs that need them are held"
	eventually(t, "the line", func() bool {
		said := text.String()
		return strings.Contains(said, message) && strings.Contains(said, "the key service is away")
	})
	c.is.Store(false)
	if out, err := job.Wait(t.Context()); err != nil || out != "ada" {
		t.Errorf("%q, error %v", out, err)
	}
	if n := strings.Count(text.String(), message); n != 1 {
		t.Errorf("it is said %d times", n)
	}
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
