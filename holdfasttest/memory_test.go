package holdfasttest

import (
	"context"
	"slices"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestChildrenThatAreClosedAreNews: the processes are told of children that ended because their
// parent did, after they have: what they are told of the end of the parent is too early for those.
func TestChildrenThatAreClosedAreNews(t *testing.T) {
	t.Parallel()
	Run(t, func(env *Env) {
		t := env.T
		child := holdfast.NewKind[int, int]("child")
		parent := holdfast.NewKind[int, int]("parent")
		if err := parent.Handle(env.Client, func(run *holdfast.Run, _ int) (int, error) {
			_, err := child.Start(run, 1)
			return 1, err
		}); err != nil {
			t.Fatal(err)
		}
		other, stopped := env.world.memory.process(), make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		var heard []store.Wake
		go func() {
			defer close(stopped)
			if err := other.Watch(ctx, func(w store.Wake) { heard = append(heard, w) }); err != nil {
				t.Error(err)
			}
		}()
		env.Start()
		if _, err := parent.Enqueue(t.Context(), env.Client, 1); err != nil {
			t.Fatal(err)
		}
		env.WaitIdle()
		id := RequireEnqueued(env, child)[0].ID
		stop()
		<-stopped
		i := slices.IndexFunc(heard, func(w store.Wake) bool { return w.Kind == store.WakeCancel && slices.Contains(w.Jobs, id) })
		if i < 1 || heard[i-1].Kind != store.WakeNews {
			t.Errorf("the other process has heard %v", heard)
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
}
