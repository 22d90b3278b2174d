package postgres_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// family starts a parent and so many children of it.
func family(t *testing.T, s store.Store, children int) (parent store.Claimed, runs []store.Claimed) {
	t.Helper()
	node := join(t, s)
	parent = start(t, s, node, 1)
	enqueue(t, s, several(children, childOf(parent.Job.ID))...)
	runs, err := s.Claim(t.Context(), demand(node, 2, children))
	if err != nil || len(runs) != children {
		t.Fatalf("claimed %d of %d children, %v", len(runs), children, err)
	}
	return parent, runs
}

// answered is the outcome of a child that completes.
func answered(run store.Claimed) *store.Outcome {
	o := completed(run)
	o.Answers, o.Parent = true, run.Job.Parent
	return o
}

// TestAnswersOfOneBatch: the statement that writes them looks for the last number of the parent,
// and does not come past all that it has just written, once for each.
func TestAnswersOfOneBatch(t *testing.T) {
	t.Parallel()
	const many = 200
	s := open(t, used(t, nil))
	_, runs := family(t, s, many)
	batch, children := &store.Batch{}, []store.ID{}
	for _, run := range runs {
		batch.Outcomes = append(batch.Outcomes, answered(run))
		children = append(children, run.Job.ID)
	}
	if err := store.ApplyEach(t.Context(), s, batch); err != nil {
		t.Fatal(err)
	}
	lines, err := postgres.AnswerPlan(t.Context(), s, children)
	if err != nil {
		t.Fatal(err)
	}
	// One message is the last before them, and may be looked for once for each.
	if n := fetched(t, lines, "inbox"); n < 1 || n > many {
		t.Errorf("%d looks at messages, to write %d:\n%s", n, many, strings.Join(lines, "\n"))
	}
}

var (
	scanned = regexp.MustCompile(`Index Only Scan .* on (\S+)_(\d{8}|default) `)
	visited = regexp.MustCompile(`Heap Fetches: (\d+)`)
)

// fetched is how many rows of a table the index-only scans of a plan have visited.
func fetched(t *testing.T, lines []string, table string) (rows int) {
	t.Helper()
	ours := false
	for _, line := range lines {
		if m := scanned.FindStringSubmatch(line); m != nil {
			ours = m[1] == table
		}
		if m := visited.FindStringSubmatch(line); m != nil && ours {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			rows += n
		}
	}
	return rows
}

// TestAnswersNeedTheParent: a child that answers is kept from ending by who holds its parent, and
// not by who sends to the child itself.
func TestAnswersNeedTheParent(t *testing.T) {
	t.Parallel()
	for name, begin := range callers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := used(t, nil)
			s := open(t, config)
			parent, runs := family(t, s, 2)
			hold := func(id store.ID) (commit func() error) {
				tx, commit, _ := begin(t, config.URL)
				q := signal(id, "go")
				if err := s.SendTx(t.Context(), tx, []*store.Send{q}); err != nil || q.Err != nil {
					t.Fatalf("SendTx: %v, %v", err, q.Err)
				}
				return commit
			}
			end := func(run store.Claimed) error {
				o := answered(run)
				if err := store.ApplyEach(t.Context(), s, &store.Batch{Outcomes: []*store.Outcome{o}}); err != nil {
					t.Fatal(err)
				}
				return o.Err
			}
			commit := hold(runs[0].Job.ID)
			if err := end(runs[0]); err != nil {
				t.Fatalf("the end of a child that somebody sends to: %v", err)
			}
			if err := commit(); err != nil {
				t.Fatal(err)
			}
			commit = hold(parent.Job.ID)
			wantErr(t, "the end of a child whose parent is held", end(runs[1]), store.ErrBusy)
			if err := commit(); err != nil {
				t.Fatal(err)
			}
			if err := end(runs[1]); err != nil {
				t.Fatal(err)
			}
			wantAnswers(t, s, parent.Job.ID, runs[0].Job.ID, runs[1].Job.ID)
		})
	}
}

// TestAnswersOfAllKinds: children of one batch answer in its order, whichever statement ended them.
func TestAnswersOfAllKinds(t *testing.T) {
	t.Parallel()
	s := open(t, used(t, nil))
	parent, runs := family(t, s, 12)
	batch := &store.Batch{}
	var children []store.ID
	for i, run := range runs {
		o := answered(run)
		switch i % 4 {
		case 0:
			o.State, o.Reason = store.Failed, store.ReasonTerminal
		case 1:
			o.Durable = true
		case 2:
			o.Parent = store.ID{} // the store has to look
		}
		batch.Outcomes = append(batch.Outcomes, o)
		children = append(children, run.Job.ID)
	}
	if err := store.ApplyEach(t.Context(), s, batch); err != nil {
		t.Fatal(err)
	}
	for i, o := range batch.Outcomes {
		if o.Err != nil || o.Final != o.State {
			t.Fatalf("child %d became %v, %v", i, o.Final, o.Err)
		}
	}
	wantAnswers(t, s, parent.Job.ID, children...)
}

// wantAnswers compares whose answers a job has got besides signals.
func wantAnswers(t *testing.T, s store.Store, id store.ID, children ...store.ID) {
	t.Helper()
	journals, err := s.Journals(t.Context(), "", []store.ID{id})
	if err != nil || len(journals) != 1 {
		t.Fatalf("journals: %+v, %v", journals, err)
	}
	var from []store.ID
	for i, m := range journals[0].Messages {
		if m.Seq != int64(i+1) {
			t.Fatalf("message %d has the number %d", i+1, m.Seq)
		}
		if m.Kind == store.MessageChild {
			from = append(from, m.From)
		}
	}
	if !slices.Equal(from, children) {
		t.Fatalf("answers of %v, want %v", from, children)
	}
}
