package entries

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/rules"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// mostChosen bounds the number of a choice.
const mostChosen = 10_000

// data returns the data of an entry, as a Go run would have written it.
func (e *RunEntry) data(at string, kind store.EntryKind, now time.Time) ([]byte, error) {
	at += "/data"
	if len(e.Data) > 0 {
		if err := valid.JSON("data", e.Data, MaxData); err != nil {
			return nil, problem.At(at, err)
		}
	}
	switch kind {
	case store.EntryStep:
		return e.Data, nil
	case store.EntryValue, store.EntryPublished, store.EntryStreamed:
		if len(e.Data) == 0 {
			return nil, problem.Invalid(at, "it is missing")
		}
		return e.Data, nil
	case store.EntryStepFailed:
		var d usercode.StepError
		return e.failure(at, &d, &d)
	case store.EntryStepRetry:
		return e.retry(at, now)
	case store.EntryTimer:
		return e.timer(at, now)
	case store.EntryReceived:
		return e.problem(at)
	case store.EntrySelected:
		return e.chosen(at)
	case store.EntryAwaited:
		return e.awaited(at)
	case store.EntryTimeout:
		if len(e.Data) > 0 { // of a wait for a condition
			return e.awaited(at)
		}
	case store.EntryCallback:
		var d journal.Callback
		if err := e.exactly(at, &d); err != nil {
			return nil, err
		}
		if err := valid.Name("callback", d.Name); err != nil {
			return nil, problem.At(at+"/name", err)
		}
		if err := checkRules(at+"/rules", d.Rules); err != nil {
			return nil, err
		}
		return journal.Encode(d), nil
	default:
		if len(e.Data) > 0 { // a child, whose data the server makes, and patched
			return nil, problem.Invalid(at, "an entry of this kind has no data of yours")
		}
	}
	return nil, nil
}

// checkRules refuses what are no rules of a callback, and says which one is wrong.
func checkRules(at string, r *journal.Rules) error {
	if r == nil {
		return nil
	}
	err := rules.Callback{
		Filter: r.Filter, OnComplete: r.OnComplete, OnFail: r.OnFail, Transform: r.Transform, Default: rules.Decision(r.Default),
	}.Check()
	if wrong, is := errors.AsType[*rules.Error](err); is {
		at += "/" + wrong.Rule
	}
	return problem.At(at, err)
}

// into reads the data as an object.
func (e *RunEntry) into(at string, d any) error {
	if len(e.Data) == 0 || e.Data[0] != '{' {
		return problem.Invalid(at, "it is missing, or no object")
	}
	if err := json.Unmarshal(e.Data, d); err != nil {
		return problem.Invalid(at, fmt.Sprintf("it does not fit an entry of the kind %s: %v", e.Kind, err))
	}
	return nil
}

// exactly reads the data as an object of which each field is known. A rule whose name is misspelt
// would decide nothing, and a callback without rules is completed by whatever is posted.
func (e *RunEntry) exactly(at string, d any) error {
	if err := e.into(at, d); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(e.Data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(d); err != nil {
		return problem.Invalid(at, fmt.Sprintf("it does not fit an entry of the kind %s: %v", e.Kind, err))
	}
	return nil
}

// failure reads the failure of a step into d, which is or holds it.
func (e *RunEntry) failure(at string, d any, f *usercode.StepError) ([]byte, error) {
	if err := e.into(at, d); err != nil {
		return nil, err
	}
	switch {
	case f.Message == "":
		return nil, problem.Invalid(at+"/message", "it is missing: it is the text of the error")
	case f.Attempts < 1:
		return nil, problem.Invalid(at+"/attempts", "it is how often the step was tried, from 1 on")
	}
	f.Step, f.Message, f.Type = e.Name, usercode.CutError(f.Message), usercode.Cut(f.Type, maxPath)
	return journal.Encode(d), nil
}

func (e *RunEntry) retry(at string, now time.Time) ([]byte, error) {
	var d journal.Retry
	if _, err := e.failure(at, &d, &d.Failure); err != nil {
		return nil, err
	}
	d.Until = e.ends(d.Until, now)
	return journal.Encode(d), isTime(at+"/until", d.Until)
}

func (e *RunEntry) timer(at string, now time.Time) ([]byte, error) {
	var d journal.Timer
	if e.For == nil || len(e.Data) > 0 {
		if err := e.into(at, &d); err != nil {
			return nil, err
		}
	}
	if e.For != nil && !d.Until.IsZero() {
		return nil, problem.Invalid(at+"/until", "a timer has either until or for")
	}
	d.Until = e.ends(d.Until, now)
	return journal.Encode(d), isTime(at+"/until", d.Until)
}

// isTime refuses what is no time at which a run can be woken.
func isTime(at string, t time.Time) error {
	if t.IsZero() {
		return problem.Invalid(at, "it is missing")
	}
	return problem.At(at, (&store.Wait{Until: t}).CheckTime(store.ID{}))
}

func (e *RunEntry) problem(at string) ([]byte, error) {
	if len(e.Data) == 0 {
		return nil, nil
	}
	var d journal.Problem
	if err := e.into(at, &d); err != nil {
		return nil, err
	}
	if d.Problem == "" {
		return nil, problem.Invalid(at+"/problem", "it is missing: it says why the message could not be used")
	}
	d.Problem = usercode.Cut(d.Problem, usercode.MaxMessage)
	return journal.Encode(d), nil
}

func (e *RunEntry) chosen(at string) ([]byte, error) {
	var n int
	if err := json.Unmarshal(e.Data, &n); err != nil || n < 0 || n > mostChosen {
		return nil, problem.Invalid(at, "it is the number of what was chosen, 0 being the first")
	}
	return journal.Encode(n), nil
}

func (e *RunEntry) awaited(at string) ([]byte, error) {
	var d journal.Awaited
	if err := e.into(at, &d); err != nil {
		return nil, err
	}
	return journal.Encode(d), nil
}
