package holdfast_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestShare: slots that are kept for a queue are free for its jobs, however many of another queue
// wait and run; and no others are.
func TestShare(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	hf := open(t, holdfast.WithSlots(4), holdfast.WithQueue("bulk", 0), holdfast.WithQueue("urgent", 0), holdfast.WithShare("urgent", 1, 1))
	begun, release := make(chan string, 100), make(chan struct{})
	task := holdfast.NewTask[string]("wait")
	if err := task.Handle(hf, func(_ *holdfast.Run, queue string) error {
		begun <- queue
		<-release
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	enqueue := func(queue string, n int) {
		for range n {
			if _, err := task.Enqueue(ctx, hf, queue, holdfast.Queue(queue)); err != nil {
				t.Fatal(err)
			}
		}
	}
	enqueue("bulk", 20)
	run(t, hf)
	defer close(release)
	for range 3 {
		if queue := <-begun; queue != "bulk" {
			t.Fatalf("a job of %s has begun", queue)
		}
	}
	enqueue("urgent", 1)
	if queue := <-begun; queue != "urgent" {
		t.Errorf("a job of %s has begun in the slot that is kept for another queue", queue)
	}
}

func TestShareInvalid(t *testing.T) {
	t.Parallel()
	mail := holdfast.WithQueue("mail", 3)
	for want, opts := range map[string][]holdfast.Option{
		"queue":                          {mail, holdfast.WithShare("", 1, 1)},
		"must not be negative":           {mail, holdfast.WithShare("mail", -1, 1)},
		"between 1 and 1000":             {mail, holdfast.WithShare("mail", 1, 0)},
		"given twice":                    {mail, holdfast.WithShare("mail", 1, 1), holdfast.WithShare("mail", 1, 1)},
		"does not serve queue \"other\"": {mail, holdfast.WithShare("other", 1, 1)},
		"does not serve queue \"mail\"":  {holdfast.WithShare("mail", 1, 1)},
		"which has 3":                    {mail, holdfast.WithShare("mail", 4, 1)},
		"the node has 2": {
			holdfast.WithShare("mail", 2, 1), mail, holdfast.WithQueue("a", 0), holdfast.WithShare("a", 1, 1), holdfast.WithSlots(2),
		},
	} {
		_, err := holdfast.Open(t.Context(), sqlite.File(sqlite.Memory), opts...)
		if !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
