package jobs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// moving is a store whose jobs move after each page.
type moving struct {
	store.Store

	move func(page int)
	read int // pages
}

func (m *moving) List(ctx context.Context, params store.ListParams) (store.Page, error) {
	page, err := m.Store.List(ctx, params)
	m.read++
	m.move(m.read)
	return page, err
}

// bulkApp are the verbs with no terminal, and what they print.
func bulkApp(format string) (a verbs, stdout, stderr *bytes.Buffer) {
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	a = verbs{app.New(app.Env{
		Stdout: stdout, Stderr: stderr, Stdin: strings.NewReader(""), Now: time.Now, Terminal: func(any) bool { return false },
		OutlivePipes: func() {},
	})}
	a.Asked, a.Database, a.Namespace = format, "x.db", app.DefaultNamespace
	return a, stdout, stderr
}

// TestBulkWhileJobsMove: each job that was there is changed once, 500 at a time, although between
// two pages jobs come, end, and are changed by others. What comes later is left alone.
func TestBulkWhileJobsMove(t *testing.T) {
	t.Parallel()
	const jobs = 1703
	kind := holdfast.NewKind[int, int]("k")
	m := &moving{Store: model.New(time.Now)}
	client, err := holdfast.Open(t.Context(), given{Store: m}, holdfast.WithLogger(app.Silent()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close(context.WithoutCancel(t.Context())) }()
	old, err := kind.EnqueueMany(t.Context(), client, make([]int, jobs))
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(old, func(x, y *holdfast.Job[int]) int { return bytes.Compare(x.ID[:], y.ID[:]) })
	var later []*holdfast.Job[int]
	gone := map[holdfast.ID]bool{} // cancelled by others before the bulk came to them
	m.move = func(page int) {
		fresh, err := kind.EnqueueMany(t.Context(), client, make([]int, 40))
		if err != nil {
			t.Error(err)
		}
		later = append(later, fresh...)
		for _, job := range old[10*page : 10*page+10] { // the oldest, to which it comes last
			if _, _, err := m.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{job.ID}}); err != nil {
				t.Error(err)
			}
			gone[job.ID] = true
		}
	}
	calls, sizes := map[holdfast.ID]int{}, []int{}
	b := &bulk{change: func(ctx context.Context, client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
		sizes = append(sizes, len(ids))
		for _, id := range ids {
			calls[id]++
		}
		results, err := client.Cancel(ctx, "", ids...)
		changes := make([]changed, len(results))
		for i, r := range results {
			changes[i] = changed{state: r.State, err: r.Err, words: "is " + r.State.String()}
		}
		return changes, err
	}}
	a, _, stderr := bulkApp(output.FormatTable)
	r := &bulkRun{app: a, out: a.NewList(), counts: map[string]int{}}
	if err := r.run(t.Context(), client, store.Filter{States: arg.Unfinished}, b); err != nil {
		t.Fatal(err)
	}
	for _, job := range old {
		if n := calls[job.ID]; n > 1 || n == 0 && !gone[job.ID] {
			t.Errorf("a job that was there was changed %d times", n)
		}
		if record, err := job.Get(t.Context()); err != nil || record.State != store.Cancelled {
			t.Fatalf("a job that was there is %s, %v", record.State, err)
		}
	}
	for _, job := range later {
		if calls[job.ID] > 0 {
			t.Error("a job that came later was changed")
		}
	}
	if slices.Max(sizes) != bulkSize || len(sizes) != 4 {
		t.Errorf("the pages are %v", sizes)
	}
	if got := stderr.String(); !strings.HasSuffix(got, " jobs are cancelled.\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("it tells %q", got)
	}
}

// TestABulkThatBreaksOff: it says what it has done, and its JSON is not taken for the whole.
func TestABulkThatBreaksOff(t *testing.T) {
	t.Parallel()
	s := faults.Wrap(model.New(time.Now), nil)
	client, err := holdfast.Open(t.Context(), given{Store: s}, holdfast.WithLogger(app.Silent()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close(context.WithoutCancel(t.Context())) }()
	if _, err := holdfast.NewKind[int, int]("k").EnqueueMany(t.Context(), client, make([]int, bulkSize+7)); err != nil {
		t.Fatal(err)
	}
	s.Plan(faults.Script(map[string][]faults.Fault{"List": {{}, {Kind: faults.FailBefore}}}))
	b := &bulk{change: func(ctx context.Context, client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
		results, err := client.Cancel(ctx, "", ids...)
		changes := make([]changed, len(results))
		for i, r := range results {
			changes[i] = changed{state: r.State, words: "is " + r.State.String()}
		}
		return changes, err
	}}
	a, stdout, stderr := bulkApp(output.FormatJSON)
	r := &bulkRun{app: a, out: a.NewList(), counts: map[string]int{}}
	err = r.run(t.Context(), client, store.Filter{States: arg.Unfinished}, b)
	if !errors.Is(err, holdfast.ErrUnavailable) || stderr.String() != "500 jobs are cancelled.\n" {
		t.Errorf("%v, it tells %q", err, stderr)
	}
	if _ = a.Flush(); strings.Count(stdout.String(), "cancelled") != bulkSize || strings.HasSuffix(strings.TrimSpace(stdout.String()), "]") {
		t.Errorf("it wrote %d bytes that end in %q", stdout.Len(), stdout.String()[max(0, stdout.Len()-20):])
	}
}

// shut is a pipe whose reader has gone.
type shut struct{}

func (shut) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestABulkWhoseReaderGoes: it stops after the page of which it could not tell, and says so.
func TestABulkWhoseReaderGoes(t *testing.T) {
	t.Parallel()
	client, err := holdfast.Open(t.Context(), given{Store: model.New(time.Now)}, holdfast.WithLogger(app.Silent()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close(context.WithoutCancel(t.Context())) }()
	if _, err := holdfast.NewKind[int, int]("k").EnqueueMany(t.Context(), client, make([]int, 3*bulkSize)); err != nil {
		t.Fatal(err)
	}
	pages := 0
	b := &bulk{change: func(_ context.Context, _ *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
		pages++
		changes := make([]changed, len(ids))
		for i := range changes {
			changes[i] = changed{state: store.Cancelled, words: "is cancelled"}
		}
		return changes, nil
	}}
	var stderr bytes.Buffer
	a := verbs{app.New(app.Env{Stdout: shut{}, Stderr: &stderr, Now: time.Now, Terminal: func(any) bool { return false }})}
	a.Asked = output.FormatLines
	r := &bulkRun{app: a, out: a.NewList(), counts: map[string]int{}}
	err = r.run(t.Context(), client, store.Filter{States: arg.Unfinished}, b)
	if !errors.Is(err, io.ErrClosedPipe) || pages != 1 || stderr.String() != "500 jobs are cancelled.\n" {
		t.Errorf("%d pages, %v, it tells %q", pages, err, &stderr)
	}
}
