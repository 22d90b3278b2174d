package jobs

import (
	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/store"
)

// View is a job as a list shows it to who makes a call.
func View(c *api.Call, r *store.Record) views.Job { return visible(c, views.NewJob(r)) }

// ViewEntry is an entry of a journal for who makes a call.
func ViewEntry(c *api.Call, e *holdfast.JournalEntry) JournalEntry {
	v := viewEntry(e)
	if v.Data != nil && !c.Principal.May(access.PayloadsRead) {
		v.Data = api.Payload(hidden)
	}
	return v
}

// ViewMessage is a message to a job for who makes a call.
func ViewMessage(c *api.Call, m *holdfast.JournalMessage) JournalMessage {
	v := viewMessage(m)
	if v.Data != nil && !c.Principal.May(access.PayloadsRead) {
		v.Data = api.Payload(hidden)
	}
	return v
}

// Filter is the filter of the parameters, as far as who makes the call may select by them.
func (in *FilterIn) Filter(c *api.Call) (store.Filter, error) { return in.filter(c) }
