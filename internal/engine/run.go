package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Job returns the job; its Attempt counts this run.
func (r *Run) Job() *store.Job { return &r.claimed.Job }

// Lease is the lease under which the run writes.
func (r *Run) Lease() store.Lease { return r.claimed.Lease }

// Checkpoint is what this or an earlier attempt left, or nil.
func (r *Run) Checkpoint() *store.Checkpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.checkpoint == nil {
		return nil
	}
	return new(*r.checkpoint)
}

// note returns the checkpoint for a change. The lock is held.
func (r *Run) note() *store.Checkpoint {
	r.checkpoint = cmp.Or(r.checkpoint, &store.Checkpoint{})
	return r.checkpoint
}

// write returns a write of the checkpoint as it is now. The lock is held.
func (r *Run) write() *store.CheckpointWrite {
	return &store.CheckpointWrite{Lease: r.claimed.Lease, Namespace: r.claimed.Job.Namespace, Checkpoint: *r.checkpoint}
}

// Progress records how far the run is. It is written within half a second, or with the outcome; a
// completed job drops it, because no attempt continues from there.
func (r *Run) Progress(percent float64, message string) {
	if math.IsNaN(percent) {
		percent = 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	c := r.note()
	c.Percent, c.Message = min(max(percent, 0), 100), usercode.Cut(message, usercode.MaxMessage)
	r.dirty = true
	if !r.flushing {
		r.flushing = true
		time.AfterFunc(progressEvery, func() {
			defer r.node.engine.guard.Catch("progress of a run")
			r.flush()
		})
	}
}

// SaveCheckpoint stores a value for the next attempt, and returns when it is durable. A stale lease
// ends the run's context. The value is stored even if ctx ends, because handlers save their
// position when they are told to stop. After checkpointPatience without an answer the value is
// written with the outcome. What the strand has said of the job is stored with it.
func (r *Run) SaveCheckpoint(ctx context.Context, by *replay.Strand, value []byte) error {
	return r.SaveWith(ctx, by, value, nil)
}

// SaveWith is SaveCheckpoint with jobs that are enqueued in the same transaction, or not at all.
// Their ids are the caller's; those that are there already stay as they are. The value is never
// written without its jobs: after an error the one before stands, or both if they arrive late.
func (r *Run) SaveWith(ctx context.Context, by *replay.Strand, value []byte, jobs []*store.Enqueue) error {
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return fmt.Errorf("%w: job %s: the run is over", store.ErrLeaseLost, r.claimed.Job.ID)
	}
	before, wasDirty := r.note().Value, r.dirty
	r.note().Value = value
	r.dirty = false
	write := r.write()
	r.mu.Unlock()
	patient, stop := context.WithTimeout(context.WithoutCancel(ctx), checkpointPatience)
	defer stop()
	said := by.Unsaid(patient.Done())
	write.Meta = said.Meta()
	err := r.node.engine.commit.Checkpoint(patient, write, jobs)
	// Not write.Err: when the time is over the committer may still be writing it.
	if errors.Is(err, store.ErrLeaseLost) {
		r.replay.Cancel(store.ErrLeaseLost)
	}
	if err != nil {
		r.mu.Lock()
		r.dirty = true
		if len(jobs) > 0 {
			r.note().Value, r.dirty = before, wasDirty
		}
		r.mu.Unlock()
		return store.About(r.claimed.Job.ID, "writing the checkpoint of", err)
	}
	r.replay.Said(said)
	return nil
}

// flush writes recorded progress asynchronously.
func (r *Run) flush() {
	r.mu.Lock()
	r.flushing = false
	if r.over || !r.dirty {
		r.mu.Unlock()
		return
	}
	r.dirty = false
	write := r.write()
	r.mu.Unlock()
	r.node.engine.commit.Note(write, func() {
		if errors.Is(write.Err, store.ErrLeaseLost) {
			r.replay.Cancel(store.ErrLeaseLost)
		}
	})
}

// stopWriting ends the writes of the run. It returns first == false if another goroutine has ended
// them, and the checkpoint that must be written with the outcome, if any.
func (r *Run) stopWriting() (last *store.CheckpointWrite, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil, false
	}
	r.over = true
	if r.dirty {
		last = r.write()
	}
	return last, true
}
