package holdfast_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// later is a delay after which no test is still running.
var later = holdfast.Delay(1000 * time.Hour)

// TestKey: the job that holds a key is found, and an enqueue with the same key attaches to it.
func TestKey(t *testing.T) {
	hf, ctx := open(t), t.Context()
	if _, err := fulfil.Find(ctx, hf, "order-42"); !errors.Is(err, holdfast.ErrNotFound) {
		t.Errorf("nothing has the key: %v", err)
	}
	first, err := fulfil.Enqueue(ctx, hf, order{ID: 42, Name: "x"}, holdfast.Key("order-42"), later)
	if err != nil || first.Existing || first.Differs {
		t.Fatalf("%+v, %v", first, err)
	}
	wantHolder(t, hf, "order-42", first.ID)

	same, err := fulfil.Enqueue(ctx, hf, order{ID: 42, Name: "x"}, holdfast.Key("order-42"))
	if err != nil || same.ID != first.ID || !same.Existing || same.Differs {
		t.Errorf("the same args: %+v, %v", same, err)
	}
	other, err := fulfil.Enqueue(ctx, hf, order{ID: 43}, holdfast.Key("order-42"))
	if err != nil || other.ID != first.ID || !other.Existing || !other.Differs {
		t.Errorf("other args: %+v, %v", other, err)
	}
	anyArgs := holdfast.NewKind[json.RawMessage, receipt]("order.fulfil")
	raw, err := anyArgs.Enqueue(ctx, hf, json.RawMessage(` { "name" : "x", "id" : 42 } `), holdfast.Key("order-42"))
	if err != nil || raw.ID != first.ID || raw.Differs {
		t.Errorf("the same args, written in another way: %+v, %v", raw, err)
	}

	// Each of get, cancel and wait by the key is one line.
	found, err := fulfil.Find(ctx, hf, "order-42")
	if err != nil {
		t.Fatal(err)
	}
	if record, err := found.Get(ctx); err != nil || record.Options.Key != "order-42" || record.State != store.Scheduled {
		t.Errorf("%+v, %v", record, err)
	}
	if err := found.Cancel(ctx, "not wanted"); err != nil {
		t.Error(err)
	}
	var ended *holdfast.JobError
	if _, err := found.Wait(ctx); !errors.As(err, &ended) || ended.State != store.Cancelled {
		t.Errorf("%v", err)
	}

	wantHolder(t, hf, "order-42", first.ID) // it held it last
	next, err := fulfil.Enqueue(ctx, hf, order{ID: 43}, holdfast.Key("order-42"), later)
	if err != nil || next.ID == first.ID || next.Existing || next.Differs {
		t.Errorf("after its end: %+v, %v", next, err)
	}
	wantHolder(t, hf, "order-42", next.ID)
	results, err := hf.Retry(ctx, "again", first.ID)
	if err != nil {
		t.Fatal(err)
	}
	var taken *store.UniqueError
	err = results[0].Err
	if !errors.As(err, &taken) || taken.Holder != next.ID || taken.Key != "order-42" || !errors.Is(err, holdfast.ErrConflict) {
		t.Errorf("retrying the first: %v", err)
	}
}

func wantHolder(t *testing.T, hf *holdfast.Client, key string, want holdfast.ID) {
	t.Helper()
	job, err := fulfil.Find(t.Context(), hf, key)
	if err != nil {
		t.Fatal(err)
	}
	id, err := hf.FindKey(t.Context(), "order.fulfil", key)
	if err != nil || job.ID != want || id != want {
		t.Errorf("%s is held by %s and %s (%v), want %s", key, job.ID, id, err, want)
	}
}

// TestKeyTexts: what a key may be is checked before anything is written, in the same way wherever
// a key is given.
func TestKeyTexts(t *testing.T) {
	hf, ctx := open(t), t.Context()
	note := holdfast.NewSignal[int]("note")
	for name, c := range map[string]struct {
		key string
		ok  bool
	}{
		"plain":         {"order-42", true},
		"512 bytes":     {strings.Repeat("k", 512), true},
		"emoji":         {"🍕 für Jörg 日本", true},
		"512 of emoji":  {strings.Repeat("🍕", 128), true},
		"invisible":     {"a\u202eb", true}, // it may come from data
		"513 bytes":     {strings.Repeat("k", 513), false},
		"516 of emoji":  {strings.Repeat("🍕", 129), false},
		"empty":         {"", false},
		"NUL":           {"a\x00b", false},
		"a line break":  {"a\nb", false},
		"C1":            {"a\u0085b", false},
		"invalid UTF-8": {"a\xffb", false},
	} {
		t.Run(name, func(t *testing.T) {
			job, err := fulfil.Enqueue(ctx, hf, order{}, holdfast.Key(c.key), later)
			_, sendErr := note.SendByKey(ctx, hf, "order.fulfil", c.key, 1)
			_, startErr := note.SendOrStart(ctx, hf, fulfil.Item(order{}, holdfast.Key(c.key), later), 1)
			found, findErr := fulfil.Find(ctx, hf, c.key)
			id, idErr := hf.FindKey(ctx, "order.fulfil", c.key)
			if !c.ok {
				for _, err := range []error{err, sendErr, startErr, findErr, idErr} {
					if !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), "key") {
						t.Errorf("%v", err)
					}
				}
				return
			}
			if err := errors.Join(err, sendErr, startErr, findErr, idErr); err != nil {
				t.Fatal(err)
			}
			record, err := found.Get(ctx)
			if err != nil || found.ID != job.ID || id != job.ID || record.Options.Key != c.key {
				t.Errorf("%s, %s, %q, %v; want %s", found.ID, id, record.Options.Key, err, job.ID)
			}
		})
	}
}

// TestKeyRefused: where a key cannot be.
func TestKeyRefused(t *testing.T) {
	hf, ctx := open(t), t.Context()
	note := holdfast.NewSignal[int]("note")
	key, unique := holdfast.Key("k"), holdfast.Unique{ByArgs: true}
	enqueue := func(opts ...holdfast.EnqueueOption) error {
		_, err := fulfil.Enqueue(ctx, hf, order{}, opts...)
		return err
	}
	send := func(item holdfast.BatchItem) error {
		_, err := note.SendOrStart(ctx, hf, item, 1)
		return err
	}
	nameless := holdfast.NewKind[order, int]("")
	_, findErr := nameless.Find(ctx, hf, "k")
	_, kindErr := hf.FindKey(ctx, "", "k")
	_, signalErr := holdfast.NewSignal[int]("").SendOrStart(ctx, hf, fulfil.Item(order{}, key), 1)
	_, byKeyErr := holdfast.NewSignal[int]("").SendByKey(ctx, hf, "order.fulfil", "k", 1)
	_, payloadErr := holdfast.NewSignal[any]("n").SendOrStart(ctx, hf, fulfil.Item(order{}, key), make(chan int))
	_, valueErr := holdfast.NewSignal[any]("n").SendByKey(ctx, hf, "order.fulfil", "k", make(chan int))
	_, txErr := note.SendOrStartTx(ctx, hf, nil, fulfil.Item(order{}, key), 1)
	for what, c := range map[string]struct {
		err  error
		says string
	}{
		"with Unique":                 {enqueue(key, unique), "Unique"},
		"Unique before":               {enqueue(unique, key), "Unique"},
		"send-or-start without a key": {send(fulfil.Item(order{})), "Key"},
		"send-or-start of nothing":    {send(holdfast.BatchItem{}), "Kind.Item"},
		"a kind without a name":       {findErr, "kind"},
		"no kind":                     {kindErr, "kind"},
		"no signal":                   {signalErr, "signal"},
		"no signal, by key":           {byKeyErr, "signal"},
		"not JSON":                    {payloadErr, "chan int"},
		"not JSON, by key":            {valueErr, "chan int"},
		"no transaction":              {txErr, "transaction"},
	} {
		if !errors.Is(c.err, holdfast.ErrInvalid) || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s: %v; it should speak of %s", what, c.err, c.says)
		}
	}
	if page, err := hf.List(ctx, store.Filter{}, "", 10); err != nil || len(page.Jobs) != 0 {
		t.Errorf("%d jobs were written, %v", len(page.Jobs), err)
	}
	if err := enqueue(holdfast.KeepKey(time.Hour), later); err != nil {
		t.Errorf("KeepKey without a key has no meaning, but: %v", err)
	}
}

// TestKeyBelongsToKindAndNamespace: the same text names other jobs there.
func TestKeyBelongsToKindAndNamespace(t *testing.T) {
	st := model.New(time.Now)
	ctx, ids := t.Context(), map[holdfast.ID]string{}
	for _, namespace := range []string{"default", "other"} {
		hf, err := holdfast.Open(ctx, memorySource{st}, holdfast.WithNamespace(namespace))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = hf.Close(context.Background()) })
		for _, kind := range []string{"a", "b"} {
			k := holdfast.NewKind[int, int](kind)
			job, err := k.Enqueue(ctx, hf, 1, holdfast.Key("k"), later)
			if err != nil || job.Existing {
				t.Fatalf("%+v, %v", job, err)
			}
			found, err := k.Find(ctx, hf, "k")
			if err != nil || found.ID != job.ID {
				t.Errorf("%s of %s: %v, %v", kind, namespace, found, err)
			}
			ids[job.ID] = namespace + kind
		}
	}
	if len(ids) != 4 {
		t.Errorf("%d jobs, want 4", len(ids))
	}
}

// TestKeepKey: how long a finished job keeps its key.
func TestKeepKey(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		ctx := t.Context()
		note := holdfast.NewSignal[int]("note")
		kind := holdfast.NewKind[int, int]("kept", holdfast.KeepKey(time.Hour))
		f.close()
		var err error
		f.hf, err = holdfast.Open(ctx, memorySource{f.st}, holdfast.WithRetention(store.Retention{Completed: 10 * time.Minute}))
		if err != nil {
			t.Fatal(err)
		}
		if err := kind.Handle(f.hf, func(*holdfast.Run, int) (int, error) { return 1, nil }); err != nil {
			t.Fatal(err)
		}
		f.run()
		for name, keep := range map[string]time.Duration{"an hour": time.Hour, "a day": 24 * time.Hour, "for ever": -1} {
			job, err := kind.Enqueue(ctx, f.hf, 1, holdfast.Key(name), holdfast.KeepKey(keep))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := job.Wait(ctx); err != nil || got != 1 {
				t.Fatal(err)
			}
		}
		wantKept := func(when, name string, want bool) {
			t.Helper()
			before, err := kind.Find(ctx, f.hf, name)
			if want && err != nil {
				t.Fatalf("%s, %s: %v", when, name, err)
			}
			job, err := kind.Enqueue(ctx, f.hf, 2, holdfast.Key(name), later)
			if err != nil || job.Existing != want || job.Differs != want {
				t.Errorf("%s, %s: %+v, %v", when, name, job, err)
			}
			if !want {
				return
			}
			if job.ID != before.ID {
				t.Errorf("%s, %s: %s holds it, %s is found", when, name, job.ID, before.ID)
			}
			_, err = note.SendOrStart(ctx, f.hf, kind.Item(2, holdfast.Key(name)), 1)
			if !errors.Is(err, holdfast.ErrConflict) || !strings.Contains(err.Error(), before.ID.String()) {
				t.Errorf("%s, a signal to %s: %v", when, name, err)
			}
		}
		for _, name := range []string{"an hour", "a day", "for ever"} {
			wantKept("at once", name, true)
		}
		time.Sleep(2 * time.Hour)
		wantKept("after 2 h", "an hour", false)
		for _, name := range []string{"a day", "for ever"} {
			wantKept("after its removal", name, true)
			job, err := kind.Find(ctx, f.hf, name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := job.Get(ctx); !errors.Is(err, holdfast.ErrNotFound) {
				t.Errorf("%s: the job that has been removed: %v", name, err)
			}
			if _, err := note.SendByKey(ctx, f.hf, "kept", name, 1); !errors.Is(err, holdfast.ErrNotFound) {
				t.Errorf("%s: a signal to the job that has been removed: %v", name, err)
			}
		}
		time.Sleep(24 * time.Hour)
		wantKept("after a day", "a day", false)
		wantKept("after a day", "for ever", true)
	})
}

// TestKeysOfDescendants: a child has no key, a fork leaves it to the job that it was made from, and
// what continues as new has kept it.
func TestKeysOfDescendants(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		ctx := t.Context()
		kind := holdfast.NewKind[int, int]("keyed")
		next := holdfast.NewSignal[int]("next")
		err := kind.Handle(f.hf, func(run *holdfast.Run, round int) (int, error) {
			if round < 0 {
				_, err := kind.Start(run, 1, holdfast.Key("child"))
				return 0, holdfast.Fail(err)
			}
			n, err := next.Wait(run)
			if err != nil || round == 2 {
				return n, err
			}
			return 0, kind.ContinueAsNew(round + 1)
		})
		if err != nil {
			t.Fatal(err)
		}
		f.run()
		parent, err := kind.Enqueue(ctx, f.hf, -1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parent.Wait(ctx); err == nil || !strings.Contains(err.Error(), "a child cannot have a business key") {
			t.Errorf("a child with a key: %v", err)
		}
		job, err := kind.Enqueue(ctx, f.hf, 0, holdfast.Key("k"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		fork, err := f.hf.Fork(ctx, "a look", job.ID, holdfast.Fork{})
		if err != nil {
			t.Fatal(err)
		}
		if record, err := f.hf.Get(ctx, fork); err != nil || record.Options.Key != "" || record.Options.KeepKey != 0 {
			t.Errorf("the fork has key %q, %v", record.Options.Key, err)
		}
		for i := range 3 {
			result, err := next.SendByKey(ctx, f.hf, "keyed", "k", i)
			if err != nil || result.Job != job.ID {
				t.Fatalf("%+v, %v", result, err)
			}
			synctest.Wait()
		}
		if got, err := job.Wait(ctx); err != nil || got != 2 {
			t.Errorf("%d, %v", got, err)
		}
		_, err = next.SendByKey(ctx, f.hf, "keyed", "k", 3)
		if !errors.Is(err, holdfast.ErrConflict) || !strings.Contains(err.Error(), job.ID.String()) {
			t.Errorf("to a finished job: %v", err)
		}
		_, err = next.SendByKey(ctx, f.hf, "keyed", "another", 3)
		if !errors.Is(err, holdfast.ErrNotFound) || !strings.Contains(err.Error(), "another") {
			t.Errorf("to nothing: %v", err)
		}
	})
}

// finding is a store that calls found after each answer of Find.
type finding struct {
	*model.Store

	mu    sync.Mutex
	found func()
}

func (s *finding) Find(ctx context.Context, key store.JobKey) (store.ID, error) {
	id, err := s.Store.Find(ctx, key)
	s.mu.Lock()
	found := s.found
	s.found = nil
	s.mu.Unlock()
	if found != nil {
		found()
	}
	return id, err
}

// TestSendByKeyToTheNextHolder: the job that was found finishes, and another one takes the key,
// before the signal is sent.
func TestSendByKeyToTheNextHolder(t *testing.T) {
	st := &finding{Store: model.New(time.Now)}
	hf, err := holdfast.Open(t.Context(), memorySource{st})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hf.Close(context.Background()) })
	ctx, key, note := t.Context(), holdfast.Key("k"), holdfast.NewSignal[int]("note")
	first, err := fulfil.Enqueue(ctx, hf, order{}, key, later)
	if err != nil {
		t.Fatal(err)
	}
	var second *holdfast.Job[receipt]
	st.found = func() {
		if err := first.Cancel(ctx, "over"); err != nil {
			t.Error(err)
		}
		if second, err = fulfil.Enqueue(ctx, hf, order{}, key, later); err != nil {
			t.Error(err)
		}
	}
	sent, err := note.SendByKey(ctx, hf, "order.fulfil", "k", 1)
	if err != nil || sent.Job != second.ID || sent.Duplicate {
		t.Errorf("%+v, %v; want it at %s", sent, err, second.ID)
	}
}

// TestKeyOfMiddleware: a business key that middleware sets is checked like one of an option, and
// the args that it sets are those that Differs compares.
func TestKeyOfMiddleware(t *testing.T) {
	ctx := t.Context()
	set := func(*store.Job) {}
	hf, err := holdfast.Open(ctx, memorySource{model.New(time.Now)}, holdfast.WithEnqueueMiddleware(
		func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
			for _, job := range jobs {
				set(job)
			}
			return next(ctx)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hf.Close(context.Background()) })
	note := holdfast.NewSignal[int]("note")
	set = func(job *store.Job) {
		job.Options.Key, job.Options.KeepKey, job.Args = "k", -time.Hour, []byte(`{"id":1}`)
	}
	first, err := fulfil.Enqueue(ctx, hf, order{ID: 7}, later)
	if err != nil || first.Existing {
		t.Fatalf("%+v, %v", first, err)
	}
	wantHolder(t, hf, "k", first.ID)
	if record, err := first.Get(ctx); err != nil || record.Options.KeepKey != store.KeepForever {
		t.Errorf("it is kept for %s, %v", record.Options.KeepKey, err)
	}
	sent, err := note.SendOrStart(ctx, hf, fulfil.Item(order{ID: 8}, holdfast.Key("other"), later), 1)
	if err != nil || sent.Job != first.ID || sent.Started || sent.Differs {
		t.Errorf("%+v, %v", sent, err)
	}
	results, err := hf.EnqueueBatch(ctx, []holdfast.BatchItem{fulfil.Item(order{ID: 8})})
	if err != nil || results[0].ID != first.ID || !results[0].Existing {
		t.Errorf("%+v, %v", results, err)
	}

	for what, c := range map[string]struct {
		set  func(*store.Job)
		says string
	}{
		"too long":    {func(job *store.Job) { job.Options.Key = strings.Repeat("k", 513) }, "key"},
		"a control":   {func(job *store.Job) { job.Options.Key = "a\nb" }, "key"},
		"with Unique": {func(job *store.Job) { job.Options.Key = "u" }, "Unique"},
	} {
		set = c.set
		var opts []holdfast.EnqueueOption
		if what == "with Unique" {
			opts = append(opts, holdfast.Unique{ByArgs: true})
		}
		_, err := fulfil.Enqueue(ctx, hf, order{}, opts...)
		_, batchErr := hf.EnqueueBatch(ctx, []holdfast.BatchItem{fulfil.Item(order{}, opts...)})
		_, startErr := note.SendOrStart(ctx, hf, fulfil.Item(order{}, append(opts, holdfast.Key("x"))...), 1)
		for _, err := range []error{err, batchErr, startErr} {
			if !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	set = func(job *store.Job) { job.Options.Key = "" }
	_, err = note.SendOrStart(ctx, hf, fulfil.Item(order{}, holdfast.Key("x")), 1)
	if !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), "Key") {
		t.Errorf("a key that middleware has removed: %v", err)
	}
	if page, err := hf.List(ctx, store.Filter{}, "", 10); err != nil || len(page.Jobs) != 1 {
		t.Errorf("%d jobs, %v", len(page.Jobs), err)
	}
}
