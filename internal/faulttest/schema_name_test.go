package faulttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// enqueueBySQL enqueues by the function of the schema, from a session of its own.
func enqueueBySQL(t *testing.T, source postgres.Config, params string) (id holdfast.ID) {
	t.Helper()
	schema := source.SchemaName
	if schema == "" {
		schema = "holdfast"
	}
	text := value[string](t, connect(t, source.URL), "SELECT id::text FROM "+pgx.Identifier{schema}.Sanitize()+".enqueue("+params+")",
		pgx.QueryExecModeExec) // a pooler may be in between
	if err := id.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return id
}

// liveOn does a little of everything that there is: it is for databases that are strange in
// themselves.
func liveOn(t *testing.T, source store.Source) {
	t.Helper()
	hf := open(t, source)
	producer := open(t, source) // which finds the schema there
	plain := holdfast.NewKind[int, int]("plain")
	durable := holdfast.NewKind[int, int]("durable")
	parked := holdfast.NewKind[int, int]("parked")
	answer := holdfast.NewSignal[int]("answer")
	again := holdfast.Backoff(time.Millisecond, time.Millisecond)
	register(t, hf, plain, func(run *holdfast.Run, n int) (int, error) {
		if run.Attempt() == 1 {
			return 0, errors.New("not yet")
		}
		return n, nil
	}, again)
	register(t, hf, durable, func(run *holdfast.Run, n int) (int, error) {
		one, err := holdfast.Step(run, "one", func(context.Context) (int, error) { return n, nil })
		if err != nil {
			return 0, err
		}
		two, err := answer.Wait(run)
		if err != nil {
			return 0, err
		}
		three, err := plain.Call(run, 3)
		return one + two + three, err
	})
	register(t, hf, parked, func(run *holdfast.Run, _ int) (int, error) { return answer.Wait(run) })
	work(t, hf)

	ids := []holdfast.ID{
		enqueue(t, producer, plain, 1).ID,
		enqueue(t, producer, plain, 2, holdfast.Delay(20*time.Millisecond)).ID,
		enqueue(t, producer, plain, 3, holdfast.OrderingKey("key")).ID,
		enqueue(t, producer, plain, 4, holdfast.Unique{ByArgs: true}, holdfast.Delay(time.Hour)).ID,
	}
	if same := enqueue(t, producer, plain, 4, holdfast.Unique{ByArgs: true}); same.ID != ids[3] {
		t.Errorf("the unique key led to %s", same.ID)
	}
	if config, ok := source.(postgres.Config); ok {
		ids = append(ids, enqueueBySQL(t, config, `'plain', 5`), enqueueBySQL(t, config, `'plain', '6', ordering_key => 'key'`))
		if same := enqueueBySQL(t, config, `'plain', 4, unique_by => '{args}'`); same != ids[3] {
			t.Errorf("the unique key led to %s in SQL", same)
		}
	}
	if results, err := producer.Retry(t.Context(), "", ids[3]); err != nil || results[0].Err != nil {
		t.Errorf("the one that is due in an hour does not run at once: %v, %v", results, err)
	}
	waiting, cancelled := enqueue(t, producer, durable, 1), enqueue(t, producer, parked, 0)
	if _, err := answer.Send(t.Context(), producer, waiting.ID, 2); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is parked", func() bool { return get(t, producer, cancelled.ID).State == store.Waiting })
	if err := cancelled.Cancel(t.Context(), "enough"); err != nil {
		t.Fatal(err)
	}
	for _, id := range append(ids, waiting.ID) {
		ends(t, producer, id, store.Completed)
	}
	ends(t, producer, cancelled.ID, store.Cancelled)
	if sum, err := waiting.Wait(t.Context()); err != nil || sum != 6 {
		t.Errorf("the durable job has come to %d, %v", sum, err)
	}
}
