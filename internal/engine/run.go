package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Run is one run of one job, as its handler sees it.
type Run struct {
	claimed store.Claimed
	started time.Time
	node    *node
	cancel  context.CancelCauseFunc

	mu         sync.Mutex
	checkpoint store.Checkpoint
	has        bool // there is a checkpoint, in the store or here
	dirty      bool // what is here was not written yet
	flushing   bool // a write of progress is planned
	over       bool // the outcome was decided; nothing more is written
}

// Job is the job; its Attempt counts this run.
func (r *Run) Job() store.Job { return r.claimed.Job }

// Lease is the right under which the run writes.
func (r *Run) Lease() store.Lease { return r.claimed.Lease }

// Checkpoint is what this or an earlier attempt left, or nil.
func (r *Run) Checkpoint() *store.Checkpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.has {
		return nil
	}
	c := r.checkpoint
	return &c
}

// Progress notes how far the run is. It is written within half a second, and with the end of the attempt unless that
// completes the job: then nothing goes on from there.
func (r *Run) Progress(percent float64, message string) {
	if math.IsNaN(percent) {
		percent = 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.checkpoint.Percent, r.checkpoint.Message = min(max(percent, 0), 100), cut(message, maxMessage)
	r.has, r.dirty = true, true
	if !r.flushing {
		r.flushing = true
		time.AfterFunc(progressEvery, r.flush)
	}
}

// SaveCheckpoint stores a value for the next attempt, and returns when it is durable. A stale lease ends the run's context.
func (r *Run) SaveCheckpoint(ctx context.Context, value []byte) error {
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return fmt.Errorf("%w: job %s: the run is over", store.ErrLeaseLost, r.claimed.Job.ID)
	}
	r.checkpoint.Value = value
	r.has, r.dirty = true, false
	write := &store.CheckpointWrite{Lease: r.claimed.Lease, Checkpoint: r.checkpoint}
	r.mu.Unlock()
	err := r.node.engine.commit.Checkpoint(ctx, write)
	// Not write.Err: when ctx has ended the committer may still be writing it.
	if errors.Is(err, store.ErrLeaseLost) {
		r.cancel(store.ErrLeaseLost)
	}
	if err != nil {
		return fmt.Errorf("checkpoint of job %s: %w", r.claimed.Job.ID, err)
	}
	return nil
}

// flush writes progress that was noted, without anybody waiting.
func (r *Run) flush() {
	r.mu.Lock()
	r.flushing = false
	if r.over || !r.dirty {
		r.mu.Unlock()
		return
	}
	r.dirty = false
	write := &store.CheckpointWrite{Lease: r.claimed.Lease, Checkpoint: r.checkpoint}
	r.mu.Unlock()
	r.node.engine.commit.runs.put(&op{checkpoint: write, done: func(error) {
		if write.Err != nil {
			r.cancel(store.ErrLeaseLost)
		}
	}})
}

// finish ends the run's writing. It returns false if somebody else has ended it, and the checkpoint that the outcome must carry along.
func (r *Run) finish() (last *store.CheckpointWrite, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil, false
	}
	r.over = true
	if r.dirty {
		last = &store.CheckpointWrite{Lease: r.claimed.Lease, Checkpoint: r.checkpoint}
	}
	return last, true
}

// Limits of what is kept of texts that handlers produce, in bytes.
const (
	maxMessage = 1 << 10
	maxError   = 16 << 10
	maxTrace   = 64 << 10
)

// cut shortens a text to at most n bytes of valid UTF-8 without NUL, which databases refuse.
func cut(s string, n int) string {
	s = validText(s)
	if len(s) <= n {
		return s
	}
	const mark = "… (cut)"
	end := n - len(mark)
	for end > 0 && s[end]&0xC0 == 0x80 {
		end--
	}
	return s[:end] + mark
}
