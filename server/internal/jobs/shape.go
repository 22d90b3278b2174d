package jobs

import (
	"strings"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/joblog"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/store"
)

// tag is that of the operations.
const tag = "jobs"

// JournalEntry is an entry of the journal of a job.
type JournalEntry struct {
	Seq     views.Big       `json:"seq"`
	At      views.Timestamp `json:"at"`
	Kind    string          `json:"kind" doc:"step, step failed, timer, received, child, …"`
	Path    string          `json:"path" doc:"The operation's place in the run"`
	Name    views.Text      `json:"name"`
	Message views.Big       `json:"message" doc:"The message that was received"`
	Lease   views.Big       `json:"lease" doc:"The number of the lease of the run that wrote it"`
	Took    views.Span      `json:"took" doc:"Of a step: how long its last try took"`
	Data    api.Payload     `json:"data"`
}

func viewEntry(e *holdfast.JournalEntry) JournalEntry {
	return JournalEntry{
		Seq: views.Big(e.Seq), At: views.Timestamp(e.At), Kind: e.Kind, Path: e.Path, Name: views.Text(e.Name), Message: views.Big(e.Message),
		Lease: views.Big(e.Lease), Took: views.Span(e.Took), Data: e.Data,
	}
}

// JournalMessage is what was sent to a job.
type JournalMessage struct {
	Seq    views.Big       `json:"seq"`
	At     views.Timestamp `json:"at"`
	Kind   string          `json:"kind" doc:"signal, callback, callback failed, heartbeat, child"`
	Name   views.Text      `json:"name"`
	From   views.Text      `json:"from" doc:"The job that sent it"`
	State  views.Text      `json:"state" doc:"Of a child: how it has ended"`
	Reason views.Text      `json:"reason"`
	Error  views.Text      `json:"error"`
	Unread bool            `json:"unread" doc:"No entry has received it"`
	Data   api.Payload     `json:"data"`
}

func viewMessage(m *holdfast.JournalMessage) JournalMessage {
	v := JournalMessage{
		Seq: views.Big(m.Seq), At: views.Timestamp(m.At), Kind: m.Kind, Name: views.Text(m.Name), From: views.Text(views.IDText(m.From)),
		Reason: views.Text(m.Reason), Error: views.Text(m.Error), Unread: m.Unread, Data: m.Data,
	}
	if m.State != 0 {
		v.State = views.Text(m.State.String())
	}
	return v
}

// LogLine is what a handler has logged.
type LogLine struct {
	Time    views.Timestamp `json:"time"`
	Level   string          `json:"level"`
	Message string          `json:"message"`
	Attrs   api.Payload     `json:"attrs"`
	Attempt int             `json:"attempt"`
	Lease   views.Big       `json:"lease"`
	Number  views.Big       `json:"number" doc:"Of the line in its run"`
	Dropped views.Big       `json:"dropped" doc:"So many lines before this one are not there any more"`
	Cut     views.Number    `json:"cut" doc:"So many bytes the line had, if it was too long"`
}

func viewLine(l *joblog.Line) LogLine {
	return LogLine{
		Time: views.Timestamp(l.Time), Level: strings.ToLower(l.Level.String()), Message: l.Message, Attrs: l.Attrs, Attempt: l.Attempt,
		Lease: views.Big(l.Lease), Number: views.Big(l.Number), Dropped: views.Big(l.Dropped), Cut: views.Number(l.Cut),
	}
}

// changed is what became of a job that was to be changed.
func changed(r *store.Result) views.Changed {
	v := views.Changed{ID: r.Job.String()}
	if r.State != 0 {
		v.State = views.Text(r.State.String())
	}
	return v
}
