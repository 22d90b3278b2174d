package holdfast

import (
	"github.com/holdfastdev/holdfast/store"
)

// wantedFollowUp is what the options of package after ask for.
type wantedFollowUp struct {
	policy store.FailurePolicy
	item   BatchItem
}

// buildFollowUps makes the follow-ups of a job, whose id is known.
func (c *Client) buildFollowUps(spec *enqueueSpec) error {
	for _, w := range spec.wanted {
		f, err := c.buildFollowUp(w, spec.enqueue.Job.ID)
		if err != nil {
			return err
		}
		spec.follows = append(spec.follows, f)
		spec.enqueue.FollowUps = append(spec.enqueue.FollowUps, &f.enqueue)
	}
	return nil
}

func (c *Client) buildFollowUp(w wantedFollowUp, of ID) (*enqueueSpec, error) {
	if w.item.build == nil {
		return nil, invalid("follow-up", "it is missing; Kind.Item makes one")
	}
	f, err := w.item.build(c)
	if err != nil {
		return nil, err
	}
	e := &f.enqueue
	switch {
	case e.KnownID:
		return nil, invalid("follow-up", "kind %q: its id is made for it; remove the option JobID", e.Job.Kind)
	case f.unique != nil:
		return nil, invalid("follow-up", "kind %q: it cannot have a unique key; remove the option Unique", e.Job.Kind)
	case e.Job.Options.Key != "":
		return nil, invalid("follow-up", "kind %q: it cannot have a business key; remove the option Key", e.Job.Kind)
	case len(e.After) > 0:
		return nil, invalid("follow-up", "kind %q: it comes after the job that it follows, and no other", e.Job.Kind)
	}
	e.After = []store.Dependency{{On: of, IfFailed: w.policy}}
	e.Job.Options.Follows = of
	return f, nil
}

// unfold lists enqueues and, behind each, its follow-ups.
func unfold(specs []*enqueueSpec) []*enqueueSpec {
	var all []*enqueueSpec
	for _, spec := range specs {
		if all = append(all, spec); spec != nil && len(spec.follows) > 0 {
			all = append(all, unfold(spec.follows)...)
		}
	}
	return all
}
