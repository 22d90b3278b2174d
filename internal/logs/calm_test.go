package logs

import (
	"context"
	"log/slog"
	"testing"
)

// brokenHandler panics in every method.
type brokenHandler struct{}

func (brokenHandler) Enabled(context.Context, slog.Level) bool  { panic("enabled") }
func (brokenHandler) Handle(context.Context, slog.Record) error { panic("handle") }
func (brokenHandler) WithAttrs([]slog.Attr) slog.Handler        { panic("attrs") }
func (brokenHandler) WithGroup(string) slog.Handler             { panic("group") }

// TestLoggerThatPanicsEndsNothing: however it is used.
func TestLoggerThatPanicsEndsNothing(t *testing.T) {
	log := Calm(slog.New(brokenHandler{}))
	log.With("a", 1).WithGroup("g").With("b", 2).Error("nobody reads this")
	if err := log.With("a", 1).Handler().Handle(t.Context(), slog.Record{}); err != nil {
		t.Error(err)
	}
}
