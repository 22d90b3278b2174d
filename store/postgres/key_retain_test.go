package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// named gives a job a business key.
func named(key string, keep time.Duration) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.Options.Key, q.Job.Options.KeepKey = key, keep }
}

// keyRows tells how many keys there are, how many of them belong to a job that may be there, and
// how many are kept for ever.
func keyRows(t *testing.T, url, schema string) (all, withJob, forEver int) {
	t.Helper()
	conn := connect(t, url)
	all = value[int](t, conn, "SELECT count(*) FROM "+schema+".job_key")
	withJob = value[int](t, conn, "SELECT count(*) FROM "+schema+".job_key WHERE until IS NULL")
	forEver = value[int](t, conn, "SELECT count(*) FROM "+schema+".job_key WHERE until = 9223372036854775807")
	return all, withJob, forEver
}

// TestKeysOfADroppedDay: the day of a hundred jobs is dropped. What keeps its key leaves one row,
// what does not leaves none, and what outlives the day has its key still.
func TestKeysOfADroppedDay(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	clock := storetest.NewClock()
	config.Clock = clock.Now
	s := open(t, config)
	day := clock.Now()
	var jobs []*store.Enqueue
	keeps := []time.Duration{0, time.Hour, store.KeepForever, 1000 * time.Hour}
	for i := range 100 {
		jobs = append(jobs, newJob(at(clock), named(fmt.Sprint("key ", i), keeps[i%4]), func(q *store.Enqueue) {
			q.Send = &store.Send{Message: store.Message{Kind: store.MessageSignal, Name: "s"}}
		}))
	}
	failed, waiting := newJob(at(clock), named("failed", store.KeepForever)), newJob(at(clock), named("waiting", time.Hour))
	waiting.Delay = 5000 * time.Hour
	enqueue(t, s, append(jobs, failed, waiting)...)
	node := join(t, s)
	runs, err := s.Claim(t.Context(), demand(node, 1, 1000))
	if err != nil || len(runs) != 101 {
		t.Fatalf("claimed %d, %v", len(runs), err)
	}
	batch := &store.Batch{}
	for _, run := range runs {
		o := completed(run)
		if run.Job.ID == failed.Job.ID {
			o.State, o.Reason, o.Error = store.Failed, store.ReasonError, "no"
		}
		batch.Outcomes = append(batch.Outcomes, o)
	}
	if err := store.ApplyEach(t.Context(), s, batch); err != nil {
		t.Fatal(err)
	}
	// Half of the keys that are free are taken by jobs of another day, which stay.
	clock.Advance(24 * time.Hour)
	var taken []*store.Enqueue
	for i := 0; i < 100; i += 8 {
		taken = append(taken, newJob(at(clock), named(fmt.Sprint("key ", i), 0)))
	}
	enqueue(t, s, taken...)

	clock.Advance(48 * time.Hour)
	retained, err := s.Retain(t.Context(), store.Retention{Completed: time.Hour})
	if err != nil || retained.Jobs != 100 {
		t.Fatalf("Retain: %+v, %v", retained, err)
	}
	conn := connect(t, config.URL)
	if got := tablesOf(t, conn, config.SchemaName, day); got != "" {
		t.Fatalf("the day still has the tables %q", got)
	}
	if _, err := s.Retain(t.Context(), store.Retention{Completed: time.Hour}); err != nil { // sweeps what is not kept any more
		t.Fatal(err)
	}
	all, withJob, forEver := keyRows(t, config.URL, config.SchemaName)
	if all != 2*25+len(taken)+2 || withJob != len(taken)+2 || forEver != 25 {
		t.Errorf("%d keys are left, %d of jobs and %d for ever", all, withJob, forEver)
	}
	if n := value[int](t, conn, "SELECT count(*) FROM "+config.SchemaName+".key_sent"); n != 0 {
		t.Errorf("%d signals are remembered", n)
	}
	for _, q := range append(taken, failed, waiting) {
		if id, err := s.Find(t.Context(), q.Job.Key()); err != nil || id != q.Job.ID {
			t.Errorf("the key %q is that of %v (%v)", q.Job.Options.Key, id, err)
		}
	}
	clock.Advance(1000 * time.Hour)
	if _, err := s.Retain(t.Context(), store.Retention{}); err != nil {
		t.Fatal(err)
	}
	if all, _, _ := keyRows(t, config.URL, config.SchemaName); all != 25+len(taken)+2 {
		t.Errorf("%d keys are left in the end", all)
	}
}

// TestSettledKeys: what is settled before a day is dropped changes nothing, though the day is not
// dropped then: finished jobs can be retried and get their keys back.
func TestSettledKeys(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	clock := storetest.NewClock()
	config.Clock = clock.Now
	s := open(t, config)
	jobs := []*store.Enqueue{
		newJob(at(clock), named("gone", 0)), newJob(at(clock), named("kept", 100*time.Hour)),
		newJob(at(clock), named("for ever", store.KeepForever)),
	}
	enqueue(t, s, jobs...)
	var ids []store.ID
	for _, q := range jobs {
		ids = append(ids, q.Job.ID)
	}
	if _, _, err := s.Cancel(t.Context(), store.CancelParams{Jobs: ids}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(48 * time.Hour)
	conn := connect(t, config.URL)
	reading, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reading.Exec(t.Context(), "SELECT count(*) FROM "+config.SchemaName+".job"); err != nil {
		t.Fatal(err)
	}
	retention := store.Retention{Completed: time.Hour, Cancelled: 47 * time.Hour}
	if retained, err := s.Retain(t.Context(), retention); err != nil || retained.Jobs != 0 {
		t.Fatalf("Retain beside a reader: %+v, %v", retained, err)
	}
	if all, withJob, _ := keyRows(t, config.URL, config.SchemaName); all != 3 || withJob != 1 {
		t.Fatalf("%d keys were left, %d of them not settled", all, withJob)
	}
	for i, q := range jobs {
		if id, err := s.Find(t.Context(), q.Job.Key()); err != nil || id != ids[i] {
			t.Errorf("%s: the job is there, and its key is that of %v (%v)", q.Job.Options.Key, id, err)
		}
	}
	if err := reading.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	results, _, err := s.Retry(t.Context(), store.RetryParams{Jobs: ids})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if id, err := s.Find(t.Context(), jobs[i].Job.Key()); r.Err != nil || err != nil || id != ids[i] {
			t.Errorf("%s: retried %+v, the key is that of %v (%v)", jobs[i].Job.Options.Key, r, id, err)
		}
	}
	clock.Advance(2 * time.Hour)
	if retained, err := s.Retain(t.Context(), retention); err != nil || retained.Jobs != 0 {
		t.Fatalf("Retain of jobs that are available: %+v, %v", retained, err)
	}
	if all, withJob, _ := keyRows(t, config.URL, config.SchemaName); all != 3 || withJob != 3 {
		t.Errorf("%d keys, %d of jobs", all, withJob)
	}
}

// TestRetentionBesideAKeyThatIsBeingTaken: a transaction of a caller takes the key of a finished
// job whose time is over. That job stays until it has ended; nothing waits.
func TestRetentionBesideAKeyThatIsBeingTaken(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	clock := storetest.NewClock()
	config.Clock = clock.Now
	s := open(t, config)
	old, other := newJob(at(clock), named("taken", 0)), newJob(at(clock), named("other", 0))
	stays := newJob(at(clock), named("stays", 0)) // a day that has a job is not dropped
	enqueue(t, s, old, other, stays)
	if _, _, err := s.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{old.Job.ID, other.Job.ID}}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(2 * time.Hour)
	retention := store.Retention{Completed: 2000 * time.Hour, Cancelled: time.Hour}
	for _, commit := range []bool{false, true} {
		tx, err := connect(t, config.URL).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		q := newJob(at(clock), named("taken", 0))
		if err := s.EnqueueTx(t.Context(), postgres.Tx(tx), []*store.Enqueue{q}); err != nil || q.Err != nil || q.Result.Existing {
			t.Fatalf("EnqueueTx: %v, %v, %+v", err, q.Err, q.Result)
		}
		retained, err := s.Retain(t.Context(), retention)
		if want := map[bool]int{false: 1, true: 0}[commit]; err != nil || retained.Jobs != want {
			t.Fatalf("Retain beside it: %+v, %v, want %d", retained, err, want)
		}
		if _, err := s.Get(t.Context(), "", old.Job.ID); err != nil {
			t.Fatalf("the job whose key is being taken: %v", err)
		}
		if commit {
			err = tx.Commit(t.Context())
		} else {
			err = tx.Rollback(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		want := old.Job.ID
		if commit {
			want = q.Job.ID
		}
		if id, err := s.Find(t.Context(), old.Job.Key()); err != nil || id != want {
			t.Fatalf("committed %v: the key is that of %v (%v), want %v", commit, id, err, want)
		}
	}
	if retained, err := s.Retain(t.Context(), retention); err != nil || retained.Jobs != 1 {
		t.Fatalf("Retain: %+v, %v", retained, err)
	}
	if all, _, _ := keyRows(t, config.URL, config.SchemaName); all != 2 {
		t.Errorf("%d keys are left", all)
	}
}
