package workers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// WorkerBeats is a beat.
type WorkerBeats struct {
	Running []string `json:"running,omitempty" maxItems:"1000" nullable:"false" doc:"The leases of the runs that have not ended: those whose outcome has not been answered, too"`
	Polling int64    `json:"polling,omitempty" minimum:"1" maximum:"4294967296" doc:"The number of the poll that has not been answered: what it has claimed is not given up"`
}

type beatIn struct {
	OfWorker

	Body WorkerBeats
}

// WorkerBeat is the answer to a beat.
type WorkerBeat struct {
	Mode   string         `json:"mode" enum:"running,quiet,draining" doc:"As in the answer to a poll"`
	Cancel []WorkerCancel `json:"cancel" nullable:"false" doc:"Runs that are to stop: end them by cancel, or by fail"`
	Pause  []string       `json:"pause" nullable:"false" doc:"Runs of durable jobs that are to stop: release them"`
	Lost   []string       `json:"lost" nullable:"false" doc:"Runs that are not the worker's any more: stop them, and send nothing"`
}

// WorkerCancel is a run whose job is to be cancelled.
type WorkerCancel struct {
	Lease  string     `json:"lease"`
	Reason views.Text `json:"reason"`
	Actor  views.Text `json:"actor" doc:"Who has asked for it"`
}

func (s *service) beat(ctx context.Context, c *api.Call, in *beatIn) (*api.Body[WorkerBeat], error) {
	s = s.on(c.Client)
	w, err := s.worker(ctx, c, &in.OfWorker)
	if err != nil {
		return nil, err
	}
	listed, tokens := map[store.Lease]string{}, map[store.ID]string{}
	var others []string // runs of the worker as it was registered before
	for i, token := range in.Body.Running {
		r, err := s.run(ctx, c, &in.In, token)
		if p, is := errors.AsType[*problem.Problem](err); is && p.Code == problem.NotFound {
			return nil, problem.Invalid(fmt.Sprintf("/running/%d", i), "it is no lease")
		}
		switch {
		case err != nil:
			return nil, err
		case r.Node != w.Node:
			others = append(others, token)
		default:
			listed[r.Lease], tokens[r.Job] = token, token
		}
	}
	session := s.sessions.of(w.Node)
	asked := session.held.ask(listed)
	beat, err := s.engine.Store.Beat(ctx, store.BeatParams{Node: w.Node, Held: asked})
	if err != nil {
		if errors.Is(err, store.ErrNodeDead) {
			s.sessions.forget(w.Node)
		}
		return nil, err
	}
	lost := session.held.see(beat.Held, func(l store.Lease) bool {
		_, is := listed[l]
		return is || in.Body.Polling > 0 && l.Claim>>pollBits >= in.Body.Polling
	}, 2*w.Beat)
	if len(lost) > 0 {
		if _, err := s.engine.GiveUp(ctx, lost); err != nil {
			return nil, err // the next beat finds them again
		}
	}
	if in.Body.Polling == 0 {
		if err := s.giveBackBetween(ctx, w, session); err != nil {
			return nil, err
		}
	}
	answer := viewBeat(&beat, listed, tokens)
	answer.Lost = append(answer.Lost, others...)
	return &api.Body[WorkerBeat]{Body: answer}, nil
}

func viewBeat(beat *store.Beat, listed map[store.Lease]string, tokens map[store.ID]string) WorkerBeat {
	v := WorkerBeat{Mode: beat.Mode.String(), Cancel: []WorkerCancel{}, Pause: []string{}, Lost: []string{}}
	held := map[store.Lease]bool{}
	for _, l := range beat.Held {
		held[l] = true
	}
	for l, token := range listed {
		if !held[l] {
			v.Lost = append(v.Lost, token)
			delete(tokens, l.Job)
		}
	}
	slices.Sort(v.Lost)
	for _, r := range beat.Cancels {
		if token, is := tokens[r.Job]; is {
			v.Cancel = append(v.Cancel, WorkerCancel{Lease: token, Reason: views.Text(r.Reason), Actor: views.Text(r.Actor)})
		}
	}
	for _, job := range beat.Pauses {
		if token, is := tokens[job]; is {
			v.Pause = append(v.Pause, token)
		}
	}
	return v
}
