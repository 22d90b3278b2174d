package push

import (
	"encoding/json"
	"log/slog"

	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/internal/expr"
	"github.com/holdfastdev/holdfast/rules"
)

// where is the filter of a webhook by an expression, as its reader has it: compiled once for each
// text. It loses no event: what it has no value for passes, and so does all if it does not compile.
type where struct {
	log    *slog.Logger
	text   string
	x      *expr.Expr // nil: all passes
	warned bool       // of this text
}

// is sets the text.
func (w *where) is(text string) {
	if text == w.text {
		return
	}
	w.text, w.x, w.warned = text, nil, false
	if text == "" {
		return
	}
	x, err := expr.Condition(text, rules.Event)
	if err != nil {
		w.warn("", err)
		return
	}
	w.x = x
}

// passes reports whether a webhook is told of an event.
func (w *where) passes(m *endpoint.Message) bool {
	if w.x == nil {
		return true
	}
	event, err := json.Marshal(m)
	if err != nil {
		w.warn(m.Data.Position, err)
		return true
	}
	holds, err := w.x.Holds(event)
	if err != nil {
		w.warn(m.Data.Position, err)
		return true
	}
	return holds
}

// warn tells once of a text: a mistake in it is in each event.
func (w *where) warn(position string, err error) {
	if !w.warned {
		w.warned = true
		w.log.Warn("the filter of a webhook has no value, and what it has none for is delivered", "position", position, "error", err)
	}
}
