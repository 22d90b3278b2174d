package logs

import (
	"context"
	"log/slog"
)

// safeHandler wraps a user's handler, so that a panic of it loses the line and does not end the
// process.
type safeHandler struct{ slog.Handler }

// Calm returns a logger that writes to log and survives its panics.
func Calm(log *slog.Logger) *slog.Logger { return slog.New(safeHandler{log.Handler()}) }

func (h safeHandler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() { _ = recover() }() // there is nowhere to report it
	return h.Handler.Enabled(ctx, level)
}

func (h safeHandler) Handle(ctx context.Context, r slog.Record) (err error) {
	defer func() { _ = recover() }()
	return h.Handler.Handle(ctx, r)
}

// WithAttrs loses only the attributes if the user's handler panics.
func (h safeHandler) WithAttrs(attrs []slog.Attr) (with slog.Handler) {
	defer func() {
		if recover() != nil {
			with = h
		}
	}()
	return safeHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup loses only the group if the user's handler panics.
func (h safeHandler) WithGroup(name string) (with slog.Handler) {
	defer func() {
		if recover() != nil {
			with = h
		}
	}()
	return safeHandler{h.Handler.WithGroup(name)}
}
