// Package writes has functions that write with a client.
package writes

import (
	"context"
	"errors"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/rules"
	"github.com/holdfastdev/holdfast/store"
)

var (
	mail     = holdfast.NewKind[string, int]("mail")
	approved = holdfast.NewSignal[string]("approved")
	ask      = holdfast.NewUpdate[string, int]("ask")
)

func wrong(run *holdfast.Run, in string) (int, error) {
	hf := run.Client()
	if err := run.Sleep(1); err != nil {
		return 0, err
	}
	if _, err := mail.Enqueue(run, hf, in); err != nil { // want `^Kind\.Enqueue happens again on every replay; start a child with Kind\.Start or Kind\.Call, or do it in a Step$`
		return 0, err
	}
	if _, err := mail.EnqueueMany(run, hf, []string{in}); err != nil { // want `^Kind\.EnqueueMany happens again on every replay; use Kind\.CallAll, or do it in a Step$`
		return 0, err
	}
	if _, err := hf.EnqueueBatch(run, []holdfast.BatchItem{mail.Item(in)}); err != nil { // want `^Client\.EnqueueBatch happens again`
		return 0, err
	}
	if _, err := approved.Send(run, hf, run.ID(), in); err != nil { // want `^Signal\.Send happens again on every replay; use Signal\.SendFrom, or do it in a Step$`
		return 0, err
	}
	// With a key it arrives once; what it answers is another thing on every replay all the same.
	if _, err := approved.Send(run, hf, run.ID(), in, holdfast.DedupKey("key")); err != nil { // want `^Signal\.Send happens again`
		return 0, err
	}
	if _, err := hf.SendSignal(run, run.ID(), "approved", nil); err != nil { // want `^Client\.SendSignal happens again`
		return 0, err
	}
	if _, err := approved.SendByKey(run, hf, "mail", "key", in); err != nil { // want `^Signal\.SendByKey happens again on every replay; do it in a Step$`
		return 0, err
	}
	if _, err := approved.SendOrStart(run, hf, mail.Item(in), in); err != nil { // want `^Signal\.SendOrStart happens again`
		return 0, err
	}
	if _, err := hf.SendSignalByKey(run, "mail", "key", "approved", nil); err != nil { // want `^Client\.SendSignalByKey happens again`
		return 0, err
	}
	_, err1 := hf.Cancel(run, "enough", run.ID())               // want `^Client\.Cancel happens again on every replay; do it in a Step$`
	_, err2 := hf.Terminate(run, "enough", run.ID())            // want `^Client\.Terminate happens again`
	_, err3 := hf.Retry(run, "", run.ID())                      // want `^Client\.Retry happens again`
	_, err4 := hf.Pause(run, "wait", run.ID())                  // want `^Client\.Pause happens again`
	_, err5 := hf.Resume(run, "go", run.ID())                   // want `^Client\.Resume happens again`
	_, err6 := hf.Fork(run, "again", run.ID(), holdfast.Fork{}) // want `^Client\.Fork happens again`
	err7 := hf.PauseQueue(run, "mail")                          // want `^Client\.PauseQueue happens again`
	err8 := hf.ResumeQueue(run, "mail")                         // want `^Client\.ResumeQueue happens again`
	err9 := hf.CompleteCallback(run, in, 1)                     // want `^Client\.CompleteCallback happens again`
	err10 := hf.FailCallback(run, in, "no")                     // want `^Client\.FailCallback happens again`
	err11 := hf.HeartbeatCallback(run, in)                      // want `^Client\.HeartbeatCallback happens again`
	err12 := mail.Job(hf, run.ID()).Cancel(run, "enough")       // want `^Job\.Cancel happens again`
	err13 := mail.Complete(run, hf, run.ID(), 1)                // want `^Kind\.Complete happens again`
	err14 := hf.Complete(run, run.ID(), nil)                    // want `^Client\.Complete happens again`
	err15 := hf.Fail(run, run.ID(), err14)                      // want `^Client\.Fail happens again`
	err16 := hf.ContinueAsNew(run, "", run.ID(), nil)           // want `^Client\.ContinueAsNew happens again`
	_, err17 := hf.CallUpdate(run, run.ID(), "ask", nil)        // want `^Client\.CallUpdate happens again`
	_, err18 := ask.Call(run, hf, run.ID(), in)                 // want `^Update\.Call happens again`
	_, err19 := rules.Answer(run, hf, in, nil)                  // want `^rules\.Answer happens again`
	err16 = errors.Join(err13, err14, err15, err16, err17, err18, err19)
	return 0, errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10, err11, err12, err16)
}

func wrongTx(run *holdfast.Run, tx store.Tx) error {
	_, err1 := mail.EnqueueTx(run, run.Client(), tx, "")                         // want `^Kind\.EnqueueTx happens again on every replay; do it in a StepTx$`
	_, err2 := approved.SendTx(run, run.Client(), tx, run.ID(), "")              // want `^Signal\.SendTx happens again`
	_, err3 := run.Client().EnqueueBatchTx(run, tx, nil)                         // want `^Client\.EnqueueBatchTx happens again`
	_, err4 := run.Client().CancelTx(run, tx, "", run.ID())                      // want `^Client\.CancelTx happens again`
	_, err5 := run.Client().RetryTx(run, tx, "", run.ID())                       // want `^Client\.RetryTx happens again`
	err6 := run.Client().CompleteTx(run, tx, run.ID(), nil)                      // want `^Client\.CompleteTx happens again`
	err7 := run.Client().FailTx(run, tx, run.ID(), err6)                         // want `^Client\.FailTx happens again`
	err8 := mail.CompleteTx(run, run.Client(), tx, run.ID(), 1)                  // want `^Kind\.CompleteTx happens again`
	_, err10 := approved.SendOrStartTx(run, run.Client(), tx, mail.Item(""), "") // want `^Signal\.SendOrStartTx happens again on every replay; do it in a StepTx$`
	// It is the run's own, and the last thing that it does.
	err9 := errors.Join(run.CompleteTx(tx, 1), run.FailTx(tx, err8))
	return errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10, run.Sleep(1))
}

// What strands and compensations do is replayed, too.
func strands(run *holdfast.Run, in string) (int, error) {
	f, err := holdfast.Go(run, "notify", func(run *holdfast.Run) (int, error) {
		_, err := mail.Enqueue(run, run.Client(), in) // want `^Kind\.Enqueue happens again`
		return 0, err
	})
	if err != nil {
		return 0, err
	}
	if err := run.OnFailure("tell", func(run *holdfast.Run) error {
		_, err := approved.Send(run, run.Client(), run.ID(), in) // want `^Signal\.Send happens again`
		return err
	}); err != nil {
		return 0, err
	}
	return f.Wait(run)
}

// A method of a client that is kept somewhere.
type flow struct{ hf *holdfast.Client }

func (f *flow) handle(run *holdfast.Run, in string) (int, error) {
	if _, err := mail.Enqueue(run, f.hf, in); err != nil { // want `^Kind\.Enqueue happens again`
		return 0, err
	}
	return mail.Call(run, in)
}

func right(run *holdfast.Run, in string) (int, error) {
	hf := run.Client()
	if _, err := holdfast.Step(run, "enqueue", func(ctx context.Context) (holdfast.ID, error) {
		if _, err := approved.Send(ctx, hf, run.ID(), in, holdfast.DedupKey("key")); err != nil {
			return holdfast.ID{}, err
		}
		_, err := mail.Enqueue(ctx, hf, in)
		return run.ID(), err
	}); err != nil {
		return 0, err
	}
	if _, err := hf.Get(run, run.ID()); err != nil { // to look is not to write
		return 0, err
	}
	if err := approved.SendFrom(run, run.ID(), in); err != nil {
		return 0, err
	}
	return mail.Call(run, in)
}

// A plain background job enqueues others as it likes.
func plain(run *holdfast.Run, in string) (int, error) {
	if _, err := mail.Enqueue(run, run.Client(), in); err != nil {
		return 0, err
	}
	_, err := approved.Send(run, run.Client(), run.ID(), in)
	return 0, err
}

// It registers handlers that are durable, and enqueues itself.
func register(ctx context.Context, hf *holdfast.Client) error {
	if err := mail.Handle(hf, func(run *holdfast.Run, in string) (int, error) { return 0, run.Sleep(1) }); err != nil {
		return err
	}
	_, err := mail.Enqueue(ctx, hf, "first")
	return err
}
