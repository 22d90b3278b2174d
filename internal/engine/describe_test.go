package engine

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// cannotDescribe fails to write descriptors.
type cannotDescribe struct {
	store.Store

	calls atomic.Int64
}

func (s *cannotDescribe) Describe(context.Context, []store.Descriptor, string) (int, error) {
	s.calls.Add(1)
	return 0, store.ErrPermission
}

// TestANodeThatCannotDescribeRuns: what is told for people does not keep jobs from running.
func TestANodeThatCannotDescribeRuns(t *testing.T) {
	t.Parallel()
	cfg := Config{Node: NodeConfig{Describes: []store.Descriptor{
		{Namespace: "any", Subject: store.SubjectKind, Name: "k", Data: []byte("{}")},
	}}}
	var broken *cannotDescribe
	inBedOf(t, cfg, func(st store.Store) store.Store {
		broken = &cannotDescribe{Store: st}
		return broken
	}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		b.expect(b.wait(b.enqueue(b.job("k"))), store.Completed, "")
		if n := broken.calls.Load(); n != 1 {
			t.Errorf("it was told %d times", n)
		}
	})
}

// TestANodeDescribesInItsNamespace: and with its build.
func TestANodeDescribesInItsNamespace(t *testing.T) {
	t.Parallel()
	cfg := Config{Node: NodeConfig{
		Build:     store.Build{Program: "v1", Engine: "v2"},
		Describes: []store.Descriptor{{Namespace: "any", Subject: store.SubjectKind, Name: "k", Data: []byte(`{"owner":"ada"}`)}},
	}}
	inBed(t, cfg, func(b *bed) {
		b.handle("k", ok)
		b.run()
		b.wait(b.enqueue(b.job("k")))
		for namespace, want := range map[string]int{"default": 1, "any": 0} {
			list, err := b.st.Descriptors(t.Context(), store.DescriptorParams{Namespace: namespace, Subject: store.SubjectKind, Limit: 10})
			if err != nil || len(list) != want || want == 1 && list[0].Build != (store.Build{Program: "v1", Engine: "v2"}) {
				t.Errorf("in %s: %+v, %v", namespace, list, err)
			}
		}
	})
}
