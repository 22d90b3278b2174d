package logs

import (
	"context"
	"log/slog"
)

// calmHandler is a handler of the user's that cannot end the process: a panic of it loses the line and nothing else.
type calmHandler struct{ slog.Handler }

// Calm returns a logger that writes to log and cannot end the process.
func Calm(log *slog.Logger) *slog.Logger { return slog.New(calmHandler{log.Handler()}) }

func (h calmHandler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() { _ = recover() }() // there is nowhere to tell it
	return h.Handler.Enabled(ctx, level)
}

func (h calmHandler) Handle(ctx context.Context, r slog.Record) (err error) {
	defer func() { _ = recover() }()
	return h.Handler.Handle(ctx, r)
}

// WithAttrs loses the attributes if the user's handler panics, and not the lines.
func (h calmHandler) WithAttrs(attrs []slog.Attr) (with slog.Handler) {
	defer func() {
		if recover() != nil {
			with = h
		}
	}()
	return calmHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup loses the group if the user's handler panics, and not the lines.
func (h calmHandler) WithGroup(name string) (with slog.Handler) {
	defer func() {
		if recover() != nil {
			with = h
		}
	}()
	return calmHandler{h.Handler.WithGroup(name)}
}
