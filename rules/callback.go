package rules

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/expr"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// MaxText is how long an expression may be, in bytes.
const MaxText = expr.MaxText

// Decision is what is done with what was sent to a callback.
type Decision string

// The decisions.
const (
	Complete Decision = "complete"
	Fail     Decision = "fail"
	Ignore   Decision = "ignore" // the callback stays open
)

// Callback are the rules of a callback: expressions over the variable payload, which is the JSON
// that was sent. They are looked at in this order; "" is none.
type Callback struct {
	Filter     string // what it does not hold of is ignored
	OnFail     string // what it holds of fails the callback
	OnComplete string // what it holds of completes the callback
	Transform  string // with what the callback is completed; "": with the payload as it is
	// Default is what is done if neither OnFail nor OnComplete holds. "" is Ignore if there is an
	// OnComplete, and else Complete.
	Default Decision
}

// Error is why rules are none: an ErrInvalid.
type Error struct {
	Rule         string // such as on_complete
	Line, Column int    // in its text, from 1 on; 0: it is about all of it
	Reason       string
}

func (e *Error) Error() string {
	where := ""
	if e.Line > 0 {
		where = fmt.Sprintf(", line %d, column %d", e.Line, e.Column)
	}
	return fmt.Sprintf("the rule %s%s: %s", e.Rule, where, e.Reason)
}

// Unwrap returns holdfast.ErrInvalid.
func (*Error) Unwrap() error { return holdfast.ErrInvalid }

// payload is the variable of the rules of callbacks.
const payload = "payload"

// compiled are rules to decide by.
type compiled struct {
	filter, onFail, onComplete, transform *expr.Expr // nil: none

	otherwise Decision
}

// compile compiles rules. The error is an *Error.
func (c Callback) compile() (*compiled, error) {
	all := &compiled{otherwise: c.otherwise()}
	for _, rule := range []struct {
		name, text string
		as         func(text, variable string) (*expr.Expr, error)
		to         **expr.Expr
	}{
		{"filter", c.Filter, expr.Condition, &all.filter},
		{"on_fail", c.OnFail, expr.Condition, &all.onFail},
		{"on_complete", c.OnComplete, expr.Condition, &all.onComplete},
		{"transform", c.Transform, expr.Compile, &all.transform},
	} {
		if rule.text == "" {
			continue
		}
		x, err := rule.as(rule.text, payload)
		if err != nil {
			return nil, refused(rule.name, err)
		}
		*rule.to = x
	}
	switch all.otherwise {
	case Complete, Fail:
	case Ignore:
		if all.onComplete == nil && all.onFail == nil {
			return nil, &Error{Rule: "default", Reason: "without on_complete and on_fail nothing would ever answer the callback"}
		}
	default:
		return nil, &Error{Rule: "default", Reason: fmt.Sprintf("%.40q is not complete, fail or ignore", c.Default)}
	}
	return all, nil
}

// otherwise is what is done if neither rule holds.
func (c Callback) otherwise() Decision {
	if c.OnComplete != "" {
		return cmp.Or(c.Default, Ignore)
	}
	return cmp.Or(c.Default, Complete)
}

// refused is why a rule is none.
func refused(rule string, err error) error {
	if at, is := errors.AsType[*expr.CompileError](err); is {
		return &Error{Rule: rule, Line: at.Line, Column: at.Column, Reason: at.Reason}
	}
	return fmt.Errorf("the rule %s: %w", rule, err)
}

// Check returns an *Error if the rules cannot be compiled, or could never answer.
func (c Callback) Check() error {
	_, err := c.compile()
	return err
}

// Open makes a callback with rules, as Run.Callback makes one without. If they cannot be compiled
// it returns an *Error, and makes none.
func Open(run *holdfast.Run, name string, c Callback) (*holdfast.Callback, error) {
	kept := journal.Rules{
		Filter: c.Filter, OnComplete: c.OnComplete, OnFail: c.OnFail, Transform: c.Transform, Default: string(c.Default),
	}
	made, err := access.CallbackWith(run, name, &kept, c.Check())
	if err != nil {
		return nil, err
	}
	return made.(*holdfast.Callback), nil //nolint:errcheck // always one
}

// rulesOf are the rules that a journal has kept.
func rulesOf(kept *journal.Rules) Callback {
	return Callback{
		Filter: kept.Filter, OnComplete: kept.OnComplete, OnFail: kept.OnFail, Transform: kept.Transform, Default: Decision(kept.Default),
	}
}

// CheckEvent returns an *Error if a text is no filter of a webhook: an expression over the variable
// event, which is the JSON that the webhook would be told.
func CheckEvent(filter string) error {
	if filter == "" {
		return nil
	}
	if _, err := expr.Condition(filter, Event); err != nil {
		return refused("filter", err)
	}
	return nil
}

// Event is the variable of filters of webhooks.
const Event = "event"

// UndecidedError is why rules have not decided. Nothing was answered: the callback is still open.
type UndecidedError struct {
	Job    store.ID
	Rule   string // whose expression has no value
	Reason string
}

func (e *UndecidedError) Error() string {
	return fmt.Sprintf("the callback of job %s is not answered, and still open: its rule %s has no value for what was sent: %s",
		e.Job, e.Rule, e.Reason)
}
