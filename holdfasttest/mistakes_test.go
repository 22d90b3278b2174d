package holdfasttest_test

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// mistake is a test that must fail, and what it must say then.
type mistake struct {
	test func(env *holdfasttest.Env)
	want []string
}

func nothing(*holdfast.Run, int) (int, error) { return 0, nil }

var mistakes = map[string]mistake{
	"Start without a handler": {func(env *holdfasttest.Env) {
		env.Start()
		env.T.Log("it went on")
	}, []string{"holdfasttest: Start: ", "no handler is registered; register one before Run"}},
	"Start of a client that was stopped": {func(env *holdfasttest.Env) {
		handled(env, "probe", nothing)
		_ = env.Client.Stop(env.T.Context())
		env.Start()
	}, []string{"the client was stopped; Open starts another process"}},
	"In a namespace without a name": {func(env *holdfasttest.Env) { env.In("") }, []string{"holdfasttest: ", "namespace"}},
	"Advance into the past":         {func(env *holdfasttest.Env) { env.Advance(-1) }, []string{"Advance(-1ns): time does not go back"}},
	"WaitIdle without a node":       {func(env *holdfasttest.Env) { env.WaitIdle() }, []string{"no node runs", "call Start before"}},
	"WaitIdle for a handler that waits for the test": {func(env *holdfasttest.Env) {
		ready := make(chan struct{})
		defer close(ready)
		kind := kindOf(env, func(*holdfast.Run, int) (int, error) {
			<-ready
			return 0, nil
		})
		enqueue(env, kind, 1)
		env.WaitIdle()
	}, []string{"after 24h0m0s of virtual time", "use Advance instead", "probe 0", ": running for 24h"}},
	"a wait for what does not come": {func(env *holdfasttest.Env) {
		kind := kindOf(env, untilStopped)
		_ = env.Client.PauseQueue(env.T.Context(), "paused")
		enqueue(env, kind, 2, holdfast.Queue("paused"))
		enqueue(env, holdfast.NewKind[int, int]("nobody"), 1)
		enqueue(env, kind, 2, holdfast.Delay(11*365*24*time.Hour))
		_, err := enqueue(env, kind, 1).Wait(env.T.Context())
		env.T.Logf("the wait ended with %v", err)
	}, []string{
		"something that does not come: 10 years", "parked, waits for signal stop", "its queue, paused, is paused; call Client.ResumeQueue",
		"no node serves it; register a handler", "scheduled, due in", "the wait ended with waiting for job", "closed",
	}},
	"RequireEnqueued of other args": {func(env *holdfasttest.Env) {
		kind := holdfast.NewKind[order, int]("mail")
		enqueue(env, kind, order{"a", 1})
		holdfasttest.RequireEnqueued(env, kind, order{"a", 1})
		holdfasttest.RequireEnqueued(env, kind, order{"a", 1}, order{"a", 1})
	}, []string{`only 1 of kind "mail" were enqueued with the args {"id":"a","cents":1}; the jobs of the kind are:`}},
	"RequireEnqueued of the args of none": {func(env *holdfasttest.Env) {
		kind := holdfast.NewKind[order, int]("mail")
		enqueue(env, kind, order{"a", 1})
		holdfasttest.RequireEnqueued(env, kind, order{"b", 1})
	}, []string{`no job of kind "mail" was enqueued with the args {"id":"b","cents":1}; the jobs of the kind are:`, `{"id":"a","cents":1}`}},
	"RequireEnqueued of nothing": {func(env *holdfasttest.Env) {
		holdfasttest.RequireEnqueued(env, holdfast.NewKind[order, int]("mail"), order{"a", 1})
	}, []string{"none of any kind was"}},
	"RequireEnqueued of another kind": {func(env *holdfasttest.Env) {
		enqueue(env, holdfast.NewKind[int, int]("male"), 1)
		enqueue(env.In("billing"), holdfast.NewKind[int, int]("mail"), 1)
		holdfasttest.RequireEnqueued(env, holdfast.NewKind[int, int]("mail"))
	}, []string{`no job of kind "mail" was enqueued; others were: 1 in namespace billing, 1 of kind male`}},
	"RequireNotEnqueued": {func(env *holdfasttest.Env) {
		kind := holdfast.NewKind[order, int]("mail")
		enqueue(env, kind, order{"a", 1})
		holdfasttest.RequireNotEnqueued(env, kind, order{"b", 1}, order{"a", 1})
	}, []string{`of kind "mail" was enqueued with the args {"id":"a","cents":1}`}},
	"Enqueued with other args": {func(env *holdfasttest.Env) {
		enqueue(env, holdfast.NewKind[order, int]("mail"), order{"a", 1})
		holdfasttest.Enqueued(env, holdfast.NewKind[int, int]("mail"))
	}, []string{"do not decode into int"}},
}

func init() { //nolint:gochecknoinits // those of WorkOne, which are many
	kind := holdfast.NewKind[int, string]("probe")
	worked := func(job func(env *holdfasttest.Env)) func(env *holdfasttest.Env) {
		return func(env *holdfasttest.Env) {
			if err := kind.Handle(env.Client, untilStopped); err != nil {
				env.T.Fatal(err)
			}
			job(env)
			holdfasttest.WorkOne(env, kind)
		}
	}
	mistakes["WorkOne without a handler"] = mistake{
		func(env *holdfasttest.Env) { holdfasttest.WorkOne(env, kind) },
		[]string{`kind "probe" has no handler in namespace default; register it with Handle before`},
	}
	mistakes["WorkOne beside a node"] = mistake{
		worked(func(env *holdfasttest.Env) { env.Start() }),
		[]string{"works the jobs already; leave out Start"},
	}
	mistakes["WorkOne without a job"] = mistake{
		worked(func(env *holdfasttest.Env) { enqueue(env, holdfast.NewKind[int, int]("other"), 1) }),
		[]string{`no job of kind "probe" is due; none was enqueued; others were: 1 of kind other`},
	}
	mistakes["WorkOne after the end"] = mistake{worked(func(env *holdfasttest.Env) {
		job := enqueue(env, kind, 1)
		if err := job.Cancel(env.T.Context(), "never"); err != nil {
			env.T.Fatal(err)
		}
	}), []string{"all that were enqueued have finished"}}
	mistakes["WorkOne of jobs that are not due"] = mistake{worked(func(env *holdfasttest.Env) {
		enqueue(env, kind, 1)
		enqueue(env, kind, 2, holdfast.Delay(time.Hour))
		enqueue(env, kind, 3, holdfast.Queue("paused"))
		_ = env.Client.PauseQueue(env.T.Context(), "paused")
		holdfasttest.WorkOne(env, kind)
	}), []string{
		"which Advance, a signal or a person may make due, are:", "parked, waits for signal stop", "scheduled, due in 1h0m0s", "is paused",
	}}
	mistakes["WorkOne of a handler that waits for the test"] = mistake{func(env *holdfasttest.Env) {
		stuck := handled(env, "stuck", func(run *holdfast.Run, _ int) (int, error) {
			<-run.Done()
			return 0, run.Err()
		})
		enqueue(env, stuck, 1)
		holdfasttest.WorkOne(env, stuck)
	}, []string{"does not come: 10 years", "stuck 0", "running for 87600h"}}
}

func init() { //nolint:gochecknoinits // those of stubs, which are many
	step := func(run *holdfast.Run, _ int) (int, error) {
		return holdfast.Step(run, "charge", func(context.Context) (int, error) { return 1, nil })
	}
	mistakes["Stub of another type"] = mistake{func(env *holdfasttest.Env) {
		holdfasttest.Stub(env, "charge", func(context.Context) (string, error) { return "", nil })
		ends(env, enqueue(env, kindOf(env, step), 1), store.Failed, 0)
	}, []string{
		`the stub of step "charge" of kind "probe" is a func(context.Context) (string, error), but`,
		"the result of the step makes it a func(context.Context) (int, error)",
	}}
	mistakes["Stub of no step"] = mistake{func(env *holdfasttest.Env) {
		holdfasttest.Stub(env, "chrage", func(context.Context) (int, error) { return 1, nil })
		ends(env, enqueue(env, kindOf(env, step), 1), store.Completed, 0)
	}, []string{`no handler has asked for step "chrage", which the test replaces; the steps asked for are: step "charge" of kind "probe"`}}
	mistakes["StubOf another kind"] = mistake{func(env *holdfasttest.Env) {
		holdfasttest.StubOf(env, holdfast.NewKind[int, int]("other"), "charge", func(context.Context) (int, error) { return 1, nil })
		ends(env, enqueue(env, kindOf(env, step), 1), store.Completed, 0)
	}, []string{`no handler has asked for step "charge" of kind "other", which`}}
	mistakes["Stub in a test without a job"] = mistake{func(env *holdfasttest.Env) {
		holdfasttest.Stub(env, "charge", func(context.Context) (int, error) { return 1, nil })
	}, []string{`the steps asked for are: none`}}
	mistakes["Stub without a function"] = mistake{func(env *holdfasttest.Env) {
		holdfasttest.Stub[int](env, "charge", nil)
	}, []string{"it takes the name of a step and a function, and one of them is missing"}}
	mistakes["StepTx without a stub"] = mistake{func(env *holdfasttest.Env) {
		kind := kindOf(env, func(run *holdfast.Run, _ int) (int, error) {
			return holdfast.StepTx(run, "book", sqlite.Begin(nil), func(context.Context, *sql.Tx) (int, error) { return 1, nil })
		})
		ends(env, enqueue(env, kind, 1), store.Failed, 0)
	}, []string{`step "book" of kind "probe" is a StepTx`, "replace it with holdfasttest.Stub"}}
}

// TestMistakes: a test that uses the kit wrongly, or whose expectations are not met, fails, and
// says what to do. Such tests run in a process of their own.
func TestMistakes(t *testing.T) {
	const inside = "HOLDFASTTEST_MISTAKES"
	if os.Getenv(inside) != "" {
		for name, m := range mistakes {
			t.Run(name, func(t *testing.T) { holdfasttest.Run(t, m.test) })
		}
		return
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	tests := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestMistakes$", "-test.v")
	tests.Env = append(os.Environ(), inside+"=1")
	output, err := tests.CombinedOutput()
	if err == nil {
		t.Error("no mistake was found")
	}
	for name, m := range mistakes {
		said := section(string(output), "TestMistakes/"+strings.ReplaceAll(name, " ", "_"))
		if !strings.Contains(said, "--- FAIL: ") {
			t.Errorf("%s: the test does not fail", name)
		}
		for _, want := range m.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: it does not say %q, but:\n%.2000s", name, want, said)
			}
		}
	}
}

// section is what a test with subtests has written in one of them, with how that ended.
func section(output, name string) string {
	var text strings.Builder
	in := false
	for line := range strings.Lines(output) {
		switch {
		case strings.HasPrefix(line, "=== "):
			in = strings.HasSuffix(strings.TrimSpace(line), " "+name)
		case strings.HasPrefix(strings.TrimSpace(line), "--- ") && strings.Contains(line, name+" ("), in:
			text.WriteString(line)
		}
	}
	return text.String()
}
