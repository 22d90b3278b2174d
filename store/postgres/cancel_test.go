package postgres_test

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestARequestIsRecordedWhereverTheJobWas: a job that moves whenever it is looked at, as one
// without a pointer seems to, is asked to end, or to pause, which is recorded like every other
// request; that the sweep applies it later is not.
func TestARequestIsRecordedWhereverTheJobWas(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s := open(t, config)
	conn := connect(t, config.URL)
	ready := config.SchemaName + ".ready"
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec("CREATE TABLE " + ready + "_moved (LIKE " + ready + ")")
	move := func(id store.ID, from, to string) {
		t.Helper()
		exec("WITH gone AS (DELETE FROM "+from+" WHERE id = $1 RETURNING lane, run_at, id) "+
			"INSERT INTO "+to+" (lane, run_at, id) SELECT lane, run_at, id FROM gone", id)
	}
	for kind, request := range map[store.ActionKind]func(store.ID) error{
		store.ActionCancel: func(id store.ID) error {
			_, _, err := s.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{id}, Reason: "why", Actor: "ada"})
			return err
		},
		store.ActionTerminate: func(id store.ID) error {
			_, _, err := s.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{id}, Reason: "why", Actor: "ada", Terminate: true})
			return err
		},
		store.ActionPause: func(id store.ID) error {
			_, _, err := s.PauseJobs(t.Context(), store.PauseJobsParams{Jobs: []store.ID{id}, Reason: "why", Actor: "ada"})
			return err
		},
	} {
		q := newJob()
		enqueue(t, s, q)
		move(q.Job.ID, ready, ready+"_moved")
		for range 2 {
			if err := request(q.Job.ID); err != nil {
				t.Fatal(err)
			}
		}
		move(q.Job.ID, ready+"_moved", ready)
		if _, err := s.SweepCancels(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := store.Cancelled
		if kind == store.ActionPause {
			want = store.Waiting
		}
		wantState(t, s, q.Job.ID, want)
		record, err := s.Get(t.Context(), "", q.Job.ID)
		if err != nil || len(record.Actions) != 1 {
			t.Fatalf("%s: %+v, %v", kind, record.Actions, err)
		}
		if a := record.Actions[0]; a.Kind != kind || a.Actor != "ada" || a.Reason != "why" || a.At.IsZero() {
			t.Fatalf("%s: %+v", kind, a)
		}
	}
}

// TestCancelOfAHeldJob: the answer is the state of the job, and the sweep cancels it once the
// transaction that holds it has ended.
func TestCancelOfAHeldJob(t *testing.T) {
	t.Parallel()
	for want, job := range map[store.State]*store.Enqueue{
		store.Available: newJob(),
		store.Scheduled: newJob(func(q *store.Enqueue) { q.Delay = time.Hour }),
		store.Waiting:   newJob(),
	} {
		t.Run(want.String(), func(t *testing.T) {
			t.Parallel()
			config := used(t, nil)
			s := open(t, config)
			enqueue(t, s, job)
			id := job.Job.ID
			if want == store.Waiting {
				if _, _, err := s.PauseJobs(t.Context(), store.PauseJobsParams{Jobs: []store.ID{id}}); err != nil {
					t.Fatal(err)
				}
			}
			tx, commit, _ := callers["pgx"](t, config.URL)
			if err := s.SendTx(t.Context(), tx, []*store.Send{signal(id, "go")}); err != nil {
				t.Fatal(err)
			}
			cancel := store.CancelParams{Jobs: []store.ID{id}, Reason: "why", Actor: "ada"}
			results, _, err := s.Cancel(t.Context(), cancel)
			if err != nil || results[0].Err != nil || results[0].State != want {
				t.Fatalf("cancelled: %+v, %v", results, err)
			}
			if err := commit(); err != nil {
				t.Fatal(err)
			}
			if swept, err := s.SweepCancels(t.Context()); err != nil || swept.Jobs != 1 {
				t.Fatalf("swept: %+v, %v", swept, err)
			}
			wantState(t, s, id, store.Cancelled)
		})
	}
}
