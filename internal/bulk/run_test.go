package bulk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var errKilled = errors.New("the process was killed")

// world is a plain model of jobs, in which a process may die at each call, before or after it took
// effect, or half way.
type world struct {
	mu     sync.Mutex
	jobs   map[store.ID]*store.Record
	touch  map[store.ID]int  // how often the operation has changed a job
	by     map[store.ID]bool // jobs that others have changed
	spared map[store.ID]bool // jobs that are operations
	saved  []byte
	random *rand.Rand
	kills  int // that are left
	calls  int
	own    store.ID
}

func newWorld(seed uint64, n, kills int) *world {
	w := &world{
		jobs: map[store.ID]*store.Record{}, touch: map[store.ID]int{}, by: map[store.ID]bool{}, kills: kills, spared: map[store.ID]bool{},
		random: rand.New(rand.NewPCG(seed, 1)), own: store.ID{0xff},
	}
	for range n {
		w.add()
	}
	return w
}

func (w *world) add() {
	id := store.ID{0, byte(w.random.IntN(256)), byte(w.random.IntN(256)), byte(w.random.IntN(256))}
	r := &store.Record{State: store.Failed}
	r.ID, r.Kind, r.Queue, r.Priority = id, "mail", "default", 2
	if w.random.IntN(20) == 0 {
		r.Kind, w.spared[id] = Kind, true
	}
	if w.random.IntN(5) == 0 {
		r.State = store.Completed // which does not match
	}
	w.jobs[id] = r
}

// dies reports that the process dies here.
func (w *world) dies() bool {
	w.calls++
	if w.kills > 0 && w.random.IntN(8) == 0 {
		w.kills--
		return true
	}
	return false
}

func (w *world) matches(f store.Filter, r *store.Record) bool {
	return slices.Contains(f.States, r.State) && (len(f.IDs) == 0 || slices.Contains(f.IDs, r.ID))
}

func (w *world) List(_ context.Context, f store.Filter, after string, limit int) (page store.Page, err error) {
	if w.dies() {
		return page, errKilled
	}
	var ids []store.ID
	for id := range w.jobs {
		if after == "" || id.String() < after {
			ids = append(ids, id)
		}
	}
	sort.Slice(ids, func(i, j int) bool { return bytes.Compare(ids[i][:], ids[j][:]) > 0 })
	looked := 0
	for _, id := range ids {
		if r := w.jobs[id]; w.matches(f, r) {
			page.Jobs = append(page.Jobs, *r)
		}
		if looked++; looked == min(limit, 30) && looked < len(ids) { // a page may be short
			page.Next = id.String()
			break
		}
	}
	return page, nil
}

func (w *world) Count(_ context.Context, f store.Filter) (n store.Count, err error) {
	for _, r := range w.jobs {
		if w.matches(f, r) {
			n.N++
		}
	}
	return n, nil
}

func (w *world) Get(_ context.Context, id store.ID) (store.Record, error) {
	if w.dies() {
		return store.Record{}, errKilled
	}
	if r := w.jobs[id]; r != nil {
		return *r, nil
	}
	return store.Record{}, store.NoJob(id)
}

func (w *world) Change(_ context.Context, verb Verb, reason string, _ []store.State, ids []store.ID) (results []store.Result, err error) {
	part := len(ids)
	killed := w.dies()
	if killed {
		part = w.random.IntN(part + 1) // each job is a transaction of its own
	}
	for _, id := range ids[:part] {
		r := w.jobs[id]
		if r == nil || r.State != store.Failed {
			err := store.NoJob(id)
			if r != nil {
				err = store.ErrConflict
			}
			results = append(results, store.Result{Job: id, Err: err})
			continue
		}
		w.touch[id]++
		if verb == Delete {
			delete(w.jobs, id)
		} else {
			r.State = store.Available
			r.Actions = append(r.Actions, store.Action{Reason: reason})
			if w.random.IntN(3) == 0 {
				r.State = store.Failed // it ran, and failed again: it matches again
			}
		}
		results = append(results, store.Result{Job: id, State: store.Available})
	}
	if killed {
		return nil, errKilled
	}
	return results, nil
}

func (w *world) Edit(_ context.Context, reason string, id store.ID, e store.Edit) error {
	w.mu.Lock() // several are edited at a time
	defer w.mu.Unlock()
	before := w.random.IntN(10) == 0 && w.dies()
	r := w.jobs[id]
	switch {
	case before:
		return errKilled
	case r == nil:
		return store.NoJob(id)
	}
	w.touch[id]++
	r.Tags = append(slices.Clip(r.Tags), e.AddTags...)
	r.Actions = append(slices.Clip(r.Actions), store.Action{Reason: reason})
	if w.random.IntN(10) == 0 {
		r.Tags = nil // others have removed it: it is not as it was to be
	}
	if w.random.IntN(10) == 0 && w.dies() {
		return errKilled
	}
	return nil
}

// run is one life of a process.
func (w *world) run(spec *Spec) (Progress, error) {
	p, err := ProgressOf(&store.Checkpoint{Value: w.saved})
	if err != nil {
		return p, err
	}
	err = (&Run{Jobs: w, Spec: spec, ID: w.own, Said: func(*Progress) {}, Save: func(_ context.Context, p *Progress) error {
		before := w.dies()
		if !before {
			data, err := json.Marshal(p)
			if err != nil {
				return err
			}
			w.saved = data
		}
		if before || w.dies() {
			return errKilled
		}
		return nil
	}}).Do(context.Background(), &p)
	return p, err
}

// meddle is what others do between two lives.
func (w *world) meddle() {
	if w.random.IntN(2) == 0 {
		w.add()
	}
	for id, r := range w.jobs {
		switch w.random.IntN(40) {
		case 0:
			w.by[id], r.State = true, store.Completed
		case 1:
			w.by[id] = true
			delete(w.jobs, id)
		}
	}
}

// TestEachJobOnce runs operations whose processes die again and again, at any call, while others
// change jobs too, against a plain model: no job is changed twice, each that was there from the
// start and that nobody else touched is changed, and the counts are those of the model.
func TestEachJobOnce(t *testing.T) {
	t.Parallel()
	lives := 0
	for seed := range uint64(400) {
		for _, verb := range []Verb{Retry, Delete, Tag} {
			w := newWorld(seed, 40+int(seed%200), int(seed%12))
			spec := &Spec{Action: Action{Verb: verb, Add: []string{"x"}}, Filter: Filter{States: []store.State{store.Failed}}}
			due := map[store.ID]bool{}
			for id, r := range w.jobs {
				due[id] = r.State == store.Failed && r.Kind != Kind
			}
			var p Progress
			for err := errKilled; err != nil; lives++ {
				if p, err = w.run(spec); err != nil && !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				if err != nil && verb != Delete {
					w.meddle()
				}
			}
			changed := 0
			for id, times := range w.touch {
				if times > 1 || w.spared[id] {
					t.Fatalf("seed %d: %s changed job %s %d times; it is an operation: %t", seed, verb, id, times, w.spared[id])
				}
				changed++
			}
			for id, is := range due {
				if is && w.touch[id] == 0 && !w.by[id] {
					t.Fatalf("seed %d: %s did not change job %s", seed, verb, id)
				}
			}
			// A job that others removed in the page of a dead process cannot tell whether it had
			// been changed.
			lost := 0
			for id := range w.by {
				if w.touch[id] > 0 && w.jobs[id] == nil {
					lost++
				}
			}
			if p.Changed > changed || p.Changed < changed-lost || p.Matched != p.Changed+p.Already+p.Refused+p.Gone || len(p.Pending) > 0 {
				t.Fatalf("seed %d: %s: %d jobs were changed; %+v", seed, verb, changed, p)
			}
		}
	}
	if lives < 2000 {
		t.Errorf("only %d lives", lives)
	}
}

// TestSpecIsRead: a filter is the same after it was stored, whatever is in it, and one of a newer
// version is refused.
func TestSpecIsRead(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 26, 1, 2, 3, 0, time.UTC)
	var f Filter
	v := reflect.ValueOf(&f).Elem()
	for i := range v.NumField() {
		switch field := v.Field(i); field.Interface().(type) {
		case string:
			field.SetString("x")
		case []string:
			field.Set(reflect.ValueOf([]string{"a", "b"}))
		case store.ID:
			field.Set(reflect.ValueOf(store.ID{byte(i)}))
		case []store.ID:
			field.Set(reflect.ValueOf([]store.ID{{1}, {2}}))
		case []store.State:
			field.Set(reflect.ValueOf([]store.State{store.Failed}))
		case []store.Reason:
			field.Set(reflect.ValueOf([]store.Reason{store.ReasonTimeout}))
		case []byte:
			field.SetBytes([]byte{0, 255})
		case bool:
			field.SetBool(true)
		case int64:
			field.SetInt(7)
		case []int64:
			field.Set(reflect.ValueOf([]int64{-1, 0, 1<<62 + 1}))
		case time.Time:
			field.Set(reflect.ValueOf(at.Add(time.Duration(i) * time.Hour)))
		case []store.Match:
			field.Set(reflect.ValueOf([]store.Match{{Path: "a.b", Value: json.RawMessage(`1`)}}))
		case []store.AttributeMatch:
			field.Set(reflect.ValueOf([]store.AttributeMatch{
				{Name: "a", Op: store.AttributeFrom, Value: store.IntValue(-7)},
				{Name: "b", Op: store.AttributeIsThere},
				{Name: "c", Op: store.AttributeIs, Value: store.TextValue("x")},
				{Name: "d", Op: store.AttributeIs, Value: store.KeywordValue("<")},
				{Name: "e", Op: store.AttributeIs, Value: store.FloatValue(-0.1)},
				{Name: "f", Op: store.AttributeIs, Value: store.BoolValue(true)},
				{Name: "g", Op: store.AttributeIs, Value: store.TimeValue(at)},
			}))
		default:
			t.Fatalf("the field %s is of a type that this test does not know", v.Type().Field(i).Name)
		}
	}
	spec := Spec{Action: Action{Verb: Tag, Add: []string{"a"}, Drop: []string{"b"}}, Filter: f, Actor: "ann", Note: "n", Expected: 3}
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	var read Spec
	if err := json.Unmarshal(data, &read); err != nil || !reflect.DeepEqual(spec, read) {
		t.Errorf("%s: %v\n%+v", data, err, read)
	}
	if empty, err := json.Marshal(Filter{}); err != nil || string(empty) != "{}" {
		t.Errorf("an empty filter: %s, %v", empty, err)
	}
	if err := json.Unmarshal([]byte(`{"filter":{"moon":"full"}}`), &read); err == nil {
		t.Error("a field that is not known is overlooked")
	}
}

// TestTooMany: an operation stops before it changes more jobs than it may.
func TestTooMany(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expected, begin, changed int }{{10, 0, 0}, {10, 1, 0}, {0, 0, 1000}} {
		w := newWorld(1, 0, 0)
		for i := range 1000 {
			r := &store.Record{State: store.Failed}
			r.ID = store.ID{1, byte(i >> 8), byte(i)}
			w.jobs[r.ID] = r
		}
		spec := &Spec{Action: Action{Verb: Delete}, Filter: Filter{States: []store.State{store.Failed}}, Expected: c.expected}
		if c.begin > 0 { // it has looked, and grows since
			w.saved = fmt.Appendf(nil, `{"matched":%d,"changed":%d}`, c.begin, c.begin)
		}
		p, err := w.run(spec)
		many, is := errors.AsType[*TooManyError](err)
		if is != (c.expected > 0) || is &&
			(many.Expected != c.expected || many.Matched <= spec.Most()) || len(w.touch) > max(spec.Most(), c.changed) {
			t.Errorf("%+v: %v, %+v, %d changed", c, err, p, len(w.touch))
		}
	}
}
