package holdfast_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// mortal is a process's view of a store: at one of its writes the process dies, before or after the
// write has happened, and none of its later writes reaches the store.
type mortal struct {
	store.Store

	mu     sync.Mutex
	left   int // writes until it dies; negative: it does not
	after  bool
	writes int
	died   chan struct{}
	dead   bool
}

var errDead = fmt.Errorf("%w: the process is dead", store.ErrClosed)

// write does a write, if the process lives long enough to do it and to learn the result.
func (m *mortal) write(do func() error) error {
	m.mu.Lock()
	if m.dead {
		m.mu.Unlock()
		return errDead
	}
	m.writes++
	dies := m.left >= 0 && m.writes > m.left
	if dies {
		m.dead = true
		close(m.died)
	}
	m.mu.Unlock()
	if !dies {
		return do()
	}
	if m.after {
		_ = do() // the result is lost
	}
	return errDead
}

func (m *mortal) Apply(ctx context.Context, b *store.Batch) error {
	return m.write(func() error { return m.Store.Apply(ctx, b) })
}

func (m *mortal) Claim(ctx context.Context, p store.ClaimParams) (jobs []store.Claimed, err error) {
	err = m.write(func() error { jobs, err = m.Store.Claim(ctx, p); return err })
	if err != nil {
		return nil, err
	}
	return jobs, nil
}

func (m *mortal) Promote(ctx context.Context, limit int) (p store.Promoted, err error) {
	err = m.write(func() error { p, err = m.Store.Promote(ctx, limit); return err })
	return p, err
}

func (m *mortal) Beat(ctx context.Context, p store.BeatParams) (b store.Beat, err error) {
	err = m.quietly(func() error { b, err = m.Store.Beat(ctx, p); return err })
	return b, err
}

func (m *mortal) Leave(ctx context.Context, node int64) (wakes []store.Wake, err error) {
	err = m.quietly(func() error { wakes, err = m.Store.Leave(ctx, node); return err })
	return wakes, err
}

func (m *mortal) Rescue(ctx context.Context, p store.RescueParams) (r store.Rescued, err error) {
	err = m.quietly(func() error { r, err = m.Store.Rescue(ctx, p); return err })
	return r, err
}

// quietly does a write that is not counted, because its number depends on timing.
func (m *mortal) quietly(do func() error) error {
	m.mu.Lock()
	dead := m.dead
	m.mu.Unlock()
	if dead {
		return errDead
	}
	return do()
}

// op is one operation of a random flow.
type op struct {
	Kind string
	N    int
	Sub  [][]op
}

func (o op) String() string {
	if len(o.Sub) == 0 {
		return fmt.Sprint(o.Kind, o.N)
	}
	return fmt.Sprint(o.Kind, o.Sub)
}

// genOps generates a flow.
func genOps(depth int) *rapid.Generator[[]op] {
	kinds := []string{
		"step", "step", "failing", "flaky", "sleep", "signal", "never", "child", "broken child", "fan", "timer", "publish", "try",
		"panic", "patch", "until", "tended child",
	}
	if depth > 0 {
		kinds = append(kinds, "go", "select")
	}
	one := rapid.Custom(func(t *rapid.T) op {
		o := op{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), N: rapid.IntRange(1, 5).Draw(t, "n")}
		if o.Kind == "go" || o.Kind == "select" {
			o.Sub = rapid.SliceOfN(genOps(depth-1), 1, 3).Draw(t, "strands")
		}
		return o
	})
	return rapid.SliceOfN(one, 0, 5)
}

// world has the effects of a flow outside.
type world struct {
	mu   sync.Mutex
	done map[string]int // how often each step's function returned
}

func (w *world) step(path string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[path]++
	return w.done[path]
}

// times is how often a step's function has returned.
func (w *world) times(path string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done[path]
}

var (
	flowSignal  = holdfast.NewSignal[int]("flow")
	neverSent   = holdfast.NewSignal[int]("never")
	flowChild   = holdfast.NewKind[int, int]("child")
	tendedChild = holdfast.NewKind[int, int]("tended child")
	flowMain    = holdfast.NewKind[[]op, string]("main")
)

// play runs a flow and returns what it has seen, which must not depend on crashes.
func (w *world) play(run *holdfast.Run, ops []op, at string) (string, error) {
	var seen []string
	for i, o := range ops {
		path := fmt.Sprint(at, ".", i)
		what, err := w.do(run, o, path)
		if err != nil {
			return "", err
		}
		seen = append(seen, o.Kind+"="+what)
	}
	return strings.Join(seen, " "), nil
}

func (w *world) do(run *holdfast.Run, o op, path string) (string, error) {
	step := func(context.Context) (string, error) { w.step(path); return path, nil }
	switch o.Kind {
	case "step":
		return holdfast.Step(run, path, step)
	case "failing":
		_, err := holdfast.Step(run, path, func(context.Context) (int, error) { w.step(path); return 0, errors.New("it always fails") })
		var failure *holdfast.StepError
		if !errors.As(err, &failure) {
			return "", err
		}
		return failure.Message, nil
	case "flaky":
		return holdfast.Step(run, path, func(context.Context) (string, error) {
			if w.step(path) <= o.N {
				return "", errors.New("not yet")
			}
			return "in the end", nil
		}, holdfast.MaxAttempts(100), holdfast.Backoff(time.Second, time.Second))
	case "panic":
		if w.step(path) == 1 {
			panic("the first time")
		}
		return "", nil
	case "sleep":
		return "", run.Sleep(time.Duration(o.N) * time.Second)
	case "signal":
		n, err := flowSignal.Wait(run)
		if strings.Contains(at(path), "s") {
			return "", err // strands receive them in any order
		}
		return strconv.Itoa(n), err
	case "never":
		_, err := neverSent.Wait(run, holdfast.WaitAtMost(time.Duration(o.N)*time.Second))
		if !errors.Is(err, holdfast.ErrWaitTimeout) {
			return "", fmt.Errorf("a signal that was never sent: %w", err)
		}
		return "", nil
	case "try":
		_, ok, err := neverSent.TryReceive(run)
		return strconv.FormatBool(ok), err
	case "child":
		n, err := flowChild.Call(run, o.N)
		return strconv.Itoa(n), err
	case "broken child":
		_, err := flowChild.Call(run, -o.N)
		var failed *holdfast.JobError
		if !errors.As(err, &failed) {
			return "", err
		}
		return failed.Message, nil
	case "fan":
		results, err := flowChild.CallAll(run, []int{1, 2, 3, 4, 5}, holdfast.FanOut{AtOnce: o.N})
		sum := 0
		for _, r := range results {
			if r.Err != nil {
				return "", r.Err
			}
			sum += r.Value
		}
		return strconv.Itoa(sum), err
	case "timer":
		timer, err := run.Timer(time.Duration(o.N) * time.Second)
		if err != nil {
			return "", err
		}
		var n int
		i, err := holdfast.Select(run, neverSent.Into(&n), timer)
		return strconv.Itoa(i), err
	case "undo":
		what, err := holdfast.Step(run, path, step)
		if err != nil {
			return "", err
		}
		return what, run.OnFailure("undo "+path, func(run *holdfast.Run) error {
			if err := run.Sleep(time.Second); err != nil {
				return err
			}
			_, err := holdfast.Step(run, "undo "+path, func(context.Context) (int, error) {
				if w.step("undo "+path)%2 == 1 {
					return 0, errors.New("not at the first try")
				}
				return 0, nil
			})
			return err
		})
	case "publish":
		return "", run.Publish(path, o.N)
	case "tended child":
		_, err := tendedChild.Start(run, o.N, holdfast.OnParentClose(store.CancelAndWait))
		return "", err
	case "until":
		return "", w.until(run, o.N)
	case "patch":
		in, err := run.Patched(path)
		return strconv.FormatBool(in), err
	}
	return w.strands(run, o, path)
}

// until waits until another strand has counted far enough.
func (w *world) until(run *holdfast.Run, least int) error {
	counted := 0
	counter, err := holdfast.Go(run, "counter", func(run *holdfast.Run) (int, error) {
		for range least + 1 {
			if err := run.Sleep(time.Second); err != nil {
				return 0, err
			}
			counted++
		}
		return 0, nil
	})
	if err != nil {
		return err
	}
	if err := run.WaitUntil("counted", func() bool { return counted >= least }); err != nil {
		return err
	}
	_, err = counter.Wait(run)
	return err
}

func at(path string) string { return path }

func (w *world) strands(run *holdfast.Run, o op, path string) (string, error) {
	var futures []*holdfast.Future[string]
	var all []holdfast.Waitable
	for i, sub := range o.Sub {
		f, err := holdfast.Go(run, path, func(run *holdfast.Run) (string, error) { return w.play(run, sub, fmt.Sprint(path, "s", i)) })
		if err != nil {
			return "", err
		}
		futures, all = append(futures, f), append(all, f)
	}
	if o.Kind == "select" {
		if _, err := holdfast.Select(run, all...); err != nil {
			return "", err
		}
	}
	var seen []string
	for _, f := range futures {
		s, err := f.Wait(run)
		if err != nil {
			return "", err
		}
		seen = append(seen, "("+s+")")
	}
	return strings.Join(seen, ""), nil
}

// strew inserts compensations between the operations of a flow.
func strew(ops []op) []op {
	var all []op
	for _, o := range ops {
		for i := range o.Sub {
			o.Sub[i] = strew(o.Sub[i])
		}
		all = append(all, op{Kind: "undo"}, o)
	}
	return append(all, op{Kind: "undo"})
}

// outcome is the result of a flow.
type outcome struct {
	result string
	writes int
	done   map[string]int
}

// TestCancelledFlowsCompensate cancels random flows at random times, with random deaths: what was
// done is compensated, once, in reverse order, and the flow ends as cancelled; unless it had
// completed before.
func TestCancelledFlowsCompensate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		ops := strew(genOps(2).Draw(rt, "flow"))
		after := time.Duration(rapid.IntRange(0, 20_000).Draw(rt, "cancelled after, ms")) * time.Millisecond
		deaths := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) death {
			return death{rapid.IntRange(0, 30).Draw(t, "write"), rapid.Bool().Draw(t, "after")}
		}), 0, 3).Draw(rt, "deaths")
		synctest.Test(t, func(t *testing.T) {
			st := model.New(time.Now)
			w := &world{done: map[string]int{}}
			id := holdfast.NewID()
			var canceller sync.WaitGroup
			canceller.Go(func() {
				time.Sleep(after)
				for {
					results, _, err := st.Cancel(context.Background(), store.CancelParams{Jobs: []store.ID{id}, Reason: "enough"})
					if err == nil && results[0].Err == nil {
						return
					}
					time.Sleep(time.Second) // it does not exist yet
				}
			})
			for n := 0; n <= len(deaths); n++ {
				m := &mortal{Store: st, left: -1, died: make(chan struct{})}
				if n < len(deaths) {
					m.left, m.after = deaths[n].write, deaths[n].after
				}
				if w.live(t, m, ops, &id) {
					break
				}
			}
			canceller.Wait()
			checkUndone(t, st, id)
		})
	})
}

// checkUndone checks that each step of a cancelled flow is compensated.
func checkUndone(t *testing.T, st store.Store, id holdfast.ID) {
	t.Helper()
	record, err := st.Get(t.Context(), "", id)
	if err != nil || record.State != store.Completed && record.State != store.Cancelled {
		t.Fatalf("%v, %v (%s: %s) %+v", err, record.State, record.Reason, record.Error, record.Wait)
	}
	checkTended(t, st, &record)
	journals, err := st.Journals(t.Context(), "", []store.ID{id})
	if err != nil {
		t.Fatal(err)
	}
	undone := map[string]bool{}
	for _, e := range journals[0].Entries {
		if name, undo := strings.CutPrefix(e.Name, "undo "); undo && e.Kind == store.EntryStep {
			if undone[name] {
				t.Errorf("%s is undone twice", name)
			}
			undone[name] = true
		}
	}
	if record.State == store.Completed {
		if len(undone) > 0 {
			t.Errorf("it has completed, and %v is undone", undone)
		}
		return
	}
	for _, e := range journals[0].Entries {
		if e.Kind == store.EntryStep && e.Name != "" && !strings.HasPrefix(e.Path, "~") && strings.HasPrefix(e.Name, ".") && !undone[e.Name] {
			if isUndo(record.Args, e.Name) {
				t.Errorf("%s is not undone", e.Name)
			}
		}
	}
}

// checkTended checks that the children that a cancelled flow waits for have ended before it.
func checkTended(t *testing.T, st store.Store, parent *store.Record) {
	t.Helper()
	children, err := st.List(t.Context(), store.ListParams{Filter: store.Filter{Parent: parent.ID}, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range children.Jobs {
		child := &children.Jobs[i]
		late := !child.State.Finished() || child.FinishedAt.After(parent.FinishedAt)
		if child.OnParentClose == store.CancelAndWait && late && parent.State == store.Cancelled {
			t.Errorf("child %s is %v since %v, and its parent ended at %v", child.ID, child.State, child.FinishedAt, parent.FinishedAt)
		}
	}
}

// isUndo reports whether the operation at a path of a flow has a compensation.
func isUndo(args []byte, path string) bool {
	var ops []op
	if err := json.Unmarshal(args, &ops); err != nil { //nolint:musttag // only for the test
		return false
	}
	var at op
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' }) {
		index, strand, nested := strings.Cut(part, "s")
		i, err := strconv.Atoi(index)
		if err != nil || i >= len(ops) {
			return false
		}
		if at = ops[i]; nested {
			n, err := strconv.Atoi(strand)
			if err != nil || n >= len(at.Sub) {
				return false
			}
			ops = at.Sub[n]
		}
	}
	return at.Kind == "undo"
}

// perform runs a flow in processes that die at the given writes, one after the other; the last one
// survives.
func perform(t *testing.T, ops []op, deaths []death) (out outcome) {
	t.Helper()
	st := model.New(time.Now)
	w := &world{done: map[string]int{}}
	var id holdfast.ID
	for n := 0; n <= len(deaths); n++ {
		m := &mortal{Store: st, left: -1, died: make(chan struct{})}
		if n < len(deaths) {
			m.left, m.after = deaths[n].write, deaths[n].after
		}
		ended := w.live(t, m, ops, &id)
		out.writes = m.writes
		if ended {
			break
		}
	}
	ended, err := st.Ended(t.Context(), "", []store.ID{id})
	if err != nil || len(ended) != 1 || ended[0].State != store.Completed {
		record, _ := st.Get(t.Context(), "", id)
		t.Fatalf("the flow %v with deaths at %v: %v, %v (%s: %s) %+v", ops, deaths, err, record.State, record.Reason, record.Error, record.Wait)
	}
	out.result, out.done = string(ended[0].Result), w.done
	journals, err := st.Journals(t.Context(), "", []store.ID{id})
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]int{}
	for i, e := range journals[0].Entries {
		if e.Seq != int64(i+1) {
			t.Errorf("entry %d has number %d", i+1, e.Seq)
		}
		if e.Kind == store.EntryStep {
			if steps[e.Name]++; steps[e.Name] > 1 {
				t.Errorf("step %s is in the journal twice", e.Name)
			}
			if w.done[e.Name] == 0 {
				t.Errorf("step %s is in the journal and has not run", e.Name)
			}
		}
	}
	return out
}

// death is the moment at which a process dies.
type death struct {
	write int
	after bool
}

// live runs one process until its end. It reports whether the flow has ended in it.
func (w *world) live(t *testing.T, m *mortal, ops []op, id *holdfast.ID) bool {
	t.Helper()
	if *id == (holdfast.ID{}) {
		*id = holdfast.NewID()
	}
	return inProcess(t, m, *id, func(ctx context.Context, hf *holdfast.Client) {
		w.handle(t, hf)
		// Like a client that retries, because it does not know the result.
		if _, err := flowMain.Enqueue(ctx, hf, ops, holdfast.JobID(*id), holdfast.MaxAttempts(1000)); err == nil {
			for n := range 20 {
				_, _ = flowSignal.Send(ctx, hf, *id, n, holdfast.DedupKey(strconv.Itoa(n))) // a dead process fails below
			}
		}
	})
}

// handle registers the handlers of flows.
func (w *world) handle(t *testing.T, hf *holdfast.Client) {
	t.Helper()
	err := flowChild.Handle(hf, func(run *holdfast.Run, n int) (int, error) {
		if n < 0 {
			return 0, holdfast.Fail(errors.New("negative"))
		}
		twice, err := holdfast.Step(run, "twice", func(context.Context) (int, error) { return 2 * n, nil })
		if err != nil || n%2 == 0 {
			return twice, err
		}
		return twice, run.Sleep(time.Duration(n) * time.Second)
	})
	if err == nil {
		err = tendedChild.Handle(hf, func(run *holdfast.Run, n int) (int, error) {
			late := 20 * time.Duration(n) * time.Second
			if err := run.OnFailure("wait", func(run *holdfast.Run) error { return run.Sleep(late) }); err != nil {
				return 0, err
			}
			return 0, run.Sleep(time.Hour)
		})
	}
	if err == nil {
		err = flowMain.Handle(hf, func(run *holdfast.Run, ops []op) (string, error) { return w.play(run, ops, "") })
	}
	if err != nil {
		t.Fatal(err)
	}
}

// inProcess runs one process until it dies, or a job has ended, and reports whether that has
// completed. begin has it do something before it runs jobs.
func inProcess(
	t *testing.T, m *mortal, id holdfast.ID, begin func(ctx context.Context, hf *holdfast.Client), opts ...holdfast.Option,
) bool {
	t.Helper()
	ctx, kill := context.WithCancel(context.Background())
	defer kill()
	opts = append(opts, holdfast.WithStopTimeout(time.Nanosecond), holdfast.WithStuckAfter(time.Second))
	hf, err := holdfast.Open(ctx, memorySource{m}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	begin(ctx, hf)
	var node sync.WaitGroup
	node.Go(func() { _ = hf.Run(ctx) })
	ended := make(chan bool, 1)
	go func() { ended <- hf.Wait(ctx, id) == nil }()
	lived := false
	select {
	case <-m.died:
	case lived = <-ended:
	case <-time.After(10 * time.Hour):
	}
	dying, now := context.WithCancel(context.Background())
	now()
	kill()
	_ = hf.Stop(dying)
	node.Wait()
	_ = hf.Close(dying)
	return lived
}

// TestFlowsSurviveCrashes runs random flows with random deaths, and compares them with the same
// flow without.
func TestFlowsSurviveCrashes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		ops := genOps(2).Draw(rt, "flow")
		deaths := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) death {
			return death{rapid.IntRange(0, 30).Draw(t, "write"), rapid.Bool().Draw(t, "after")}
		}), 1, 4).Draw(rt, "deaths")
		var calm, stormy outcome
		synctest.Test(t, func(t *testing.T) { calm = perform(t, ops, nil) })
		synctest.Test(t, func(t *testing.T) { stormy = perform(t, ops, deaths) })
		if calm.result != stormy.result {
			rt.Fatalf("without crashes: %s\nwith them:       %s", calm.result, stormy.result)
		}
	})
}

// TestCrashSweep kills the process at every write of one flow in turn, before it and after it.
func TestCrashSweep(t *testing.T) {
	t.Parallel()
	ops := []op{
		{Kind: "step"},
		{Kind: "signal"},
		{Kind: "sleep", N: 3},
		{Kind: "child", N: 3},
		{Kind: "failing"},
		{Kind: "publish", N: 1},
		{Kind: "go", Sub: [][]op{{{Kind: "step"}, {Kind: "sleep", N: 2}}, {{Kind: "flaky", N: 2}, {Kind: "signal"}}}},
		{Kind: "fan", N: 2},
		{Kind: "timer", N: 2},
		{Kind: "broken child", N: 2},
		{Kind: "never", N: 1},
		{Kind: "panic"},
		{Kind: "until", N: 2},
		{Kind: "step"},
	}
	var calm outcome
	synctest.Test(t, func(t *testing.T) { calm = perform(t, ops, nil) })
	for write := range calm.writes {
		for _, after := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				if got := perform(t, ops, []death{{write, after}}); got.result != calm.result {
					t.Errorf("death at write %d, after it %v:\n%s\ninstead of\n%s", write, after, got.result, calm.result)
				}
			})
		}
	}
	t.Logf("%d deaths", 2*calm.writes)
}
