package events

import (
	"context"
	"iter"
	"net/http"
	"strconv"

	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/jobs"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

func registerJob(a *api.API, s *streams) {
	api.RegisterStream(a, api.Op{
		ID: "job-watch", Method: http.MethodGet, Path: "/jobs/{id}/events", Tag: "jobs", Scope: access.JobsRead,
		Summary: "Watch what a job does",
		About: `Without the feed. The frames between hello and bye are:

- ` + "`journal.entry`" + ` and ` + "`journal.message`" + `: as in /jobs/{id}/journal and /jobs/{id}/messages;
- ` + "`journal.dropped`" + `: the entries from a number on are forgotten, as the job was resumed or has continued as new;
- ` + "`journal.messages_dropped`" + `: so are messages, as it has continued as new: those that it had not received follow, under
  new numbers;
- ` + "`job.updated`" + `: the job as it is now: at first, and when its state, attempt, run time or progress has changed.

It begins with what is there already, or, for a reader that comes back, with what is forgotten of what it has read; if that is so all
comes again. It ends when the job has finished (bye, with the reason finished): do not come back then.
What people do to a job that does not run may come 5 s later.`,
	}, media, s.watch)
}

type watchIn struct {
	jobs.OfJob

	After  string `query:"after" doc:"Begin after this place, the id of a frame; with the beginning, if it is left out"`
	LastID string `header:"Last-Event-ID" doc:"The id of the last frame that was received; it counts more than after"`
}

func (s *streams) watch(ctx context.Context, c *api.Call, in *watchIn) (api.Written, error) {
	at, text := "query/after", in.After
	if in.LastID != "" {
		at, text = "header/Last-Event-ID", in.LastID
	}
	from, err := events.ParsePlace(text)
	if err != nil {
		return nil, problem.Invalid(at, strconv.Quote(cut(text))+" is no place, such as 12-3")
	}
	ctx, cancel := context.WithTimeout(ctx, api.CallTimeout)
	defer cancel()
	if _, err := c.Client.Get(ctx, store.ID(in.ID)); err != nil {
		return nil, err
	}
	return func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, from.String(), func(ctx context.Context) iter.Seq2[frame, error] {
			return watched(ctx, c, store.ID(in.ID), from)
		})
	}, nil
}

// JournalDropped says which entries or messages are forgotten.
type JournalDropped struct {
	From string `json:"from"` // the number of the first one
}

// watched yields what a job does.
func watched(ctx context.Context, c *api.Call, job store.ID, from events.Place) iter.Seq2[frame, error] {
	return func(yield func(frame, error) bool) {
		for d, err := range events.Watch(ctx, c.Client, job, from) {
			var f frame
			switch {
			case err != nil:
				yield(frame{}, err)
				return
			case d.Entry != nil:
				f = frame{event: "journal.entry", data: jobs.ViewEntry(c, d.Entry)}
			case d.Message != nil:
				f = frame{event: "journal.message", data: jobs.ViewMessage(c, d.Message)}
			case d.Record != nil:
				f = frame{event: "job.updated", data: jobs.View(c, d.Record)}
			case d.DroppedMessages > 0:
				f = frame{event: "journal.messages_dropped", data: JournalDropped{strconv.FormatInt(d.DroppedMessages, 10)}}
			default:
				f = frame{event: "journal.dropped", data: JournalDropped{strconv.FormatInt(d.Dropped, 10)}}
			}
			if f.id = d.Place.String(); !yield(f, nil) {
				return
			}
		}
	}
}
