package faulttest

import (
	"context"
	"sync/atomic"

	"github.com/holdfastdev/holdfast"
)

// changing is a durable job whose code changes between its runs.
var (
	changing = holdfast.NewKind[int, string]("changing")
	goOn     = holdfast.NewSignal[int]("go on")
	poke     = holdfast.NewSignal[int]("poke") // wakes it, and is not what it waits for
)

// code is one version of it, which notes how often it is called.
type code struct {
	step   string
	calls  atomic.Int64
	undone atomic.Int64
}

func (c *code) handle(run *holdfast.Run, _ int) (string, error) {
	c.calls.Add(1)
	if _, err := holdfast.Step(run, c.step, func(context.Context) (int, error) { return 1, nil }); err != nil {
		return "", err
	}
	err := run.OnFailure("undo", func(*holdfast.Run) error { c.undone.Add(1); return nil })
	if err != nil {
		return "", err
	}
	if _, err := goOn.Wait(run); err != nil {
		return "", err
	}
	return c.step, nil
}
