package store

import (
	"errors"
	"testing"
)

// TestNoQueueIsAPattern: whatever names one queue refuses a pattern, which would otherwise be taken
// for the name of a queue that no job is in.
func TestNoQueueIsAPattern(t *testing.T) {
	t.Parallel()
	queue := "tenant-*"
	job := Job{ID: ID{1}, Namespace: "n", Queue: queue, Kind: "k", Priority: 2}
	for what, err := range map[string]error{
		"an enqueue": (&Enqueue{Job: job}).Check(),
		"a pause":    (&PauseParams{Namespace: "n", Queue: queue, Paused: true}).Check(),
		"settings":   (&SetQueueParams{Namespace: "n", Queue: queue, Set: AttemptSettings{MaxAttempts: 1}}).Check(),
		"a move":     (&EditParams{Job: ID{1}, Edit: Edit{Queue: &queue}}).Check(),
	} {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s of %q: %v", what, queue, err)
		}
	}
	for what, err := range map[string]error{ // of one that is there
		"a resume": (&PauseParams{Namespace: "n", Queue: queue}).Check(),
		"an unset": (&SetQueueParams{Namespace: "n", Queue: queue, Unset: SettingMaxAttempts}).Check(),
		"a delete": (&DeleteQueueParams{Namespace: "n", Queue: queue}).Check(),
		"its job":  job.Check(),
	} {
		if err != nil {
			t.Errorf("%s of %q: %v", what, queue, err)
		}
	}
}
