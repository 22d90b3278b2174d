package app

import (
	"context"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/store"
)

// The variables in which OpenTelemetry passes a trace on to a process.
const (
	EnvTraceParent = "TRACEPARENT"
	EnvTraceState  = "TRACESTATE"
)

// TraceFlag is the flag that says in which trace a command enqueues, or sends a message.
type TraceFlag struct{ parent string }

// Add adds the flag.
func (f *TraceFlag) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.parent, "traceparent", "",
		"let the job carry this `TRACEPARENT` of W3C Trace Context (default: the variable TRACEPARENT, with TRACESTATE)")
}

// AddTo adds the flag to a command that sends a message, which carries no tracestate.
func (f *TraceFlag) AddTo(cmd *cobra.Command, message string) {
	cmd.Flags().StringVar(&f.parent, "traceparent", "",
		"let the "+message+" carry this `TRACEPARENT` of W3C Trace Context (default: the variable TRACEPARENT)")
}

// Of returns the trace that jobs are to carry: that of the flag, or else that of the environment. A
// process inherits its variables from the one that started it, so what is wrong there is left out,
// as OpenTelemetry wants it.
func (f *TraceFlag) Of(a *App, cmd *cobra.Command) (o store.Options, err error) {
	if cmd.Flags().Changed("traceparent") {
		if !isTraceParent(f.parent) {
			return o, arg.Usagef("--traceparent %.80q is no traceparent; "+
				"they look like 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", f.parent)
		}
		o.TraceParent = f.parent
		return o, nil
	}
	parent, _ := a.Env.LookupEnv(EnvTraceParent)
	if parent = strings.TrimSpace(parent); !isTraceParent(parent) {
		return o, nil
	}
	state, _ := a.Env.LookupEnv(EnvTraceState)
	o.TraceParent, o.TraceState = parent, strings.TrimSpace(state)
	if o.CheckTrace() != nil {
		o.TraceState = ""
	}
	return o, nil
}

// InTrace returns the context of a command that sends a message, which carries the trace of the
// flag, or else that of the environment.
func (f *TraceFlag) InTrace(ctx context.Context, a *App, cmd *cobra.Command) (context.Context, error) {
	o, err := f.Of(a, cmd)
	return access.InTrace(ctx, o.TraceParent, ""), err
}

var traceParent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// isTraceParent reports whether a text is a traceparent of version 00, or of a later one that adds
// nothing.
func isTraceParent(text string) bool {
	return traceParent.MatchString(text) && !strings.HasPrefix(text, "ff") &&
		text[3:35] != strings.Repeat("0", 32) && text[36:52] != strings.Repeat("0", 16)
}

// InTrace lets the client that the command opens enqueue in a trace; with none, it does nothing.
func (a *App) InTrace(o store.Options) {
	if o.TraceParent == "" {
		return
	}
	a.opts = append(a.opts, holdfast.WithEnqueueMiddleware(
		func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
			for _, j := range jobs {
				j.Options.TraceParent, j.Options.TraceState = o.TraceParent, o.TraceState
			}
			return next(ctx)
		}))
}
