package workers

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/store"
)

type journalIn struct {
	OfRun

	After int64 `query:"after" minimum:"0" doc:"Only entries behind this one: the last one that was read"`
	Seen  int64 `query:"seen" minimum:"0" doc:"Only messages behind this one"`
}

// RunJournal is a page of what a job remembers, and of what was sent to it.
type RunJournal struct {
	Entries  []RunRemembered `json:"entries" nullable:"false" doc:"By their numbers"`
	Messages []RunMessage    `json:"messages" nullable:"false" doc:"By their numbers"`
	More     bool            `json:"more" doc:"There are more: read on behind the last entry and the last message of this page"`
	Now      views.Timestamp `json:"now" doc:"By the clock by which runs are woken"`
}

// RunRemembered is an entry of the journal of a run.
type RunRemembered struct {
	Seq     int64       `json:"seq"`
	Kind    string      `json:"kind"`
	Path    string      `json:"path"`
	Name    string      `json:"name"`
	Message int64       `json:"message" doc:"The message that was received, or the request; 0: none"`
	Data    api.Payload `json:"data"`
}

// RunMessage is what was sent to the job of a run.
type RunMessage struct {
	Seq    int64           `json:"seq"`
	Kind   string          `json:"kind" doc:"signal, callback, callback failed, heartbeat, child"`
	Name   string          `json:"name" doc:"Of a signal; of a callback: its token"`
	From   views.Text      `json:"from" doc:"Of a child: its id"`
	State  views.Text      `json:"state" doc:"Of a child: how it has ended"`
	Reason views.Text      `json:"reason"`
	Error  views.Text      `json:"error"`
	At     views.Timestamp `json:"at"`
	Data   api.Payload     `json:"data" doc:"The payload, or the result of a child"`
}

// readJournal answers a page of the journal. What cannot be gone on with here ends the run, which
// is lost then.
func (s *service) readJournal(ctx context.Context, c *api.Call, in *journalIn) (*api.Body[RunJournal], error) {
	s = s.on(c.Client)
	r, err := s.run(ctx, c, &in.In, in.Lease)
	if err != nil {
		return nil, err
	}
	jobs, err := s.records(ctx, []*run{r})
	if err != nil {
		return nil, err
	}
	if now := jobs.of(r.Lease); now == nil || now.State != store.Running {
		return nil, fmt.Errorf("%w: the run is not the job's any more", store.ErrLeaseLost)
	}
	p := page{left: pageBytes, v: RunJournal{Entries: []RunRemembered{}, Messages: []RunMessage{}}}
	err = s.eachEntry(ctx, r, in.After, p.entries)
	if err == nil && p.err == nil {
		err = s.eachMessage(ctx, r, in.Seen, p.messages)
	}
	if err == nil {
		err = p.err
	}
	if lacks, is := errors.AsType[*store.MissingKeyError](err); is {
		p.ends, err = heldFor(lacks, r.Number, r.Attempt, s.engine.Store.Now()), nil
	}
	switch {
	case err != nil:
		return nil, err
	case p.ends != nil:
		return nil, s.giveBackRun(ctx, r, p.ends)
	}
	if before, known := s.sizes.upTo(r.Lease, in.After); known {
		if in.After == 0 {
			before = size{}
		}
		before.add(p.raw)
		s.sizes.note(r.Lease, before)
	}
	p.v.Now = views.Timestamp(s.engine.Store.Now())
	return &api.Body[RunJournal]{Body: p.v}, nil
}

// giveBackRun ends a run that a worker cannot go on with, and returns that it is lost.
func (s *service) giveBackRun(ctx context.Context, r *run, end *store.Outcome) error {
	r.Durable = true // what it has is why
	o := r.outcome(end.State)
	o.Reason, o.Error, o.Delay, o.Wait = end.Reason, end.Error, end.Delay, end.Wait
	errs, err := s.settle(ctx, []*run{r}, []*store.Outcome{o}, make([]*writes, 1))
	if err == nil {
		err = errs[0]
	}
	if err == nil || isLost(err) {
		err = fmt.Errorf("%w: it was given back: %s", store.ErrLeaseLost, end.Error)
	}
	return err
}

// page collects what is answered.
type page struct {
	v    RunJournal
	raw  []store.Entry
	left int64 // bytes that are still to be filled
	ends *store.Outcome
	err  error
}

// notHere are the kinds of entries that a worker cannot go on from: the run undoes what it has
// done, or has ended its job in a transaction of its own.
func notHere(kind store.EntryKind) bool {
	switch kind {
	case store.EntryClosing, store.EntryCompensated, store.EntryRegistered, store.EntryEnded:
		return true
	default:
		return false
	}
}

func (p *page) entries(found []store.Entry) bool {
	for i := range found {
		e := &found[i]
		if p.left <= 0 {
			p.v.More = true
			return false
		}
		if notHere(e.Kind) {
			p.ends = leftToOthers(fmt.Sprintf("its journal has %q (entry %d), from which only a node goes on whose program handles the kind",
				journal.EntryName(e.Kind), e.Seq))
			return false
		}
		data, err := journal.Unpack(e.Data, e.Codec)
		if err != nil {
			p.err = fmt.Errorf("entry %d: %w", e.Seq, err)
			return false
		}
		p.left -= journal.Weight(e) + int64(len(data)-len(e.Data))
		p.raw = append(p.raw, *e)
		p.v.Entries = append(p.v.Entries, RunRemembered{
			Seq: e.Seq, Kind: journal.EntryName(e.Kind), Path: e.Path, Name: e.Name, Message: e.Ref, Data: data,
		})
	}
	return true
}

func (p *page) messages(found []store.Message) bool {
	for i := range found {
		m := &found[i]
		if p.left <= 0 {
			p.v.More = true
			return false
		}
		data, err := journal.Unpack(m.Data, m.Codec)
		if err != nil {
			p.err = fmt.Errorf("message %d: %w", m.Seq, err)
			return false
		}
		p.left -= int64(len(data) + len(m.Name) + len(m.Error) + 1)
		v := RunMessage{
			Seq: m.Seq, Kind: journal.MessageName(m.Kind), Name: m.Name, From: views.Text(views.IDText(m.From)), Reason: views.Text(m.Reason),
			Error: views.Text(m.Error), At: views.Timestamp(m.At), Data: data,
		}
		if m.State != 0 {
			v.State = views.Text(m.State.String())
		}
		p.v.Messages = append(p.v.Messages, v)
	}
	return true
}

// eachMessage reads the inbox of the job of a run in portions, as eachEntry does its journal.
func (s *service) eachMessage(ctx context.Context, r *run, after int64, more func([]store.Message) bool) error {
	for limit := fewEntries; ; {
		found, err := s.engine.Store.Messages(ctx, store.InboxParams{Namespace: r.Namespace, Job: r.Job, After: after, Limit: limit})
		if err != nil || len(found) == 0 || !more(found) || len(found) < limit {
			return err
		}
		after = found[len(found)-1].Seq
		bytes := int64(0)
		for i := range found {
			bytes += int64(len(found[i].Data))
		}
		limit = portion(limit, len(found), bytes)
	}
}
