package redact

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
)

// With is an option of holdfast.Open: what the rules mean is hidden in the attributes of all log
// lines of the client, those of run.Logger among them, also as they are kept with their jobs.
// Messages are not read: put values into attributes. Default, and for nil: nothing is hidden.
func With(r *Rules) holdfast.Option {
	return access.Redact(r.Handler).(holdfast.Option) //nolint:errcheck // always one
}

// Handler returns a handler that passes log lines on to another one, with what the rules hide.
// Groups are as fields, and so are the fields of values that are written as JSON.
func (r *Rules) Handler(to slog.Handler) slog.Handler {
	if r.IsEmpty() {
		return to
	}
	return &handler{rules: r, to: to}
}

type handler struct {
	rules *Rules
	to    slog.Handler
	path  path // of the groups
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.to.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	hidden := slog.NewRecord(record.Time, record.Level, record.Message, record.PC)
	record.Attrs(func(a slog.Attr) bool {
		hidden.AddAttrs(h.attr(h.path, a))
		return true
	})
	return h.to.Handle(ctx, hidden)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	hidden := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		hidden[i] = h.attr(h.path, a)
	}
	return &handler{h.rules, h.to.WithAttrs(hidden), h.path}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &handler{h.rules, h.to.WithGroup(name), append(slices.Clip(h.path), normal(name))}
}

// attr is an attribute with what is hidden of it.
func (h *handler) attr(at path, a slog.Attr) slog.Attr {
	if a.Key != "" {
		at = append(slices.Clip(at), normal(a.Key))
		if h.rules.hides(at) {
			return slog.String(a.Key, Hidden)
		}
	}
	value := a.Value.Resolve()
	switch value.Kind() {
	case slog.KindGroup:
		group := value.Group()
		hidden := make([]slog.Attr, len(group))
		for i, member := range group {
			hidden[i] = h.attr(at, member)
		}
		a.Value = slog.GroupValue(hidden...)
	case slog.KindAny:
		a.Value = h.value(at, value)
	default:
		a.Value = value
	}
	return a
}

// value is a value of any type: one with fields becomes JSON, without those that are hidden.
// Handlers would write it in their own way, with fields that JSON does not have, such as those with
// the tag "-". One that cannot be JSON is hidden whole, since it cannot be told what it contains.
func (h *handler) value(at path, value slog.Value) slog.Value {
	var data []byte
	isText := false
	switch v := value.Any().(type) {
	case nil:
		return value
	case json.RawMessage:
		data = v
	case []byte:
		if !json.Valid(v) {
			return value
		}
		data = v
	default:
		_, isText = v.(encoding.TextMarshaler)
		_, isJSON := v.(json.Marshaler)
		if _, isError := v.(error); isError && !isJSON {
			return value // all handlers write its text
		}
		_, isStringer := v.(fmt.Stringer)
		isText = isText || isStringer
		var err error
		if data, err = marshal(v); err != nil {
			return slog.StringValue(Hidden)
		}
	}
	switch hidden := h.rules.at(at, data); {
	case hidden != nil:
		return slog.AnyValue(json.RawMessage(hidden))
	case isText || len(data) == 0 || data[0] != '{' && data[0] != '[':
		return value // as a text, or with no fields
	default:
		return slog.AnyValue(json.RawMessage(data))
	}
}

// marshal is json.Marshal of a value of a user, whose methods may panic: a line of a log is no
// reason for its writer to.
func marshal(v any) (data []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v", p) //nolint:err113 // for people
		}
	}()
	return json.Marshal(v)
}

// at hides what the rules mean in a document that is the value of a field; nil: nothing.
func (r *Rules) at(at path, data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	if !json.Valid(data) {
		return hiddenJSON
	}
	w := walker{rules: r, in: data, path: slices.Clone(at)}
	w.value(false)
	if w.out == nil {
		return nil
	}
	return append(w.out, w.in[w.copied:]...)
}
