package jobs

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	kinds "github.com/holdfastdev/holdfast/internal/journal"
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
	if e.Kind == kinds.EntryName(store.EntryCallback) {
		v.Name = tokenFor(c, v.Name)
	}
	return v
}

// ViewMessage is a message to a job for who makes a call.
func ViewMessage(c *api.Call, m *holdfast.JournalMessage) JournalMessage {
	v := viewMessage(m)
	if v.Data != nil && !c.Principal.May(access.PayloadsRead) {
		v.Data = api.Payload(hidden)
	}
	switch kind, _ := kinds.MessageOf(m.Kind); kind {
	case store.MessageCallback, store.MessageCallbackFailed, store.MessageHeartbeat:
		v.Name = tokenFor(c, v.Name)
	default: // the names of signals are told
	}
	return v
}

// tokenFor is the token of a callback for who makes a call. It is a credential, by which anybody
// ends what a run waits for: those who may not change jobs get a stand-in, the same wherever the
// token is, so that an answer is told from that to another callback.
func tokenFor(c *api.Call, token views.Text) views.Text {
	if token == "" || c.Principal.May(access.JobsWrite) {
		return token
	}
	sum := sha256.Sum256([]byte(token))
	return views.Text("hidden:" + hex.EncodeToString(sum[:8]))
}

// Filter is the filter of the parameters, as far as who makes the call may select by them.
func (in *FilterIn) Filter(c *api.Call) (store.Filter, error) { return in.filter(c) }
