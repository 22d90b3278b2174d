package namespace

import (
	"context"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// Details are what is said of a namespace, and what is in it.
type Details struct {
	store.Namespace

	// Jobs are how many there are in each state, up to store.CountBound: see holdfast.Client.Count.
	Jobs map[store.State]store.Count
	// Queues, Schedules, Limits and Keys are how many there are, Nodes how many live. Up to a
	// thousand schedules and keys are counted. Keys are those of this namespace alone, also those
	// that were revoked or have expired.
	Queues, Limits, Nodes int
	Schedules, Keys       store.Count
}

// most is how many schedules and keys are counted.
const most = 1000

// Get returns a namespace with what is in it: the queries take as long as to list so many jobs of
// each state. The errors are ErrInvalid, and ErrNotFound for one that has no row and is not in use.
func Get(ctx context.Context, c *holdfast.Client, name string) (Details, error) {
	e, _ := access.Engine(c)
	d := Details{Jobs: map[store.State]store.Count{}}
	rows, err := e.Store.Namespaces(ctx, store.NamespaceParams{Name: name, Limit: 1})
	if err != nil {
		return d, err
	}
	if len(rows) == 0 {
		return d, store.NoNamespace(name)
	}
	d.Namespace = rows[0]
	for _, state := range store.States {
		n, err := c.Count(ctx, store.Filter{Namespace: name, States: []store.State{state}})
		if err != nil {
			return d, err
		}
		d.Jobs[state] = n
	}
	return d, d.countRest(ctx, e.Store)
}

func (d *Details) countRest(ctx context.Context, st store.Store) error {
	queues, err := st.Queues(ctx, d.Name)
	if err != nil {
		return err
	}
	limits, err := st.Limits(ctx, d.Name, "")
	if err != nil {
		return err
	}
	nodes, err := st.Nodes(ctx)
	if err != nil {
		return err
	}
	for i := range nodes {
		if n := &nodes[i]; n.DeadAt.IsZero() && n.Info.Namespace == d.Name {
			d.Nodes++
		}
	}
	schedules, err := st.Schedules(ctx, store.ScheduleFilter{Namespace: d.Name, Limit: most})
	if err != nil {
		return err
	}
	keys, err := st.APIKeys(ctx, store.APIKeyParams{Namespace: d.Name, Limit: most})
	if err != nil {
		return err
	}
	d.Queues, d.Limits = len(queues), len(limits)
	d.Schedules = store.Count{N: len(schedules), More: len(schedules) == most}
	d.Keys = store.Count{N: len(keys), More: len(keys) == most}
	return nil
}
