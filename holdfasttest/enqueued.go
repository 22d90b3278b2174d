package holdfasttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// ofKind is a holdfast.Kind or a holdfast.Task. Its methods name the types, which are inferred so.
type ofKind[In, Out any] interface {
	Name() string
	Get(ctx context.Context, c *holdfast.Client, id holdfast.ID) (holdfast.Info[In, Out], error)
	Job(c *holdfast.Client, id holdfast.ID) *holdfast.Job[Out]
}

// enqueued lists the jobs of a kind that were enqueued in the namespace of the client, and counts
// others.
func (e *Env) enqueued(kind string) (jobs []enqueued, others map[string]int) {
	e.rest()
	m := e.world.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	others = map[string]int{}
	for _, one := range m.enqueued {
		switch {
		case one.namespace == e.Client.Namespace() && one.kind == kind:
			jobs = append(jobs, *one)
		case one.namespace == e.Client.Namespace():
			others["of kind "+one.kind]++
		default:
			others["in namespace "+one.namespace]++
		}
	}
	return jobs, others
}

// Enqueued returns the args of all jobs of a kind that were enqueued until now, in that order, in
// the namespace of the client: by the test, by handlers, and as children. It does not matter what
// has become of them.
func Enqueued[In, Out any](env *Env, kind ofKind[In, Out]) []In {
	env.T.Helper()
	jobs, _ := env.enqueued(kind.Name())
	args := make([]In, len(jobs))
	for i, job := range jobs {
		if err := json.Unmarshal(job.args, &args[i]); err != nil {
			env.T.Fatalf("holdfasttest: Enqueued: the args of job %s of kind %q do not decode into %T: %v", job.id, kind.Name(), args[i], err)
		}
	}
	return args
}

// RequireEnqueued fails the test unless jobs of a kind with these args have been enqueued, one for
// each; further ones do not matter. Without args there must be any. It returns the jobs, in the
// order of the args, or all of the kind without args. Args are equal if their JSON is. The kind is
// a holdfast.Kind or a holdfast.Task.
func RequireEnqueued[In, Out any](env *Env, kind ofKind[In, Out], args ...In) []*holdfast.Job[Out] {
	env.T.Helper()
	jobs, others := env.enqueued(kind.Name())
	if len(args) == 0 {
		if len(jobs) == 0 {
			env.T.Fatalf("holdfasttest: no job of kind %q was enqueued; %s", kind.Name(), listed(jobs, others))
		}
		return handles(env, kind, jobs)
	}
	found, used := make([]enqueued, 0, len(args)), map[store.ID]bool{}
	for _, want := range args {
		all, next := 0, -1
		for i, job := range jobs {
			if !hasArgs(env, job, want) {
				continue
			}
			if all++; next < 0 && !used[job.id] {
				next = i
			}
		}
		switch {
		case next >= 0:
			found = append(found, jobs[next])
			used[jobs[next].id] = true
		case all == 0:
			env.T.Fatalf("holdfasttest: no job of kind %q was enqueued with the args %s; %s", kind.Name(), encoded(env, want), listed(jobs, others))
		default:
			env.T.Fatalf("holdfasttest: only %d of kind %q were enqueued with the args %s; %s",
				all, kind.Name(), encoded(env, want), listed(jobs, others))
		}
	}
	return handles(env, kind, found)
}

// RequireNotEnqueued fails the test if a job of a kind with any of these args has been enqueued.
// Without args there must be none of the kind.
func RequireNotEnqueued[In, Out any](env *Env, kind ofKind[In, Out], args ...In) {
	env.T.Helper()
	jobs, _ := env.enqueued(kind.Name())
	for _, job := range jobs {
		if len(args) == 0 || slices.ContainsFunc(args, func(unwanted In) bool { return hasArgs(env, job, unwanted) }) {
			env.T.Fatalf("holdfasttest: job %s of kind %q was enqueued with the args %s", job.id, kind.Name(), job.args)
		}
	}
}

func handles[In, Out any](env *Env, kind ofKind[In, Out], jobs []enqueued) []*holdfast.Job[Out] {
	list := make([]*holdfast.Job[Out], len(jobs))
	for i, job := range jobs {
		list[i] = kind.Job(env.Client, job.id)
	}
	return list
}

// hasArgs reports whether the JSON of a job's args is that of want.
func hasArgs(env *Env, job enqueued, want any) bool {
	env.T.Helper()
	return reflect.DeepEqual(decoded(job.args), decoded(encoded(env, want)))
}

func encoded(env *Env, args any) []byte {
	env.T.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		env.T.Fatalf("holdfasttest: the args %v cannot be encoded as JSON: %v", args, err)
	}
	return data
}

// decoded is JSON as a value. Numbers stay as they are written.
func decoded(data []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return data
	}
	return v
}

// listed says what was enqueued.
func listed(jobs []enqueued, others map[string]int) string {
	var text strings.Builder
	switch {
	case len(jobs) > 0:
		text.WriteString("the jobs of the kind are:")
		for i, job := range jobs {
			if i == described {
				fmt.Fprintf(&text, "\n\t… and %d more", len(jobs)-i)
				break
			}
			fmt.Fprintf(&text, "\n\t%s %s", job.id, job.args)
		}
	case len(others) > 0:
		text.WriteString("others were:")
		for _, what := range slices.Sorted(maps.Keys(others)) {
			fmt.Fprintf(&text, " %d %s,", others[what], what)
		}
	default:
		return "none of any kind was"
	}
	return strings.TrimSuffix(text.String(), ",")
}
