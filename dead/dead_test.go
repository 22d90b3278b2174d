package dead_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/dead"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// letters makes so many dead letters of a kind, of which every other one failed in another way, and
// returns a client without a node.
func letters(t *testing.T, n int) (*holdfast.Client, []holdfast.ID) {
	t.Helper()
	ctx := t.Context()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hf.Close(context.Background()) })
	kind := holdfast.NewKind[int, string]("mail")
	err = kind.Handle(hf, func(_ *holdfast.Run, n int) (string, error) {
		if n%2 == 1 {
			return "", holdfast.Fail(fmt.Errorf("no mailbox %q", fmt.Sprint("user", n)))
		}
		return "", holdfast.Fail(errors.New("connection refused"))
	})
	if err == nil {
		err = hf.Start(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	var ids []holdfast.ID
	for i := range n {
		job, err := kind.Enqueue(ctx, hf, i)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, job.ID)
	}
	for _, id := range ids {
		if err := hf.Wait(ctx, id); err == nil {
			t.Fatalf("job %v has not failed", id)
		}
	}
	if err := hf.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	return hf, ids
}

func groupsOf(t *testing.T, hf *holdfast.Client) []store.DeadGroup {
	t.Helper()
	page, err := dead.Groups(t.Context(), hf, store.DeadParams{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return page.Groups
}

func TestRedrive(t *testing.T) {
	hf, ids := letters(t, 9)
	ctx := t.Context()
	groups := groupsOf(t, hf)
	if len(groups) != 2 || groups[0].Count.N+groups[1].Count.N != 9 {
		t.Fatalf("%+v", groups)
	}
	noMailbox := groups[0]
	if noMailbox.Count.N != 4 {
		noMailbox = groups[1]
	}
	if !strings.HasPrefix(noMailbox.Error, "no mailbox") {
		t.Fatalf("%+v", noMailbox)
	}
	filter := store.Filter{Fingerprints: []int64{noMailbox.Fingerprint}}
	if results, err := hf.Retry(ctx, "", ids[1]); err != nil || results[0].Err != nil {
		t.Fatal(results, err) // somebody else has one of them
	}
	var told []dead.Result
	report, err := dead.Move(ctx, hf, filter, "repair", dead.Options{
		Reason: "with a mailbox", Priority: 1, Told: func(r dead.Result) { told = append(told, r) },
		Args: func(job *store.Record) (json.RawMessage, error) {
			if job.ID == ids[3] {
				return nil, errors.New("not this one")
			}
			return json.RawMessage("100"), nil
		},
	})
	if err != nil || report != (dead.Report{Done: 2, Failed: 1}) || len(told) != 3 {
		t.Fatalf("%+v, %+v, %v", report, told, err)
	}
	for _, id := range []holdfast.ID{ids[5], ids[7]} {
		r, err := hf.Get(ctx, id)
		if err != nil || r.State != store.Available || r.Queue != "repair" || string(r.Args) != "100" || r.Actions[0].Reason != "with a mailbox" {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if r, err := dead.Get(ctx, hf, ids[3]); err != nil || string(r.Args) != "3" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := hf.Get(ctx, ids[1]); err != nil || string(r.Args) != "1" || len(r.Actions) != 1 {
		t.Errorf("what was retried meanwhile: %+v, %v", r, err)
	}
	if _, err := dead.Get(ctx, hf, ids[5]); !errors.Is(err, holdfast.ErrConflict) {
		t.Error(err)
	}
	for what, o := range map[string]dead.Options{"a priority": {Priority: 9}, "a rate": {Rate: -1}} {
		if _, err := dead.Redrive(ctx, hf, filter, o); !errors.Is(err, holdfast.ErrInvalid) {
			t.Error(what, err)
		}
	}
	cancelled := store.Filter{States: []store.State{store.Cancelled}}
	if _, err := dead.Redrive(ctx, hf, cancelled, dead.Options{}); !errors.Is(err, holdfast.ErrInvalid) {
		t.Error(err)
	}
	report, err = dead.Redrive(ctx, hf, store.Filter{}, dead.Options{})
	if err != nil || report != (dead.Report{Done: 6}) || len(groupsOf(t, hf)) != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestGroupOf: a reader of the feed learns which groups are new, and which have grown.
func TestGroupOf(t *testing.T) {
	ctx := t.Context()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hf.Close(context.Background()) })
	if _, err := events.On(ctx, hf); err != nil {
		t.Fatal(err)
	}
	kind := holdfast.NewKind[string, string]("mail")
	err = kind.Handle(hf, func(_ *holdfast.Run, why string) (string, error) { return "", holdfast.Fail(errors.New(why)) })
	if err == nil {
		err = hf.Start(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, why := range []string{"refused", "lost", "refused"} {
		job, err := kind.Enqueue(ctx, hf, why)
		if err != nil {
			t.Fatal(err)
		}
		_ = hf.Wait(ctx, job.ID)
	}
	page, err := events.List(ctx, hf, events.Position{}, events.Filter{States: []store.State{store.Failed}}, 100)
	if err != nil || len(page.Events) != 3 {
		t.Fatalf("%+v, %v", page.Events, err)
	}
	var marshalled []events.Event
	if text, err := json.Marshal(page.Events); err != nil || json.Unmarshal(text, &marshalled) != nil ||
		!reflect.DeepEqual(marshalled, page.Events) {
		t.Errorf("as JSON: %s, %v", text, err)
	}
	if a, b, c := page.Events[0].Fingerprint, page.Events[1].Fingerprint, page.Events[2].Fingerprint; a == b || a != c || a == 0 {
		t.Errorf("the fingerprints are %x, %x and %x", a, b, c)
	}
	late := page.Events[2]
	late.At = late.At.Add(time.Minute) // as if it had come when the group was known
	for i, c := range []struct {
		event events.Event
		isNew bool
		count int
	}{{page.Events[0], true, 2}, {page.Events[1], true, 1}, {late, false, 2}} {
		group, isNew, err := dead.GroupOf(ctx, hf, &c.event)
		if err != nil || isNew != c.isNew || group.Count.N != c.count || group.Fingerprint != c.event.Fingerprint {
			t.Errorf("event %d: %+v, new %v, %v", i, group, isNew, err)
		}
	}
	running := page.Events[0]
	running.State = store.Running
	gone := page.Events[0]
	gone.Kind, gone.Namespace = "", ""
	if _, _, err := dead.GroupOf(ctx, hf, &running); !errors.Is(err, store.ErrConflict) {
		t.Errorf("of an event that is no failure: %v", err)
	}
	if _, _, err := dead.GroupOf(ctx, hf, &gone); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of a job that is gone: %v", err)
	}
	if _, err := dead.Purge(ctx, hf, store.Filter{Kinds: []string{"mail"}}, "", nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := dead.GroupOf(ctx, hf, &page.Events[1]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of a group without jobs: %v", err)
	}
}

// TestRate: jobs run again no faster than it says, and those that are left stay when it is ended.
func TestRate(t *testing.T) {
	hf, _ := letters(t, 6)
	begin := time.Now()
	report, err := dead.Redrive(t.Context(), hf, store.Filter{Kinds: []string{"mail"}}, dead.Options{Rate: 40})
	if took := time.Since(begin); err != nil || report.Done != 6 || took < 25*time.Millisecond {
		t.Errorf("%+v, %v in %v", report, err, took)
	}
	hf, _ = letters(t, 4)
	for _, rate := range []float64{0.01, 1e-10} { // the time of the second is more than a Duration holds
		ctx, cancel := context.WithCancel(t.Context())
		report, err = dead.Redrive(ctx, hf, store.Filter{}, dead.Options{Rate: rate, Told: func(dead.Result) { cancel() }})
		if !errors.Is(err, context.Canceled) || report.Done != 1 {
			t.Errorf("at %v: %+v, %v", rate, report, err)
		}
	}
}

func TestPurgeAndExport(t *testing.T) {
	hf, ids := letters(t, 5)
	var out bytes.Buffer
	n, err := dead.Export(t.Context(), hf, store.Filter{}, &out)
	if err != nil || n != 5 || strings.Count(out.String(), "\n") != 5 {
		t.Fatal(n, err, out.String())
	}
	for line := range strings.Lines(out.String()) {
		var r store.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.State != store.Failed || r.Fingerprint == 0 {
			t.Errorf("%s: %v", line, err)
		}
	}
	other, err := hf.In("other")
	if err != nil {
		t.Fatal(err)
	}
	last := store.Filter{Namespace: "default", IDs: ids[4:]}
	if report, err := dead.Purge(t.Context(), other, last, "old", nil); err != nil || report.Done != 1 {
		t.Fatal("from a client of another namespace:", report, err)
	}
	report, err := dead.Purge(t.Context(), hf, store.Filter{IDs: ids[:3]}, "old", nil)
	if err != nil || report != (dead.Report{Done: 3}) {
		t.Fatal(report, err)
	}
	if _, err := hf.Get(t.Context(), ids[0]); !errors.Is(err, holdfast.ErrNotFound) {
		t.Error(err)
	}
	if count, err := hf.Count(t.Context(), store.Filter{States: []store.State{store.Failed}}); err != nil || count.N != 1 {
		t.Error(count, err)
	}
}
