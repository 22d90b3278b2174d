package builtin

import (
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
)

// trace is the trace in which a job was enqueued, by W3C Trace Context; empty: none.
type trace struct{ parent, state string }

// traceOf is the trace of the job of a run. These kinds make no spans, so they pass it on as it is.
func traceOf(run *holdfast.Run) trace {
	o := &access.JobOf(run).Options
	return trace{o.TraceParent, o.TraceState}
}

// each calls set with the headers.
func (t trace) each(set func(name, value string)) {
	if t.parent == "" {
		return
	}
	set("traceparent", t.parent)
	if t.state != "" {
		set("tracestate", t.state)
	}
}

// environ is an environment with the trace in it, and without that of who has started the node.
func (t trace) environ(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		return strings.HasPrefix(variable, "TRACEPARENT=") || strings.HasPrefix(variable, "TRACESTATE=")
	})
	t.each(func(name, value string) { env = append(env, strings.ToUpper(name)+"="+value) })
	return env
}
