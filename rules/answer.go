package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/expr"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// Outcome is what has become of a callback.
type Outcome string

// The outcomes.
const (
	Completed Outcome = "completed"
	Failed    Outcome = "failed"
	Ignored   Outcome = "ignored" // it is as it was
)

// MaxSent is how much JSON may be sent to a callback, in bytes.
const MaxSent = 1 << 20

// Answer lets the rules of a callback decide what is done with what its outside system has sent. A
// callback without rules is completed with it. The errors are those of Client.CompleteCallback, and
// *UndecidedError if the rules have no value for it; then nothing was done.
//
// What is ignored is no answer: it is ignored as well if the callback was answered before.
func Answer(ctx context.Context, client *holdfast.Client, token string, sent json.RawMessage) (Outcome, error) {
	job, err := journal.JobOfToken(token)
	if err != nil {
		return "", err
	}
	switch {
	case len(sent) > MaxSent:
		return "", fmt.Errorf("%w: callback: what was sent has %d bytes, and may have %d", store.ErrInvalid, len(sent), MaxSent)
	case !utf8.Valid(sent) || !json.Valid(sent):
		return "", fmt.Errorf("%w: callback: what was sent is not JSON in UTF-8", store.ErrInvalid)
	}
	kept, err := find(ctx, client, job, token)
	if err != nil {
		return "", err
	}
	if kept.Rules == nil {
		return answered(Completed, client.CompleteCallback(ctx, token, sent))
	}
	c := rulesOf(kept.Rules)
	all, err := c.compile()
	if err != nil { // they were made by a program that knows more
		return "", &UndecidedError{Job: job, Rule: "of the journal", Reason: err.Error()}
	}
	d := decider{job: job, sent: sent}
	decision := d.decide(all)
	with := d.sent
	if decision == Complete {
		with = d.transform(all)
	}
	if d.err != nil {
		return "", d.err
	}
	switch decision {
	case Complete:
		return answered(Completed, client.CompleteCallback(ctx, token, with))
	case Fail:
		return answered(Failed, client.FailCallback(ctx, token, d.why))
	default:
		return Ignored, nil
	}
}

// answered is an outcome, unless it was refused.
func answered(o Outcome, err error) (Outcome, error) {
	if err != nil {
		return "", err
	}
	return o, nil
}

// find returns what the journal has of a callback.
func find(ctx context.Context, client *holdfast.Client, job store.ID, token string) (kept journal.Callback, err error) {
	e, _ := access.Engine(client)
	found, err := e.Store.Entries(ctx, store.JournalParams{
		Namespace: client.Namespace(), Job: job, Kinds: []store.EntryKind{store.EntryCallback}, Name: token, Limit: 1,
	})
	if err == nil && len(found) == 0 {
		err = store.NoCallback(job)
	}
	if err == nil {
		err = journal.Decode(&found[0], &kept)
	}
	return kept, err
}

// decider decides about what was sent, until an expression has no value.
type decider struct {
	job  store.ID
	sent json.RawMessage
	why  string // the callback fails
	err  error
}

// holds reports whether a rule holds; otherwise, if there is none.
func (d *decider) holds(rule string, x *expr.Expr, otherwise bool) bool {
	if x == nil || d.err != nil {
		return otherwise
	}
	is, err := x.Holds(d.sent)
	if err != nil {
		d.err = &UndecidedError{Job: d.job, Rule: rule, Reason: err.Error()}
	}
	return is
}

func (d *decider) decide(all *compiled) Decision {
	switch {
	case !d.holds("filter", all.filter, true):
		return Ignore
	case d.holds("on_fail", all.onFail, false):
		d.why = "what was sent fits its rule on_fail"
		return Fail
	case d.holds("on_complete", all.onComplete, false):
		return Complete
	}
	d.why = "what was sent fits none of its rules"
	return all.otherwise
}

func (d *decider) transform(all *compiled) json.RawMessage {
	if all.transform == nil {
		return d.sent
	}
	made, err := all.transform.JSON(d.sent)
	if err != nil {
		d.err = &UndecidedError{Job: d.job, Rule: "transform", Reason: err.Error()}
	}
	return made
}
