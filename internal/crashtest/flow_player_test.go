package crashtest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// player is one run of a task.
type player struct {
	*flowRunner
	run  *holdfast.Run
	task task
}

// tell writes a record. Without the file the worker is of no use.
func (p *player) tell(event, step, value string) {
	lease := p.run.Lease()
	err := appendRecord(p.file, trace{
		Event: event, Job: p.run.ID(), N: p.task.N, Gen: p.task.Gen, Lease: lease.Number, Attempt: p.run.Attempt(),
		Node: lease.Node, By: p.Name, Step: step, Value: value,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// act does what is done outside: half of its time before the effect, half after it.
func (p *player) act(ctx context.Context, step string, millis int, value string) error {
	half := time.Duration(millis) * time.Millisecond / 2
	if err := spend(ctx, half); err != nil {
		return err
	}
	p.tell(eventEffect, step, value)
	return spend(ctx, half)
}

// play does operations one after the other.
func (p *player) play(run *holdfast.Run, ops []op) error {
	for _, o := range ops {
		if err := p.do(run, o); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) do(run *holdfast.Run, o op) error {
	if o.Says {
		if err := p.say(run, o.name()); err != nil {
			return err
		}
	}
	switch o.Do {
	case opBroken:
		return p.broken(run, o)
	case opCharge:
		if err := p.step(run, o, "charged"); err != nil {
			return err
		}
		return run.OnFailure(o.undo(), func(run *holdfast.Run) error { return p.undo(run, o) })
	case opRow:
		return p.row(run, o)
	case opSleep:
		if err := run.Sleep(time.Duration(o.Millis) * time.Millisecond); err != nil {
			return err
		}
		return p.step(run, o, "slept")
	case opSignal, opHurry, opRace, opPledge:
		return p.signal(run, o)
	case opChild:
		return p.call(run, o)
	case opFan:
		return p.callAll(run, o)
	case opStrands:
		return p.strands(run, o)
	default:
		return p.step(run, o, "done")
	}
}

// step is the step of an operation. Every other one takes no notice of the end of its context.
func (p *player) step(run *holdfast.Run, o op, value string) error {
	got, err := holdfast.Step(run, o.name(), func(ctx context.Context) (string, error) {
		if o.ID%2 == 0 {
			ctx = context.WithoutCancel(ctx)
		}
		if err := p.act(ctx, o.name(), min(o.Millis, 30), value); err != nil {
			return "", err
		}
		if o.Do == opFlaky && rand.IntN(3) == 0 {
			return "", errPlanned
		}
		return value, p.sayWithin(run, o)
	}, holdfast.MaxAttempts(30), holdfast.Backoff(5*time.Millisecond, 80*time.Millisecond))
	if err == nil {
		p.tell(eventRemembered, o.name(), got)
	}
	return err
}

// broken goes on from a failure, which is remembered with what comes next.
func (p *player) broken(run *holdfast.Run, o op) error {
	_, err := holdfast.Step(run, o.name(), func(ctx context.Context) (string, error) {
		return "", cmp.Or(p.act(ctx, o.name(), o.Millis, ""), errPlanned)
	}, holdfast.MaxAttempts(2), holdfast.Backoff(5*time.Millisecond, 5*time.Millisecond))
	if _, failed := errors.AsType[*holdfast.StepError](err); failed {
		return nil
	}
	return err
}

// undo is a compensation, which sometimes fails and is tried again. A slow one sleeps, before or
// after it has undone anything.
func (p *player) undo(run *holdfast.Run, o op) error {
	pause := func(when int) error {
		if !o.Slow || o.ID%2 != when {
			return nil
		}
		return run.Sleep(80 * time.Millisecond)
	}
	if o.Says {
		if err := p.say(run, o.undo()); err != nil {
			return err
		}
	}
	if err := pause(0); err != nil {
		return err
	}
	got, err := holdfast.Step(run, o.undo(), func(ctx context.Context) (string, error) {
		if err := p.act(ctx, o.undo(), o.Millis, "undone"); err != nil {
			return "", err
		}
		if rand.IntN(10) == 0 {
			return "", errPlanned
		}
		return "undone", nil
	})
	if err != nil {
		return err
	}
	p.tell(eventRemembered, o.undo(), got)
	return pause(1)
}

// row writes a row in the transaction that remembers the step.
func (p *player) row(run *holdfast.Run, o op) error {
	got, err := holdfast.StepTx(run, o.name(), hasty{p.caller.begin}, func(ctx context.Context, tx *sql.Tx) (string, error) {
		lease := run.Lease()
		value := fmt.Sprintf("row of lease %d", lease.Number)
		r := row{job: run.ID(), gen: p.task.Gen, step: o.name(), lease: lease.Number, node: lease.Node}
		if err := p.caller.insertRow(ctx, tx, r); err != nil {
			return "", err
		}
		return value, cmp.Or(p.act(ctx, o.name(), o.Millis, value), p.sayWithin(run, o))
	}, holdfast.MaxAttempts(100), holdfast.Backoff(2*time.Millisecond, 40*time.Millisecond))
	if err == nil {
		p.tell(eventRemembered, o.name(), got)
	}
	return err
}

// hasty gives every third transaction a time limit, which ends while it begins, writes or commits,
// or just after that.
type hasty struct{ holdfast.Transactor[*sql.Tx] }

func (h hasty) Transact(ctx context.Context, fn func(tx *sql.Tx, wrapped store.Tx) error) error {
	if rand.IntN(3) == 0 {
		limited, stop := context.WithTimeout(ctx, time.Duration(rand.IntN(20_000))*time.Microsecond)
		defer stop()
		ctx = limited
	}
	return h.Transactor.Transact(ctx, fn)
}

const timedOut = "nothing came"

// signal waits for the next signal, and has a step say which it was.
func (p *player) signal(run *holdfast.Run, o op) error {
	var (
		signal = noteOf(p.task.Gen)
		limit  = time.Duration(o.Millis) * time.Millisecond
		got    key
		err    error
		late   bool
	)
	switch o.Do {
	case opHurry:
		got, err = signal.Wait(run, holdfast.WaitAtMost(limit))
		late = errors.Is(err, holdfast.ErrWaitTimeout)
	case opRace:
		var timer holdfast.Waitable
		if timer, err = run.Timer(limit); err == nil {
			var first int
			first, err = holdfast.Select(run, timer, signal.Into(&got))
			late = err == nil && first == 0
		}
	default:
		got, err = signal.Wait(run)
	}
	switch {
	case late:
		return p.step(run, o, timedOut)
	case err == nil && o.Do == opPledge:
		err = run.OnFailure(o.undo(), func(run *holdfast.Run) error { return p.undo(run, o) })
	}
	if err != nil {
		return err
	}
	return p.step(run, o, keyValue(got.Number))
}

func keyValue(number int) string { return fmt.Sprintf("key %d", number) }

// called is a child's args.
func (p *player) called(o op) task {
	child := *o.Child
	child.Of = p.task.Gen
	return child
}

func (p *player) call(run *holdfast.Run, o op) error {
	child := p.called(o)
	started, err := child.kind().Start(run, child)
	if err != nil {
		return err
	}
	out, err := started.Wait(run)
	value, err := answerOf(started.ID, out, err)
	if err != nil {
		return err
	}
	return p.step(run, o, value)
}

func (p *player) callAll(run *holdfast.Run, o op) error {
	child := p.called(o)
	ins := make([]task, o.Count)
	for i := range ins {
		ins[i] = child
	}
	results, err := child.kind().CallAll(run, ins, holdfast.FanOut{AtOnce: 2})
	if err != nil {
		return err
	}
	values := make([]string, len(results))
	for i, r := range results {
		if values[i], err = answerOf(r.ID, r.Value, r.Err); err != nil {
			return err
		}
	}
	return p.step(run, o, strings.Join(values, answers))
}

// answers stands between what several children answered.
const answers = ", "

// answerOf says what a child answered. An error is that of the run.
func answerOf(id holdfast.ID, out done, err error) (string, error) {
	ended, failed := errors.AsType[*holdfast.JobError](err)
	switch {
	case failed:
		return answer(id, ended.State, 0), nil
	case err != nil:
		return "", err
	}
	return answer(id, store.Completed, out.Lease), nil
}

// answer is short, because of the size of a record: the end of an id is random.
func answer(id holdfast.ID, state store.State, lease int64) string {
	text := id.String()
	return fmt.Sprintf("%s %s by %d", text[len(text)-12:], state, lease)
}

// strands awaits both strands in any case: one that is left behind ends only at its next operation.
func (p *player) strands(run *holdfast.Run, o op) error {
	var futures []*holdfast.Future[struct{}]
	for _, ops := range [][]op{o.Left, o.Right} {
		f, err := holdfast.Go(run, o.name(), func(run *holdfast.Run) (struct{}, error) { return struct{}{}, p.play(run, ops) })
		if err != nil {
			return err
		}
		futures = append(futures, f)
	}
	_, left := futures[0].Wait(run)
	_, right := futures[1].Wait(run)
	return cmp.Or(left, right)
}
