package workers

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// maxAnswer is about how many bytes of jobs a poll answers: the answer is in memory until its
// worker has read it.
const maxAnswer = 16 << 20

// weight is about how many bytes a job has in an answer.
func weight(c *store.Claimed) int {
	const rest = 1 << 10 // names, times and a token
	n := len(c.Job.Args) + len(c.Job.Metadata) + rest
	if p := c.Checkpoint; p != nil {
		n += len(p.Value)
	}
	return n
}

// fits is how many jobs a poll claims that wants some, so that an answer can hold them if they are
// no larger than those before.
func (s *session) fits(want int) int {
	if s.heaviest == 0 {
		return want
	}
	return min(want, max(1, maxAnswer/s.heaviest))
}

// fitting gives back the jobs that an answer does not hold, and returns the others, of which there
// is one at least. If the server dies before that is stored the worker has them unlisted, and they
// are given up.
func (p *poll) fitting(ctx context.Context, jobs []store.Claimed) []store.Claimed {
	if len(jobs) == 0 {
		return jobs
	}
	total, heaviest, keep := 0, 0, len(jobs)
	for i := range jobs {
		w := weight(&jobs[i])
		heaviest = max(heaviest, w)
		if total += w; i > 0 && total > maxAnswer && keep == len(jobs) {
			keep = i
		}
	}
	p.session.heaviest = max(heaviest, p.session.heaviest/2)
	if keep < len(jobs) {
		_ = p.putBack(ctx, jobs[keep:]) // who has some is not to wait for the others
	}
	return jobs[:keep]
}
