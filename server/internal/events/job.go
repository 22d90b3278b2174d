package events

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"

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
- ` + "`job.updated`" + `: the job as it is now: at first, and when its state, attempt, run time or progress has changed.

It begins with what is there already, and ends when the job has finished (bye, with the reason finished): do not come back then.
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
	from, err := place(at, text)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, api.CallTimeout)
	defer cancel()
	if _, err := c.Client.Get(ctx, store.ID(in.ID)); err != nil {
		return nil, err
	}
	return func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, placeText(from), func(ctx context.Context) iter.Seq2[frame, error] {
			return watched(ctx, c, store.ID(in.ID), from)
		})
	}, nil
}

// place reads a place in what a job has done: the numbers of the last entry and the last message.
func place(at, text string) (p events.Place, err error) {
	if text == "" {
		return p, nil
	}
	entry, message, _ := strings.Cut(text, "-")
	if p.Entry, err = strconv.ParseInt(entry, 10, 64); err == nil {
		p.Message, err = strconv.ParseInt(message, 10, 64)
	}
	if err != nil || p.Entry < 0 || p.Message < 0 || placeText(p) != text {
		return events.Place{}, problem.Invalid(at, strconv.Quote(cut(text))+" is no place, such as 12-3")
	}
	return p, nil
}

func placeText(p events.Place) string { return fmt.Sprintf("%d-%d", p.Entry, p.Message) }

// JournalDropped says which entries are forgotten.
type JournalDropped struct {
	From string `json:"from"` // the number of the first one
}

// watched yields what a job does.
func watched(ctx context.Context, c *api.Call, job store.ID, at events.Place) iter.Seq2[frame, error] {
	return func(yield func(frame, error) bool) {
		for d, err := range events.Watch(ctx, c.Client, job, at) {
			var f frame
			switch {
			case err != nil:
				yield(frame{}, err)
				return
			case d.Entry != nil:
				at.Entry = d.Entry.Seq
				f = frame{event: "journal.entry", data: jobs.ViewEntry(c, d.Entry)}
			case d.Message != nil:
				at.Message = d.Message.Seq
				f = frame{event: "journal.message", data: jobs.ViewMessage(c, d.Message)}
			case d.Record != nil:
				f = frame{event: "job.updated", data: jobs.View(c, d.Record)}
			default:
				at.Entry = d.Dropped - 1
				f = frame{event: "journal.dropped", data: JournalDropped{strconv.FormatInt(d.Dropped, 10)}}
			}
			if f.id = placeText(at); !yield(f, nil) {
				return
			}
		}
	}
}
