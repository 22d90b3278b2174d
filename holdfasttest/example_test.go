package holdfasttest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
	"github.com/holdfastdev/holdfast/store"
)

// t is the T of the test that an example is in.
var t *testing.T

// TestExamples runs the examples.
func TestExamples(test *testing.T) { //nolint:paralleltest // they share a variable
	for name, example := range map[string]func(){
		"Run": ExampleRun, "Stub": ExampleStub, "StubOf": ExampleStubOf, "WorkOne": ExampleWorkOne, "RequireEnqueued": ExampleRequireEnqueued,
		"Advance": ExampleEnv_Advance, "Open": ExampleEnv_Open,
	} {
		test.Run(name, func(inner *testing.T) {
			t = inner
			example()
		})
	}
}

// The handlers that the examples test.
var (
	invoice = holdfast.NewKind[string, string]("invoice")
	remind  = holdfast.NewKind[string, string]("remind")
	paid    = holdfast.NewSignal[int]("paid")
)

// sendInvoice sends an invoice, and a reminder if it is not paid within thirty days.
func sendInvoice(run *holdfast.Run, customer string) (string, error) {
	number, err := holdfast.Step(run, "send", func(context.Context) (string, error) {
		return "", errors.New("there is no mail server in a test")
	}, holdfast.MaxAttempts(3))
	if err != nil {
		return "", err
	}
	_, err = paid.Wait(run, holdfast.WaitAtMost(30*24*time.Hour))
	if errors.Is(err, holdfast.ErrWaitTimeout) {
		_, err = remind.Start(run, customer, holdfast.OnParentClose(store.AbandonChild))
	}
	return number, err
}

// A test of a durable function in virtual time: the thirty days take no time.
func ExampleRun() { //nolint:testableexamples // TestExamples runs it
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		if err := invoice.Handle(env.Client, sendInvoice); err != nil {
			t.Fatal(err)
		}
		holdfasttest.Stub(env, "send", func(context.Context) (string, error) { return "no. 7", nil })
		env.Start()
		job, err := invoice.Enqueue(t.Context(), env.Client, "ada")
		if err != nil {
			t.Fatal(err)
		}
		env.After(29*24*time.Hour, func() {
			if _, err := paid.Send(t.Context(), env.Client, job.ID, 100); err != nil {
				t.Error(err)
			}
		})
		if number, err := job.Wait(t.Context()); number != "no. 7" || err != nil {
			t.Errorf("invoice %q, %v", number, err)
		}
		env.RequireJournal(job.ID, "step send", "timer paid", "received paid")
		holdfasttest.RequireNotEnqueued(env, remind)
	})
}

// A stub may fail, which is retried as the step's own failures are.
func ExampleStub() { //nolint:testableexamples // TestExamples runs it
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		if err := invoice.Handle(env.Client, sendInvoice); err != nil {
			t.Fatal(err)
		}
		calls := 0
		holdfasttest.Stub(env, "send", func(context.Context) (string, error) {
			if calls++; calls < 3 {
				return "", errors.New("mailbox full")
			}
			return "no. 7", nil
		})
		env.Start()
		job, err := invoice.Enqueue(t.Context(), env.Client, "ada")
		if err != nil {
			t.Fatal(err)
		}
		env.Advance(time.Minute)
		env.RequireJournal(job.ID, "step retry send", "step retry send", "step send", "timer paid")
	})
}

// The steps of one kind are replaced, and those of the same name in other kinds are not.
func ExampleStubOf() { //nolint:testableexamples // TestExamples runs it
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		if err := invoice.Handle(env.Client, sendInvoice); err != nil {
			t.Fatal(err)
		}
		holdfasttest.StubOf(env, invoice, "send", func(context.Context) (string, error) {
			return "", holdfast.Fail(errors.New("no such address"))
		})
		env.Start()
		job, err := invoice.Enqueue(t.Context(), env.Client, "ada")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.Wait(t.Context()); err == nil {
			t.Error("the invoice was sent")
		}
		env.RequireJournal(job.ID, "step failed send")
	})
}

// A durable function is worked part by part, without a node.
func ExampleWorkOne() { //nolint:testableexamples // TestExamples runs it
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		if err := invoice.Handle(env.Client, sendInvoice); err != nil {
			t.Fatal(err)
		}
		holdfasttest.Stub(env, "send", func(context.Context) (string, error) { return "no. 7", nil })
		if _, err := invoice.Enqueue(t.Context(), env.Client, "ada"); err != nil {
			t.Fatal(err)
		}
		if worked := holdfasttest.WorkOne(env, invoice); worked.State != store.Waiting {
			t.Fatalf("the invoice is %v: %v", worked.State, worked.Err)
		}
		env.Advance(30 * 24 * time.Hour)
		if worked := holdfasttest.WorkOne(env, invoice); worked.State != store.Completed || worked.Result != "no. 7" {
			t.Fatalf("the invoice is %v: %v", worked.State, worked.Err)
		}
		holdfasttest.RequireEnqueued(env, remind, "ada")
	})
}

// What a program enqueues is looked at without a handler, and the jobs with all that is known of
// them.
func ExampleRequireEnqueued() { //nolint:testableexamples // TestExamples runs it
	signUp := func(ctx context.Context, hf *holdfast.Client, customer string) error { // the code under test
		_, err := remind.Enqueue(ctx, hf, customer, holdfast.Delay(24*time.Hour), holdfast.Queue("mail"))
		return err
	}
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		if err := signUp(t.Context(), env.Client, "ada"); err != nil {
			t.Fatal(err)
		}
		job := holdfasttest.RequireEnqueued(env, remind, "ada")[0]
		record, err := job.Get(t.Context())
		if err != nil || record.Queue != "mail" || time.Until(record.RunAt) != 24*time.Hour {
			t.Errorf("in queue %s, due in %v: %v", record.Queue, time.Until(record.RunAt), err)
		}
		holdfasttest.RequireNotEnqueued(env, remind, "bob")
	})
}

// Time passes by Advance, and what has become due is done when it returns.
func ExampleEnv_Advance() { //nolint:testableexamples // TestExamples runs it
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		sent := 0
		if err := remind.Handle(env.Client, func(*holdfast.Run, string) (string, error) {
			sent++
			return "sent", nil
		}); err != nil {
			t.Fatal(err)
		}
		env.Start()
		if _, err := remind.Enqueue(t.Context(), env.Client, "ada", holdfast.Delay(24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		env.Advance(23 * time.Hour)
		if sent != 0 {
			t.Error("the reminder was sent too early")
		}
		env.Advance(time.Hour)
		if sent != 1 {
			t.Error("the reminder was not sent in time")
		}
	})
}

// A deploy: a run that the old process has begun goes on in the new one.
func ExampleEnv_Open() { //nolint:testableexamples // TestExamples runs it
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		holdfasttest.Stub(env, "send", func(context.Context) (string, error) { return "no. 7", nil })
		if err := invoice.Handle(env.Client, sendInvoice, holdfast.Version("1")); err != nil {
			t.Fatal(err)
		}
		env.Start()
		job, err := invoice.Enqueue(t.Context(), env.Client, "ada")
		if err != nil {
			t.Fatal(err)
		}
		env.WaitIdle()
		if err := env.Client.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}

		deployed := env.Open()
		if err := invoice.Handle(deployed.Client, sendInvoice, holdfast.Version("2", "1")); err != nil {
			t.Fatal(err)
		}
		deployed.Start()
		if _, err := paid.Send(t.Context(), deployed.Client, job.ID, 100); err != nil {
			t.Fatal(err)
		}
		if number, err := job.Wait(t.Context()); number != "no. 7" || err != nil {
			t.Errorf("invoice %q, %v", number, err)
		}
	})
}
