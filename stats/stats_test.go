package stats_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/facts"
	"github.com/holdfastdev/holdfast/stats"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a client of a database whose clock can be set.
type world struct {
	*holdfast.Client

	t     *testing.T
	clock atomic.Int64
	store store.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t}
	w.clock.Store(time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC).UnixNano())
	source := sqlite.Config{Path: filepath.Join(t.TempDir(), "jobs.db"), Clock: w.now}
	hf, err := holdfast.Open(t.Context(), source, holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hf.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	e, _ := access.Engine(hf)
	w.Client, w.store = hf, e.Store
	return w
}

func (w *world) now() time.Time { return time.Unix(0, w.clock.Load()).UTC() }

func (w *world) advance(d time.Duration) { w.clock.Add(int64(d)) }

// node counts as a node of the client's namespace.
func (w *world) node(id int64) *facts.Keeper {
	k := facts.New(facts.Parts{Store: w.store, Namespace: w.Namespace(), Name: "node " + string(rune('a'+id))})
	k.Joined(id)
	return k
}

// run counts a run that waited for a second and took two, with its end.
func (w *world) run(k *facts.Keeper, queue, kind string, end store.State) {
	w.t.Helper()
	job := &store.Job{Namespace: w.Namespace(), Queue: queue, Kind: kind}
	k.Started(job, w.now(), time.Second)
	o := &store.Outcome{State: end, Final: end, Namespace: w.Namespace(), Queue: queue, StartedAt: w.now()}
	k.Ended(w.now(), o, kind, 2*time.Second)
	if err := k.Write(w.t.Context(), k.Name == "node b"); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) jobs(q stats.Query) []stats.Point {
	w.t.Helper()
	points, err := stats.Jobs(w.t.Context(), w.Client, q)
	if err != nil {
		w.t.Fatal(err)
	}
	return points
}

// TestJobs: what two nodes have counted is added up, by time, queue and kind, as asked.
func TestJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.node(1), w.node(2)
	from := w.now()
	w.run(a, "mail", "send", store.Completed)
	w.run(b, "mail", "send", store.Failed)
	w.run(a, "mail", "read", store.Retryable)
	w.advance(time.Minute)
	w.run(b, "slow", "send", store.Cancelled)
	w.run(a, "mail", "send", store.Scheduled)
	w.advance(30 * time.Second)

	type key struct {
		after       time.Duration
		queue, kind string
	}
	for what, c := range map[string]struct {
		q    stats.Query
		want map[key]int64 // started
	}{
		"all":         {stats.Query{}, map[key]int64{{-time.Hour + time.Minute, "", ""}: 5}},
		"each minute": {stats.Query{From: from, Step: time.Minute}, map[key]int64{{0, "", ""}: 3, {time.Minute, "", ""}: 2}},
		"by queue":    {stats.Query{From: from, By: stats.ByQueue}, map[key]int64{{0, "mail", ""}: 4, {0, "slow", ""}: 1}},
		"by kind":     {stats.Query{From: from, By: stats.ByKind}, map[key]int64{{0, "", "send"}: 4, {0, "", "read"}: 1}},
		"by both": {stats.Query{From: from, By: stats.ByBoth}, map[key]int64{
			{0, "mail", "send"}: 3, {0, "mail", "read"}: 1, {0, "slow", "send"}: 1,
		}},
		"one queue": {stats.Query{From: from, Queue: "mail"}, map[key]int64{{0, "mail", ""}: 4}},
		"one kind": {stats.Query{From: from, Kind: "send", By: stats.ByQueue}, map[key]int64{
			{0, "mail", "send"}: 3, {0, "slow", "send"}: 1,
		}},
		"neither":       {stats.Query{From: from, Queue: "slow", Kind: "read"}, map[key]int64{}},
		"first minute":  {stats.Query{From: from, To: from.Add(time.Minute)}, map[key]int64{{0, "", ""}: 3}},
		"second minute": {stats.Query{From: from.Add(time.Minute)}, map[key]int64{{time.Minute, "", ""}: 2}},
	} {
		points := w.jobs(c.q)
		got := map[key]int64{}
		for _, p := range points {
			got[key{p.At.Sub(from), p.Queue, p.Kind}] = p.Started
			if p.Other || p.Run.Count != p.Started || p.Wait.Max != time.Second || p.Run.P99 != 2*time.Second || p.Run.Mean != 2*time.Second {
				t.Errorf("%s: %+v", what, p)
			}
		}
		if len(got) != len(c.want) || len(points) != len(got) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
		for k, n := range c.want {
			if got[k] != n {
				t.Errorf("%s: %v, want %v", what, got, c.want)
			}
		}
	}
	p := w.jobs(stats.Query{From: from, Step: time.Minute})
	if p[0].Completed != 1 || p[0].Failed != 1 || p[0].Retried != 1 || p[0].Length != time.Minute || p[0].PerSecond != 3.0/60 {
		t.Errorf("%+v", p[0])
	}
	if p[1].Cancelled != 1 || p[1].Parked != 1 || p[1].Length != 30*time.Second || p[1].PerSecond != 2.0/30 {
		t.Errorf("%+v", p[1])
	}
	others, err := w.In("another")
	if err != nil {
		t.Fatal(err)
	}
	if points, err := stats.Jobs(t.Context(), others, stats.Query{}); err != nil || len(points) != 0 {
		t.Errorf("of another namespace: %+v, %v", points, err)
	}
}

// TestOthers: what is too much to be told apart is told as that.
func TestOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.node(1)
	for i := range 1100 {
		job := &store.Job{Namespace: w.Namespace(), Queue: "q", Kind: time.Duration(i).String()}
		k.Started(job, w.now(), 0)
	}
	if err := k.Write(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	points := w.jobs(stats.Query{By: stats.ByKind})
	if len(points) != 1000 || !points[999].Other || points[999].Started != 101 || points[0].Other {
		t.Errorf("%d points, the last: %+v", len(points), points[len(points)-1])
	}
	if all := w.jobs(stats.Query{}); len(all) != 1 || all[0].Started != 1100 || all[0].Other {
		t.Errorf("all: %+v", all)
	}
	// More than can be returned is an error.
	for range 10 {
		w.advance(time.Minute)
		for i := range 1100 {
			k.Started(&store.Job{Namespace: w.Namespace(), Queue: "q", Kind: time.Duration(i).String()}, w.now(), 0)
		}
		if err := k.Write(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	_, err := stats.Jobs(t.Context(), w.Client, stats.Query{Step: time.Minute, By: stats.ByKind})
	if !errors.Is(err, holdfast.ErrInvalid) {
		t.Errorf("11,000 points: %v", err)
	}
}

// TestWindows: what cannot be told, or is too much, is refused with what to do.
func TestWindows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := w.now()
	for what, q := range map[string]stats.Query{
		"ends before it begins": {From: now, To: now.Add(-time.Hour)},
		"half a minute":         {Step: 30 * time.Second},
		"negative":              {Step: -time.Minute},
		"too many points":       {From: now.Add(-2*24*time.Hour + time.Hour), To: now.Add(10 * 24 * time.Hour), Step: time.Minute},
		"minutes of long ago":   {From: now.Add(-4 * 24 * time.Hour), Step: time.Minute},
		"no By":                 {By: 7},
	} {
		if _, err := stats.Jobs(t.Context(), w.Client, q); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
		if what == "no By" {
			continue
		}
		window := stats.Window{From: q.From, To: q.To, Step: q.Step}
		if _, err := stats.Nodes(t.Context(), w.Client, window); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("nodes, %s: %v", what, err)
		}
	}
	w.jobs(stats.Query{From: now.Add(-80 * 24 * time.Hour), Step: time.Hour})
}

// TestHours: what has become hours is told with what is still minutes, and counts the same.
func TestHours(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.node(1), w.node(2)
	from := w.now()
	for range 12 {
		w.run(a, "mail", "send", store.Completed)
		w.run(b, "mail", "send", store.Failed)
		w.advance(30 * time.Minute)
	}
	w.advance(store.FactMinutesKept - 3*time.Hour)
	q := stats.Query{From: from, Step: time.Hour}
	before := w.jobs(q)
	if _, err := facts.Merge(t.Context(), w.store); err != nil {
		t.Fatal(err)
	}
	after := w.jobs(q)
	if len(before) != 6 || len(after) != 6 {
		t.Fatalf("%d hours, and then %d", len(before), len(after))
	}
	for i := range after {
		if before[i] != after[i] || after[i].Started != 4 || after[i].Run.Count != 4 {
			t.Errorf("%+v, and then %+v", before[i], after[i])
		}
	}
	hours, err := w.store.Facts(t.Context(), store.FactParams{Span: store.FactHour, All: true, To: w.now(), Limit: 100})
	if err != nil || len(hours) != 6 {
		t.Errorf("%d hours are stored, %v", len(hours), err) // three of the database
	}
	// Of the database the last measurement of each hour is there, of nodes none.
	samples, err := stats.Database(t.Context(), w.Client, stats.Window{From: from, Step: time.Hour})
	if err != nil || len(samples) != 6 {
		t.Errorf("%d measurements of the database, %v", len(samples), err)
	}
	samples, err = stats.Nodes(t.Context(), w.Client, stats.Window{From: from, Step: time.Hour})
	if err != nil || len(samples) != 6 {
		t.Errorf("%d measurements of nodes, %v", len(samples), err)
	}
}

// TestNodesAndDatabase: the last measurement of each step and node.
func TestNodesAndDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.node(1), w.node(2)
	from := w.now()
	for range 4 {
		w.run(a, "mail", "send", store.Completed)
		w.run(b, "mail", "send", store.Completed)
		w.advance(time.Minute)
	}
	for what, c := range map[string]struct {
		step        time.Duration
		nodes, data int
	}{"the last": {0, 2, 1}, "minutes": {time.Minute, 8, 4}, "two minutes": {2 * time.Minute, 4, 2}} {
		window := stats.Window{From: from, Step: c.step}
		nodes, err := stats.Nodes(t.Context(), w.Client, window)
		if err != nil || len(nodes) != c.nodes {
			t.Errorf("%s: %d of nodes, %v", what, len(nodes), err)
		}
		data, err := stats.Database(t.Context(), w.Client, window)
		if err != nil || len(data) != c.data {
			t.Errorf("%s: %d of the database, %v", what, len(data), err)
		}
		for _, s := range nodes {
			if s.Values[stats.Goroutines] < 1 || s.Node == 1 && s.Name != "node b" || s.Node == 2 && s.Name != "node c" {
				t.Errorf("%s: %+v", what, s)
			}
		}
		for _, s := range data {
			if s.Values[stats.DatabaseBytes] < 4096 || s.Values[stats.WALBytes] == 0 {
				t.Errorf("%s: %+v", what, s)
			}
			if _, known := s.Values[stats.Connections]; known {
				t.Errorf("a file has connections: %+v", s)
			}
		}
		if c.step == 0 && (nodes[0].At != from.Add(3*time.Minute) || data[0].At != from.Add(3*time.Minute)) {
			t.Errorf("the last are of %v and %v", nodes[0].At, data[0].At)
		}
	}
}
