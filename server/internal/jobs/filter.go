package jobs

import (
	"fmt"
	"reflect"
	"time"

	"github.com/holdfastdev/holdfast/internal/query"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// FilterIn are the parameters that select jobs. All that are given must fit; of one that is a list
// one value must, but for tags, of which all must.
type FilterIn struct {
	Query          string    `query:"q" doc:"A query, instead of the others: conditions NAME:VALUE with spaces between them" example:"state:failed queue:mail since:24h"`
	State          []string  `query:"state,explode" doc:"In one of these states"`
	Queue          []string  `query:"queue,explode" doc:"In one of these queues"`
	Kind           []string  `query:"kind,explode" doc:"Of one of these kinds"`
	Tag            []string  `query:"tag,explode" doc:"With all of these tags"`
	ID             []string  `query:"id,explode" doc:"One of these jobs"`
	Reason         []string  `query:"reason,explode" doc:"Failed or cancelled for one of these reasons"`
	Fingerprint    []string  `query:"fingerprint,explode" doc:"Failed with one of these fingerprints"`
	Key            string    `query:"key" doc:"The job that has this business key, or had it last; needs kind"`
	Parent         api.ID    `query:"parent" doc:"Children of this job"`
	Root           api.ID    `query:"root" doc:"Children of this job, their children, and so on"`
	Batch          api.ID    `query:"batch" doc:"Members of this batch"`
	CreatedAfter   time.Time `query:"created_after"`
	CreatedBefore  time.Time `query:"created_before"`
	RunAfter       time.Time `query:"run_after"`
	RunBefore      time.Time `query:"run_before"`
	FinishedAfter  time.Time `query:"finished_after"`
	FinishedBefore time.Time `query:"finished_before"`
	Metadata       []string  `query:"metadata,explode" doc:"With this value in their metadata: PATH=VALUE, such as customer.city=Ulm"`
	Args           []string  `query:"args,explode" doc:"The same in their args"`
	Attribute      []string  `query:"attribute,explode" doc:"With this search attribute: NAME=VALUE, NAME<VALUE, <=, >, >=, or NAME if it is there"`
}

// filter returns the filter of the parameters. Who does not see payloads does not find by them
// either: they could be guessed.
func (in *FilterIn) filter(c *api.Call) (store.Filter, error) {
	f, err := in.parse(c.Now())
	if err == nil && len(f.Args)+len(f.Metadata)+len(f.Attributes) > 0 && !c.Principal.May(access.PayloadsRead) {
		err = problem.New(problem.Forbidden, "finding jobs by their args, metadata or attributes needs the scope "+string(access.PayloadsRead))
	}
	return f, err
}

func (in *FilterIn) parse(now time.Time) (store.Filter, error) {
	if in.Query != "" {
		f, err := query.Parse(in.Query, now)
		if err == nil && !reflect.DeepEqual(*in, FilterIn{Query: in.Query}) {
			err = problem.Invalid("query/q", "q cannot be given together with other conditions")
		}
		return f, problem.At("query/q", err)
	}
	f := store.Filter{
		Queues: in.Queue, Kinds: in.Kind, Tags: in.Tag, Key: in.Key,
		Parent: store.ID(in.Parent), Root: store.ID(in.Root), Batch: store.ID(in.Batch),
		CreatedAfter: in.CreatedAfter, CreatedBefore: in.CreatedBefore, RunAfter: in.RunAfter, RunBefore: in.RunBefore,
		FinishedAfter: in.FinishedAfter, FinishedBefore: in.FinishedBefore,
	}
	if f.Key != "" && len(f.Kinds) == 0 {
		return f, problem.Invalid("query/key", "key needs kind")
	}
	for _, name := range in.State {
		state, err := store.ParseState(name)
		if err != nil {
			return f, problem.Invalid("query/state", fmt.Sprintf("there is no state %q", name))
		}
		f.States = append(f.States, state)
	}
	for _, reason := range in.Reason {
		f.Reasons = append(f.Reasons, store.Reason(reason))
	}
	var err error
	if f.IDs, err = each("id", in.ID, query.ParseID); err != nil {
		return f, err
	}
	if f.Fingerprints, err = each("fingerprint", in.Fingerprint, query.ParseFingerprint); err != nil {
		return f, err
	}
	if f.Metadata, err = each("metadata", in.Metadata, query.ParseMatch); err != nil {
		return f, err
	}
	if f.Args, err = each("args", in.Args, query.ParseMatch); err != nil {
		return f, err
	}
	f.Attributes, err = each("attribute", in.Attribute, query.ParseAttribute)
	return f, err
}

// each parses the values of a parameter.
func each[T any](name string, texts []string, parse func(string) (T, error)) (all []T, err error) {
	for _, text := range texts {
		v, err := parse(text)
		if err != nil {
			return nil, problem.At("query/"+name, err)
		}
		all = append(all, v)
	}
	return all, nil
}
