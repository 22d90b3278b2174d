package crashtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/holdfastdev/holdfast"
)

// flowRunner runs the jobs of TestFlows in a worker process.
type flowRunner struct {
	workerConfig
	file   *os.File
	caller *caller
}

// register gives the client its handlers. The process at the first place does not know errands that
// are tried once, so that what their handler promises has to be known where it is not.
func (w *flowRunner) register(client *holdfast.Client) error {
	if err := flowKind.Handle(client, w.flow); err != nil {
		return err
	}
	if err := errandKind.Handle(client, w.errand); err != nil || w.Place == 0 {
		return err
	}
	return onceKind.Handle(client, w.errand, holdfast.MaxAttempts(1))
}

var (
	errPlanned = errors.New("as planned")
	errStale   = fmt.Errorf("as planned, another fence says: %w", holdfast.ErrLeaseLost)
)

// failure is the error of a task that is to be tried again.
func (t *task) failure() error {
	if t.Stale {
		return errStale
	}
	return errPlanned
}

// snoozed is how long an errand snoozes.
const snoozed = 20 * time.Millisecond

func (w *flowRunner) errand(run *holdfast.Run, t task) (done, error) {
	p := &player{flowRunner: w, run: run, task: t}
	p.tell(eventStart, "", "")
	defer p.tell(eventLeave, "", "")
	if err := p.begin(); err != nil {
		return done{}, err
	}
	if t.Waits {
		<-run.Done()
		return done{}, context.Cause(run)
	}
	if err := p.act(run, "", t.Millis, ""); err != nil {
		return done{}, err
	}
	if err := p.say(run, theEnd); err != nil {
		return done{}, err
	}
	switch {
	case t.Fatal:
		return done{}, holdfast.Fail(errPlanned)
	case run.Attempt() <= t.Fails:
		return done{}, t.failure()
	case run.Lease().Number <= int64(t.Snoozes):
		return done{}, holdfast.Snooze(snoozed)
	}
	return done{Lease: run.Lease().Number}, nil
}

func (w *flowRunner) flow(run *holdfast.Run, t task) (done, error) {
	p := &player{flowRunner: w, run: run, task: t}
	p.tell(eventStart, "", "")
	defer p.tell(eventLeave, "", "")
	if t.Contradicts {
		return done{}, p.contradict()
	}
	if err := p.listen(run); err != nil {
		return done{}, err
	}
	if err := p.play(run, t.Ops[:1]); err != nil {
		return done{}, err
	}
	if t.Trips && run.Attempt() == 2 {
		return done{}, cmp.Or(p.say(run, t.Ops[1].name()), t.failure())
	}
	if err := p.play(run, t.Ops[1:]); err != nil {
		return done{}, err
	}
	if err := p.say(run, theEnd); err != nil {
		return done{}, err
	}
	switch {
	case t.Waits:
		_, err := neverSent.Wait(run)
		return done{}, err
	case t.Gen < t.Last:
		t.Gen++
		return done{}, holdfast.NewKind[task, done](run.Kind()).ContinueAsNew(t)
	case t.Fatal:
		return done{}, holdfast.Fail(errPlanned)
	case run.Attempt() <= t.Fails:
		return done{}, t.failure()
	}
	return done{Lease: run.Lease().Number}, nil
}

// contradict is a flow that asks for something else whenever it runs, which it does more than once.
func (p *player) contradict() error {
	o := op{Do: opStep, ID: int(p.run.Lease().Number)}
	if err := p.step(p.run, o, "contradiction"); err != nil {
		return err
	}
	for sleep := 100 * time.Millisecond; ; sleep *= 2 { // one that is over once it is stored does not end the run
		if err := p.run.Sleep(sleep); err != nil {
			return err
		}
	}
}
