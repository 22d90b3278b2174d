package workers_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// shop is a Go program with a durable function, whose journal a worker may have begun, or may go on
// with.
type shop struct {
	order    holdfast.Kind[int, string]
	approved holdfast.Signal[string]
	mail     holdfast.Kind[string, string]
	charged  atomic.Int32
}

func newShop() *shop {
	return &shop{
		order: holdfast.NewKind[int, string]("order"), approved: holdfast.NewSignal[string]("approved"),
		mail: holdfast.NewKind[string, string]("mail"),
	}
}

// run is the function: a step, a sleep, a signal with a time limit, a child, and a step.
func (p *shop) run(run *holdfast.Run, _ int) (string, error) {
	charge, err := holdfast.Step(run, "charge", func(context.Context) (int, error) {
		p.charged.Add(1)
		return 7, nil
	})
	if err != nil {
		return "", err
	}
	if err := run.Sleep(10 * time.Millisecond); err != nil {
		return "", err
	}
	by, err := p.approved.Wait(run, holdfast.WaitAtMost(time.Hour))
	if err != nil {
		return "", err
	}
	sent, err := p.mail.Call(run, by)
	if err != nil {
		return "", err
	}
	return holdfast.Step(run, "file", func(context.Context) (string, error) {
		return by + " " + sent + " " + string(rune('0'+charge)), nil
	})
}

// node runs a node of the program until the function that it returns.
func (p *shop) node(t *testing.T, c *holdfast.Client) (stop func()) {
	t.Helper()
	if err := p.order.Handle(c, p.run); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// wait waits for the end of a job of the function.
func (p *shop) wait(t *testing.T, c *holdfast.Client, id string) (string, error) {
	t.Helper()
	if err := c.Wait(t.Context(), parse(t, id)); err != nil {
		return "", err
	}
	record, err := c.Get(t.Context(), parse(t, id))
	return strings.Trim(string(record.Result), `"`), err
}

const shopJournal = "step 1 charge, timer 2 , timer 3 approved, received 3 approved, child 4 mail, step 5 file"

// TestNodeGoesOn: a Go node goes on with the journal that a worker has begun, wherever that is.
func TestNodeGoesOn(t *testing.T) {
	t.Parallel()
	for name, begun := range map[string]int{"after a step": 1, "after a sleep": 2, "in a wait": 3, "after a signal": 4, "after a child": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(s, other *apitest.Server) {
				p := newShop()
				w, helper := register(s, order), register(s, mail)
				id := s.Enqueue(job{"kind": "order", "args": 1})
				s.OK(200, post, "/jobs/"+id+"/signals", `{"name":"approved","payload":"ann"}`)
				r := w.takes()
				r.appends(s, false, []job{
					{"kind": "step", "path": "1", "name": "charge", "data": 5},
					{"kind": "timer", "path": "2", "for": "10ms"},
					{"kind": "timer", "path": "3", "name": "approved", "for": "1h"},
					{"kind": "received", "path": "3", "name": "approved", "message": 1},
					{"kind": "child", "path": "4", "name": "mail", "job": job{"kind": "mail", "args": "ann"}},
				}[:begun]...)
				s.OK(200, post, run(r.job, "release"), `{}`)
				s.OK(200, post, "/workers/"+w.token+"/leave", nil)
				defer p.node(t, other.Client)()
				child := helper.one()
				if child["args"] != "ann" {
					t.Errorf("the child is %v", child)
				}
				s.OK(200, post, run(child, "complete"), `{"result":"sent"}`)
				result, err := p.wait(t, other.Client, id)
				if err != nil || result != "ann sent 5" || p.charged.Load() != 0 {
					t.Errorf("%q, %v, charged %d times", result, err, p.charged.Load())
				}
				want := shopJournal
				if begun == 4 || begun == 5 || begun == 3 {
					wantJournal(s, id, want)
				}
			})
		})
	}
}

// TestWorkerGoesOn: a worker goes on with the journal that a Go node has begun.
func TestWorkerGoesOn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		p := newShop()
		stop := p.node(t, s.Client)
		id := s.Enqueue(job{"kind": "order", "args": 1})
		until(s, func() bool { return remembered(s, id) == "step 1 charge, timer 2 , timer 3 approved" })
		until(s, func() bool { is, _ := state(s, id); return is == "waiting" })
		stop()
		w, helper := register(other, order), register(s, mail)
		other.OK(200, post, "/jobs/"+id+"/signals", `{"name":"approved","payload":"ann"}`)
		r := w.takes()
		if r.last != 3 || integer(r.journal(s)["entries"].([]any)[0].(job)["data"]) != 7 {
			t.Errorf("the worker finds %v", r.journal(s))
		}
		r.appends(s, false, job{"kind": "received", "path": "3", "name": "approved", "message": 1},
			job{"kind": "child", "path": "4", "name": "mail", "job": job{"kind": "mail", "args": "ann"}})
		other.OK(200, post, run(r.job, "park"), `{"messages":["child"],"seen":1}`)
		s.OK(200, post, run(helper.one(), "complete"), `{"result":"sent"}`)
		r = w.takes()
		r.appends(other, false, job{"kind": "step", "path": "5", "name": "file", "data": "x"})
		s.OK(200, post, run(r.job, "complete"), `{"result":"x"}`)
		wantJournal(s, id, shopJournal)
		// And back: what a worker has ended is retried by a Go node, which finds all of it.
	})
}

// TestForkOfAWorkersJournal: a job that a worker has ended is forked, and a Go node runs the fork.
func TestForkOfAWorkersJournal(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		p := newShop()
		w, helper := register(s, order), register(s, mail)
		id := s.Enqueue(job{"kind": "order", "args": 1})
		s.OK(200, post, "/jobs/"+id+"/signals", `{"name":"approved","payload":"ann"}`)
		r := w.takes()
		r.appends(s, false,
			job{"kind": "step", "path": "1", "name": "charge", "data": 5},
			job{"kind": "timer", "path": "2", "for": "10ms"},
			job{"kind": "timer", "path": "3", "name": "approved", "for": "1h"},
			job{"kind": "received", "path": "3", "name": "approved", "message": 1},
			job{"kind": "child", "path": "4", "name": "mail", "job": job{"kind": "mail", "args": "ann"}})
		s.OK(200, post, run(r.job, "park"), `{"messages":["child"],"seen":1}`)
		s.OK(200, post, run(helper.one(), "complete"), `{"result":"sent"}`)
		r = w.takes()
		s.OK(200, post, run(r.job, "fail"), job{"error": "no paper", "permanent": true, "journal": job{"after": 5, "entries": []job{
			{"kind": "step failed", "path": "5", "name": "file", "data": job{"message": "no paper", "attempts": 1}},
		}}})
		s.OK(200, post, "/workers/"+w.token+"/leave", nil)
		fork := s.OK(201, post, "/jobs/"+id+"/fork", `{"from":"file"}`)
		forked := text(fork.JSON, "id")
		defer p.node(t, other.Client)()
		if result, err := p.wait(t, other.Client, forked); err != nil || result != "ann sent 5" {
			t.Errorf("the fork: %q, %v", result, err)
		}
		// Retried from where it failed, the job itself does the step again.
		s.OK(200, post, "/jobs/"+id+"/resume", `{}`)
		if result, err := p.wait(t, other.Client, id); err != nil || result != "ann sent 5" {
			t.Errorf("resumed: %q, %v", result, err)
		}
	})
}

// TestCompensatesElsewhere: a job whose journal has what only a Go node goes on from is given back.
func TestCompensatesElsewhere(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		task := holdfast.NewTask[int]("order")
		approved := holdfast.NewSignal[int]("approved")
		var undone atomic.Int32
		handle := func(run *holdfast.Run, _ int) error {
			err := run.OnFailure("refund", func(*holdfast.Run) error {
				undone.Add(1)
				return nil
			})
			if err == nil {
				_, err = approved.Wait(run)
			}
			if err != nil {
				return err
			}
			return holdfast.Fail(context.Canceled)
		}
		begin := func(c *holdfast.Client) (stop func()) {
			if err := task.Handle(c, handle); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- c.Run(ctx) }()
			return func() { cancel(); <-ended }
		}
		stop := begin(s.Client)
		id := s.Enqueue(job{"kind": "order", "args": 1})
		until(s, func() bool { is, _ := state(s, id); return is == "waiting" })
		stop()
		w := register(other, order)
		other.OK(200, post, "/jobs/"+id+"/signals", `{"name":"approved","payload":1}`)
		j := w.one()
		other.Refused(409, "lease_lost", get, run(j, "journal"), nil)
		wantState(s, id, "scheduled")
		defer begin(other.Client)()
		if err := task.Wait(t.Context(), other.Client, parse(t, id)); err == nil || undone.Load() != 1 {
			t.Errorf("%v, undone %d times", err, undone.Load())
		}
	})
}

func parse(t *testing.T, id string) (parsed holdfast.ID) {
	t.Helper()
	if err := parsed.UnmarshalText([]byte(id)); err != nil {
		t.Fatal(err)
	}
	return parsed
}

// until waits until something is so that a node brings about.
func until(s *apitest.Server, is func() bool) {
	s.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) { //nolint:forbidigo // the node has a time of its own
		if time.Now().After(deadline) {
			s.Fatal("it does not come to that")
		}
	}
}
