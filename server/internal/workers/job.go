package workers

import (
	"context"

	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/store"
)

// WorkerJob is a job to run.
type WorkerJob struct {
	Lease           string            `json:"lease" doc:"The token of the run: its outcome is sent with it"`
	ID              string            `json:"id"`
	Namespace       string            `json:"namespace"`
	Queue           string            `json:"queue"`
	Kind            string            `json:"kind"`
	Version         views.Text        `json:"version" doc:"The version of its kind that it is bound to"`
	Priority        int               `json:"priority"`
	Args            api.Payload       `json:"args"`
	Metadata        api.Payload       `json:"metadata"`
	Tags            []string          `json:"tags" nullable:"false"`
	Attempt         int               `json:"attempt" doc:"1 is the first"`
	MaxAttempts     int               `json:"max_attempts" doc:"How often it is tried at the most"`
	LeaseNumber     api.Int           `json:"lease_number" doc:"It grows with each run of the job: fence with it what you write elsewhere"`
	CreatedAt       views.Timestamp   `json:"created_at"`
	RunAt           views.Timestamp   `json:"run_at"`
	ClaimedAt       views.Timestamp   `json:"claimed_at"`
	Timeout         views.Span        `json:"timeout" doc:"How long the attempt may take: the worker sees to that, and fails it"`
	Deadline        views.Timestamp   `json:"deadline" doc:"When it fails if it has not ended"`
	OrderingKey     views.Text        `json:"ordering_key"`
	Key             views.Text        `json:"key"`
	Parent          views.Text        `json:"parent"`
	Batch           views.Text        `json:"batch"`
	TraceParent     views.Text        `json:"traceparent" doc:"Of the span in which it was enqueued"`
	TraceState      views.Text        `json:"tracestate"`
	Checkpoint      *WorkerCheckpoint `json:"checkpoint" doc:"What earlier attempts have left"`
	Durable         bool              `json:"durable" doc:"It has a journal: read it before you go on"`
	CancelRequested bool              `json:"cancel_requested" doc:"Of a durable one: it is to end, and may undo what it has done"`
	CancelReason    views.Text        `json:"cancel_reason"`
}

// WorkerCheckpoint is what an attempt has left.
type WorkerCheckpoint struct {
	Percent   float64         `json:"percent"`
	Message   views.Text      `json:"message"`
	Value     api.Payload     `json:"value"`
	UpdatedAt views.Timestamp `json:"updated_at"`
}

// viewJob is a claimed job as its worker gets it. Who runs it sees its payloads.
func (s *service) viewJob(ctx context.Context, w *worker, c *store.Claimed) (WorkerJob, error) {
	lease, err := s.lease(ctx, w.runOf(c))
	if err != nil {
		return WorkerJob{}, err
	}
	j := &c.Job
	how, _ := store.Policy{}.In(s.settings.of(ctx, j.Namespace, j.Queue)).Of(j)
	v := WorkerJob{
		Lease: lease, ID: j.ID.String(), Namespace: j.Namespace, Queue: j.Queue, Kind: j.Kind, Version: views.Text(j.Version),
		Priority: j.Priority, Args: store.PayloadJSON(j.Args, j.Codec), Metadata: store.PayloadJSON(j.Metadata, 0), Tags: j.Tags,
		Attempt: j.Attempt, MaxAttempts: how.MaxAttempts, LeaseNumber: api.Int(c.Lease.Number),
		CreatedAt: views.Timestamp(j.CreatedAt), RunAt: views.Timestamp(j.RunAt), ClaimedAt: views.Timestamp(c.ClaimedAt),
		Timeout: views.Span(how.Timeout), Deadline: views.Timestamp(j.Options.Deadline), OrderingKey: views.Text(j.OrderingKey),
		Key: views.Text(j.Options.Key), Parent: views.Text(views.IDText(j.Parent)), Batch: views.Text(views.IDText(j.Batch)),
		TraceParent: views.Text(j.Options.TraceParent), TraceState: views.Text(j.Options.TraceState),
		Durable: c.Durable, CancelRequested: c.CancelRequested, CancelReason: views.Text(c.CancelReason),
	}
	if v.Tags == nil {
		v.Tags = []string{}
	}
	if p := c.Checkpoint; p != nil {
		v.Checkpoint = &WorkerCheckpoint{
			Percent: p.Percent, Message: views.Text(p.Message), Value: store.PayloadJSON(p.Value, 0), UpdatedAt: views.Timestamp(p.UpdatedAt),
		}
	}
	return v, nil
}
