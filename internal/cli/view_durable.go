package cli

import (
	"encoding/json"
	"strings"

	"github.com/holdfastdev/holdfast"
)

// The types of this file are the JSON of durable jobs, by the rules of view.go. A journal is the library's own type, holdfast.Journal:
// holdfasttest reads it.

// waitView is what a job waits for that is parked.
type waitView struct {
	Since  timestamp       `json:"since"`
	Until  timestamp       `json:"until"`
	Held   bool            `json:"held"`
	Reason text            `json:"reason"`
	Error  text            `json:"error"`
	For    json.RawMessage `json:"for"`
}

func viewWait(r *holdfast.Record) *waitView {
	w := r.Wait
	if w == nil {
		return nil
	}
	return &waitView{
		Since: timestamp(w.Since), Until: timestamp(w.Until), Held: w.Held, Reason: text(w.Reason), Error: text(w.Error),
		For: payload(w.For, 0),
	}
}

// waitsFor is what a job says that it waits for, in words.
func waitsFor(r *holdfast.Record) string {
	var says struct {
		WaitsFor []string `json:"waits_for"`
	}
	switch {
	case r.Wait == nil || r.Wait.For == nil:
		return ""
	case json.Unmarshal(r.Wait.For, &says) != nil || says.WaitsFor == nil:
		return onOneLine(r.Wait.For, 0)
	}
	return strings.Join(says.WaitsFor, ", ")
}

// journalLine is one line of a journal that is followed: an entry or a message.
type journalLine struct {
	Entry   *holdfast.JournalEntry   `json:"entry"`
	Message *holdfast.JournalMessage `json:"message"`
}

// forkedView is a new job and the one whose steps it remembers.
type forkedView struct {
	ID         string `json:"id"`
	ForkedFrom string `json:"forked_from"`
}

// sentView is a signal that has arrived.
type sentView struct {
	ID        string `json:"id"` // of the job
	Signal    string `json:"signal"`
	Key       text   `json:"key"`
	Message   big    `json:"message"`
	Duplicate bool   `json:"duplicate"`
}

// answeredView is what a callback was told.
type answeredView struct {
	Token  string `json:"token"`
	Answer string `json:"answer"`
}

// itemView is an item of a stream, or the value of a key.
type itemView struct {
	Offset big             `json:"offset"`
	At     timestamp       `json:"at"`
	Value  json.RawMessage `json:"value"`
}

func viewItem(item *holdfast.StreamItem) itemView {
	return itemView{Offset: big(item.Offset), At: timestamp(item.At), Value: payload(item.Value, 0)}
}
