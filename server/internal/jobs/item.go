package jobs

import (
	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server/internal/api"
)

// Item returns the job for a resource that enqueues it later, if the caller may enqueue it. at is
// the JSON pointer of the specification.
func (s *NewJob) Item(c *api.Call, at string) (holdfast.BatchItem, error) {
	if err := mayEnqueue(c, at, s); err != nil {
		return holdfast.BatchItem{}, err
	}
	return s.item(at, 0)
}

// Options returns what is said of the job beside its kind and its args.
func (s *NewJob) Options(at string) ([]holdfast.EnqueueOption, error) { return s.options(at, 0) }

// MayRun refuses those who may not enqueue jobs of a kind.
func MayRun(c *api.Call, kind string) error { return mayEnqueue(c, "", &NewJob{Kind: kind}) }
