package observer

import (
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// Look looks at the queues of the namespaces that have nodes, and tells what is in them.
func (o *Observer) Look(ctx context.Context, st store.Store) error {
	nodes, err := st.Nodes(ctx)
	if err != nil {
		return err
	}
	var all []store.Queue
	var seen []string
	for i := range nodes {
		namespace := nodes[i].Info.Namespace
		if slices.Contains(seen, namespace) || len(seen) == MostNamespaces || !nodes[i].DeadAt.IsZero() {
			continue
		}
		seen = append(seen, namespace)
		queues, err := st.Queues(ctx, namespace)
		if err != nil {
			return err
		}
		all = append(all, queues...)
	}
	o.Queues(all, st.Now())
	return nil
}
