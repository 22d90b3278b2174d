package sqlite_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestAnswersWithoutParent: a job answers its parent also if the outcome does not say which that
// is.
func TestAnswersWithoutParent(t *testing.T) {
	s := open(t, sqlite.File(file(t)))
	node := join(t, s)
	parent := newJob()
	parent.Job.Kind = "order"
	child := newJob()
	child.Job.Parent, child.Job.Answers = parent.Job.ID, true
	err := store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{parent, child}})
	if err != nil || parent.Err != nil || child.Err != nil {
		t.Fatal(err, parent.Err, child.Err)
	}
	claimed, err := claim(t.Context(), s, node, 1, 1)
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	o := &store.Outcome{Lease: claimed[0].Lease, State: store.Completed, Answers: true, Result: []byte(`1`)}
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Outcomes: []*store.Outcome{o}}); err != nil || o.Err != nil {
		t.Fatal(err, o.Err)
	}
	journals, err := s.Journals(t.Context(), "", []store.ID{parent.Job.ID})
	if err != nil || len(journals[0].Messages) != 1 {
		t.Fatalf("%+v, %v", journals, err)
	}
	if m := journals[0].Messages[0]; m.Kind != store.MessageChild || m.From != child.Job.ID || string(m.Data) != `1` {
		t.Errorf("%+v", m)
	}
}
