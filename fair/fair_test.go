package fair_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/fair"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/why"
)

func open(t *testing.T) *holdfast.Client {
	t.Helper()
	c, err := holdfast.Open(t.Context(), sqlite.File(sqlitetest.File(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// keyOf is the fair key of a job that was enqueued.
func keyOf(t *testing.T, j *holdfast.Job[struct{}], err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	r, err := j.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r.Options.FairKey
}

// TestKeys: the key of an enqueue overrides that of the kind, whichever way it is given.
func TestKeys(t *testing.T) {
	t.Parallel()
	c := open(t)
	ofArgs := holdfast.NewTask[page]("by-args", fair.KeyOf(func(p page) string { return p.Tenant }))
	fixed := holdfast.NewTask[page]("fixed", fair.Key("kind"))
	for _, k := range []struct {
		task holdfast.Task[page]
		args page
		opts []holdfast.EnqueueOption
		want string
	}{
		{ofArgs, page{Tenant: "acme"}, nil, "acme"},
		{ofArgs, page{}, nil, ""},
		{ofArgs, page{Tenant: "acme"}, []holdfast.EnqueueOption{fair.Key("other")}, "other"},
		{fixed, page{Tenant: "acme"}, nil, "kind"},
		{fixed, page{Tenant: "acme"}, []holdfast.EnqueueOption{fair.KeyOf(func(p page) string { return p.Tenant })}, "acme"},
	} {
		job, err := k.task.Enqueue(t.Context(), c, k.args, k.opts...)
		if got := keyOf(t, job, err); got != k.want {
			t.Errorf("the key is %q, want %q", got, k.want)
		}
	}
}

// TestRefused: what is no key is refused, as is a change of one.
func TestRefused(t *testing.T) {
	t.Parallel()
	c := open(t)
	task := holdfast.NewTask[page]("task")
	for name, opt := range map[string]holdfast.EnqueueOption{
		"empty":             fair.Key(""),
		"long":              fair.Key(strings.Repeat("k", store.MaxFairKey+1)),
		"long, of the args": fair.KeyOf(func(page) string { return strings.Repeat("k", store.MaxFairKey+1) }),
		"of other args":     fair.KeyOf(func(int) string { return "k" }),
	} {
		if _, err := task.Enqueue(t.Context(), c, page{}, opt); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	job, err := task.Enqueue(t.Context(), c, page{}, fair.Key("acme"))
	if err != nil {
		t.Fatal(err)
	}
	for _, opt := range []holdfast.EnqueueOption{fair.Key("other"), fair.KeyOf(func(page) string { return "other" })} {
		if err := task.Edit(t.Context(), c, "a test", job.ID, page{}, opt); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("the edit: %v", err)
		}
	}
}

// TestWhy: a job behind others of its key says so, where there is a node that would take it.
func TestWhy(t *testing.T) {
	t.Parallel()
	c, err := holdfast.Open(t.Context(), sqlite.File(sqlitetest.File(t)), holdfast.WithSlots(1))
	if err != nil {
		t.Fatal(err)
	}
	task := holdfast.NewTask[page]("task", fair.Key("acme"))
	started, end := make(chan struct{}, 1), make(chan struct{})
	err = task.Handle(c, func(run *holdfast.Run, _ page) error {
		select {
		case started <- struct{}{}:
		default:
		}
		select {
		case <-end:
		case <-run.Done():
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := task.Enqueue(t.Context(), c, page{}); err != nil {
		t.Fatal(err)
	}
	<-started
	jobs, err := task.EnqueueMany(t.Context(), c, make([]page, 300))
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Why(t.Context(), jobs[299].ID)
	if err != nil || len(e.Causes) != 2 || e.Causes[0].Code != why.FairKey || e.Causes[0].Key != "acme" ||
		!strings.Contains(e.Causes[0].Text, "jobs of its fair key acme, or of keys that share its turn, are before it") {
		t.Errorf("the last one: %+v, %v", e, err)
	}
	close(end)
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
