package search_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/search"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	customer = search.Keyword("customer")
	amount   = search.Int("amount")
	share    = search.Float("share")
	paid     = search.Bool("paid")
	at       = search.Time("at")
)

var order = holdfast.NewKind[int, int]("order")

func open(t *testing.T) *holdfast.Client {
	t.Helper()
	client, err := holdfast.Open(t.Context(), sqlite.File(sqlite.Memory))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(context.WithoutCancel(t.Context())) })
	return client
}

func declare(t *testing.T, client *holdfast.Client, all ...search.Attribute) {
	t.Helper()
	if err := search.Declare(t.Context(), client, all...); err != nil {
		t.Fatal(err)
	}
}

// work runs a node until the test ends.
func work(t *testing.T, client *holdfast.Client) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func values(t *testing.T, client *holdfast.Client, id holdfast.ID) (texts []string) {
	t.Helper()
	record, err := client.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range record.Attributes {
		texts = append(texts, a.Name+"="+a.Value.String())
	}
	return texts
}

func wantValues(t *testing.T, client *holdfast.Client, id holdfast.ID, want ...string) {
	t.Helper()
	if got := values(t, client, id); !slices.Equal(got, want) {
		t.Errorf("the job has %q, want %q", got, want)
	}
}

// TestEnqueueSets: an enqueue sets values of all types, the last one of a name, and jobs are found
// by them.
func TestEnqueueSets(t *testing.T) {
	t.Parallel()
	client := open(t)
	declare(t, client, customer, amount, share, paid, at)
	day := time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)
	job, err := order.Enqueue(t.Context(), client, 1, customer.Is("other"), amount.Is(-7), share.Is(0.25), paid.Is(true), at.Is(day),
		holdfast.Options(search.Text("customer", "acme")), search.Text("amount", "-7"))
	if err != nil {
		t.Fatal(err)
	}
	wantValues(t, client, job.ID, "amount=-7", "at=2026-03-04T05:06:07.000008Z", "customer=acme", "paid=true", "share=0.25")
	record, err := client.Get(t.Context(), job.ID)
	if v, ok := amount.Of(&record); err != nil || v != -7 || !ok {
		t.Errorf("the amount is %d, %v, %v", v, ok, err)
	}
	if v, ok := at.Of(&record); !v.Equal(day) || !ok {
		t.Errorf("the time is %v, %v", v, ok)
	}
	if v, ok := search.Keyword("nothing").Of(&record); v != "" || ok {
		t.Errorf("a value that is not there is %q, %v", v, ok)
	}
	for what, m := range map[string]store.AttributeMatch{
		"equals": customer.Equals("acme"), "below": amount.Below(-6), "up to": amount.UpTo(-7), "above": share.Above(0.2),
		"from": at.From(day), "exists": paid.Exists(),
	} {
		page, err := client.List(t.Context(), store.Filter{Attributes: []store.AttributeMatch{m}}, "", 10)
		if err != nil || len(page.Jobs) != 1 || page.Jobs[0].ID != job.ID {
			t.Errorf("%s: %d jobs, %v", what, len(page.Jobs), err)
		}
	}
	page, err := client.List(t.Context(), store.Filter{Attributes: []store.AttributeMatch{amount.Above(-7)}}, "", 10)
	if err != nil || len(page.Jobs) != 0 {
		t.Errorf("above: %d jobs, %v", len(page.Jobs), err)
	}
}

// TestEditSets: people set values of a job, change them and take them away, until its end; what is
// not declared is refused, and nothing is changed then.
func TestEditSets(t *testing.T) {
	t.Parallel()
	client := open(t)
	declare(t, client, customer, amount)
	job, err := order.Enqueue(t.Context(), client, 1, customer.Is("acme"), holdfast.Delay(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	edit := func(opts ...holdfast.EnqueueOption) error { return client.Edit(t.Context(), "moved", job.ID, opts...) }
	for _, one := range []struct {
		opts []holdfast.EnqueueOption
		want []string
	}{
		{[]holdfast.EnqueueOption{amount.Is(40)}, []string{"amount=40", "customer=acme"}},
		{[]holdfast.EnqueueOption{search.Text("amount", "41"), search.None("customer")}, []string{"amount=41"}},
		{[]holdfast.EnqueueOption{search.None("customer"), customer.Is("b")}, []string{"amount=41", "customer=b"}},
		{[]holdfast.EnqueueOption{holdfast.Priority(1)}, []string{"amount=41", "customer=b"}},
	} {
		if err := edit(one.opts...); err != nil {
			t.Fatal(err)
		}
		wantValues(t, client, job.ID, one.want...)
	}
	for what, opts := range map[string][]holdfast.EnqueueOption{
		"not declared": {share.Is(1), amount.Is(1)}, "none of what is not declared": {search.None("share"), amount.Is(1)},
		"another type": {search.Float("amount").Is(1)}, "no number": {search.Text("amount", "many")}, "no keyword": {customer.Is("")},
	} {
		if err := edit(opts...); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := order.Enqueue(t.Context(), client, 1, search.None("customer")); !errors.Is(err, holdfast.ErrInvalid) {
		t.Errorf("an enqueue without a value: %v", err)
	}
	if _, err := client.Cancel(t.Context(), "", job.ID); err != nil {
		t.Fatal(err)
	}
	if err := edit(amount.Is(1)); !errors.Is(err, holdfast.ErrConflict) {
		t.Errorf("of a finished job: %v", err)
	}
	wantValues(t, client, job.ID, "amount=41", "customer=b")
}

// TestUndeclared: what is not declared is refused by whatever enqueues, with what to do; declaring
// it helps at once.
func TestUndeclared(t *testing.T) {
	t.Parallel()
	client := open(t)
	declare(t, client, amount)
	refuses := map[string]func(opts ...holdfast.EnqueueOption) error{
		"enqueue": func(opts ...holdfast.EnqueueOption) error {
			_, err := order.Enqueue(t.Context(), client, 1, opts...)
			return err
		},
		"many": func(opts ...holdfast.EnqueueOption) error {
			_, err := order.EnqueueMany(t.Context(), client, []int{1, 2}, opts...)
			return err
		},
		"batch": func(opts ...holdfast.EnqueueOption) error {
			_, err := client.EnqueueBatch(t.Context(), []holdfast.BatchItem{order.Item(1, opts...)})
			return err
		},
		"schedule": func(opts ...holdfast.EnqueueOption) error {
			_, err := schedule.Create(t.Context(), client, schedule.New("nightly", schedule.Every(time.Hour), order.Item(1, opts...)))
			return err
		},
	}
	for how, enqueue := range refuses {
		err := enqueue(customer.Is("acme"))
		if !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), "holdfast attribute declare customer --type keyword") {
			t.Errorf("%s: %v", how, err)
		}
		err = enqueue(search.Float("amount").Is(1))
		if !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), "declared as int, and not as float") {
			t.Errorf("%s with another type: %v", how, err)
		}
	}
	for _, v := range []search.Value{
		search.Text("amount", "many"), customer.Is(""), customer.Is(strings.Repeat("a", 257)), search.Keyword("a b").Is("x"),
	} {
		if _, err := order.Enqueue(t.Context(), client, 1, v); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("what cannot be a value: %v", err)
		}
	}
	page, err := client.List(t.Context(), store.Filter{}, "", 10)
	if err != nil || len(page.Jobs) != 0 {
		t.Errorf("%d jobs were enqueued, %v", len(page.Jobs), err)
	}
	declare(t, client, customer)
	for how, enqueue := range refuses {
		if err := enqueue(customer.Is("acme")); err != nil {
			t.Errorf("%s, declared: %v", how, err)
		}
	}
	schedules, err := schedule.List(t.Context(), client, "", 10)
	if err != nil || len(schedules) != 1 || len(schedules[0].Job.Attributes) != 1 {
		t.Errorf("the schedule has %+v, %v", schedules, err)
	}
}

// TestDelete: a deleted attribute is gone, with its values, however many pieces that takes, and may
// be declared with another type.
func TestDelete(t *testing.T) {
	t.Parallel()
	client := open(t)
	declare(t, client, customer, amount)
	ins := make([]int, 1200) // more than one piece
	if _, err := order.EnqueueMany(t.Context(), client, ins, customer.Is("acme"), amount.Is(1)); err != nil {
		t.Fatal(err)
	}
	if err := search.Delete(t.Context(), client, "customer"); err != nil {
		t.Fatal(err)
	}
	all, err := search.List(t.Context(), client)
	if err != nil || len(all) != 1 || all[0].Name != "amount" {
		t.Errorf("declared are %+v, %v", all, err)
	}
	declare(t, client, search.Int("customer"))
	n, err := client.Count(t.Context(), store.Filter{Attributes: []store.AttributeMatch{search.Int("customer").Exists()}})
	if err != nil || n.N != 0 {
		t.Errorf("%+v jobs have a value, %v", n, err)
	}
	n, err = client.Count(t.Context(), store.Filter{Attributes: []store.AttributeMatch{amount.Equals(1)}})
	if err != nil || n.N != len(ins) {
		t.Errorf("%+v jobs have the other one, %v", n, err)
	}
	if err := search.Delete(t.Context(), client, "nothing"); !errors.Is(err, holdfast.ErrNotFound) {
		t.Errorf("what is not there: %v", err)
	}
}

// TestRunSets: what a run sets is there with its next write, and what it takes away is not; what it
// cannot set is refused, and the run goes on.
func TestRunSets(t *testing.T) {
	t.Parallel()
	client := open(t)
	declare(t, client, customer, amount)
	err := order.Handle(client, func(run *holdfast.Run, n int) (int, error) {
		if err := search.Set(run, search.Keyword("nobody").Is("x")); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("not declared: %v", err)
		}
		if err := search.Set(run, customer.Is("a"), amount.Is(1), customer.Is("b")); err != nil {
			return 0, err
		}
		if err := run.SaveCheckpoint("there"); err != nil {
			return 0, err
		}
		wantValues(t, client, run.ID(), "amount=1", "customer=b")
		if err := search.Unset(run, amount); err != nil {
			return 0, err
		}
		return n, search.Set(run, customer.Is("c"))
	})
	if err != nil {
		t.Fatal(err)
	}
	work(t, client)
	job, err := order.Enqueue(t.Context(), client, 1, amount.Is(5))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantValues(t, client, job.ID, "customer=c")
}

// TestReplayDoesNotSetAgain: what a durable function sets before a step that is in the journal is
// not set again over a newer value when it is replayed; and what it sets beyond is.
func TestReplayDoesNotSetAgain(t *testing.T) {
	t.Parallel()
	client := open(t)
	declare(t, client, customer, amount)
	tries := 0
	err := order.Handle(client, func(run *holdfast.Run, n int) (int, error) {
		if err := search.Set(run, customer.Is("first"), amount.Is(1)); err != nil {
			return 0, err
		}
		if _, err := holdfast.Step(run, "one", func(context.Context) (int, error) { return 1, nil }); err != nil {
			return 0, err
		}
		tries++
		if tries == 1 {
			if err := search.Set(run, customer.Is("second")); err != nil {
				return 0, err
			}
			return 0, errors.New("it breaks off")
		}
		if tries > 2 { // the fork, which has what the job had in the end
			return n, nil
		}
		wantValues(t, client, run.ID(), "amount=1", "customer=second")
		if _, err := holdfast.Step(run, "two", func(context.Context) (int, error) { return 2, nil }); err != nil {
			return 0, err
		}
		wantValues(t, client, run.ID(), "amount=1", "customer=second")
		return n, search.Set(run, amount.Is(3))
	})
	if err != nil {
		t.Fatal(err)
	}
	work(t, client)
	job, err := order.Enqueue(t.Context(), client, 1, holdfast.Backoff(time.Millisecond, time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantValues(t, client, job.ID, "amount=3", "customer=second")
	fork, err := client.Fork(t.Context(), "", job.ID, holdfast.Fork{From: "two"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := order.Job(client, fork).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantValues(t, client, fork, "amount=3", "customer=second")
}
