package jobs

import (
	"encoding/json"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
)

// JobEdit is a change of a job that is there. What is left out stays.
type JobEdit struct {
	Args        api.Payload                `json:"args,omitempty" doc:"Of a job that has not started"`
	Queue       string                     `json:"queue,omitempty"`
	Priority    int                        `json:"priority,omitempty" minimum:"1" maximum:"4"`
	RunAt       time.Time                  `json:"run_at,omitzero"`
	Delay       *api.Duration              `json:"delay,omitempty" doc:"It runs after this, from now on; 0s: at once"`
	Deadline    time.Time                  `json:"deadline,omitzero"`
	MaxAttempts int                        `json:"max_attempts,omitempty" minimum:"1"`
	Timeout     api.Duration               `json:"timeout,omitzero"`
	Heartbeat   api.Duration               `json:"heartbeat_timeout,omitzero"`
	Backoff     *NewBackoff                `json:"backoff,omitempty"`
	Tags        []string                   `json:"tags,omitempty" nullable:"false" doc:"Instead of all its tags"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty" doc:"Instead of its metadata"`
}

func (e *JobEdit) options() ([]holdfast.EnqueueOption, error) {
	if e.Delay != nil && !e.RunAt.IsZero() {
		return nil, problem.Invalid("/delay", "delay and run_at cannot be given together")
	}
	s := NewJob{
		Queue: e.Queue, Priority: e.Priority, RunAt: e.RunAt, Deadline: e.Deadline, MaxAttempts: e.MaxAttempts,
		Timeout: e.Timeout, Heartbeat: e.Heartbeat, Backoff: e.Backoff, Tags: e.Tags, Metadata: e.Metadata,
	}
	opts, err := s.options("", 0)
	if err == nil && e.Delay != nil {
		opts = append(opts, holdfast.Delay(time.Duration(*e.Delay)))
	}
	return opts, err
}
