package events

import (
	"fmt"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/server/internal/problem"
)

// readers counts streams.
type readers struct {
	total, each int

	mu sync.Mutex
	n  int
	by map[string]int // by principal; without those that have none
}

// enter counts a stream of a principal, until leave is called. The error is a problem if there are
// too many.
func (r *readers) enter(principal string) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.by[principal] >= r.each:
		return nil, tooMany(fmt.Sprintf("the key has %d live streams already; close one, or share one", r.each))
	case r.n >= r.total:
		return nil, tooMany(fmt.Sprintf("the server has %d live streams already; ask later, or another server", r.total))
	}
	r.n++
	r.by[principal]++
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.n--
		if r.by[principal]--; r.by[principal] == 0 {
			delete(r.by, principal)
		}
	}), nil
}

func tooMany(text string) error { return problem.New(problem.TooMany, text).In(10 * time.Second) }
