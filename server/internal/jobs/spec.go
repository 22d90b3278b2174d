package jobs

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/after"
	"github.com/holdfastdev/holdfast/batch"
	"github.com/holdfastdev/holdfast/fair"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/search"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// NewJob is a job to enqueue. What is left out is as the kind and the queue say.
type NewJob struct {
	Kind        string                     `json:"kind" minLength:"1" doc:"What is to be done" example:"mail"`
	Args        api.Payload                `json:"args,omitempty" doc:"JSON of your own; {} if it is left out"`
	ID          *api.ID                    `json:"id,omitempty" doc:"A UUIDv7; enqueueing the same id again does nothing"`
	Queue       string                     `json:"queue,omitempty" doc:"default if it is left out"`
	Priority    int                        `json:"priority,omitempty" minimum:"1" maximum:"4" doc:"1 is the most urgent"`
	RunAt       time.Time                  `json:"run_at,omitzero" doc:"It runs then; at once if it is left out"`
	Delay       api.Duration               `json:"delay,omitzero" doc:"It runs after this; not together with run_at"`
	Deadline    time.Time                  `json:"deadline,omitzero" doc:"It fails if it has not finished then, even if attempts are left"`
	MaxAttempts int                        `json:"max_attempts,omitempty" minimum:"1"`
	Timeout     api.PositiveDuration       `json:"timeout,omitzero" doc:"Of one attempt"`
	Heartbeat   api.PositiveDuration       `json:"heartbeat_timeout,omitzero" doc:"How long an attempt may go without progress"`
	Backoff     *NewBackoff                `json:"backoff,omitempty"`
	Tags        []string                   `json:"tags,omitempty" nullable:"false"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
	Attributes  map[string]json.RawMessage `json:"attributes,omitempty" doc:"Search attributes, which the namespace has declared"`
	OrderingKey string                     `json:"ordering_key,omitempty" doc:"Jobs of the queue with the same key run one at a time, in order"`
	KeepTurn    bool                       `json:"keep_turn,omitempty" doc:"If the job fails, those behind it wait until it is retried, skipped or deleted"`
	Unique      *NewUnique                 `json:"unique,omitempty" doc:"Enqueues no duplicate; not together with key"`
	Key         string                     `json:"key,omitempty" doc:"Its business key, such as order-42; if a job of the kind holds it, that is the answer"`
	KeepKey     string                     `json:"keep_key,omitempty" doc:"How long it holds the key after its end: a duration, or forever"`
	Limit       string                     `json:"limit,omitempty" doc:"The limit per key in which it counts"`
	LimitKey    string                     `json:"limit_key,omitempty" doc:"Its key there"`
	FairKey     string                     `json:"fair_key,omitempty" doc:"For whom it is: jobs of other keys take turns with it"`
	After       []NewDependency            `json:"after,omitempty" nullable:"false" doc:"Jobs that have to finish first"`
	FollowUps   []NewFollowUp              `json:"follow_ups,omitempty" nullable:"false" doc:"Jobs of which one runs at its end"`
	Batch       api.ID                     `json:"batch,omitzero" doc:"The batch to which it is added, which is open"`
}

// NewBackoff is the policy of the delays between attempts.
type NewBackoff struct {
	Base api.Duration `json:"base" doc:"The delay before the second attempt; it doubles with each"`
	Cap  api.Duration `json:"cap" doc:"The longest delay"`
}

// NewUnique says when two jobs are duplicates.
type NewUnique struct {
	Args     bool                 `json:"args,omitempty" doc:"If they have the same args"`
	Fields   []string             `json:"fields,omitempty" nullable:"false" doc:"If these fields of their args are the same, such as address.city"`
	Queue    bool                 `json:"queue,omitempty" doc:"If they are in the same queue, too"`
	Period   api.PositiveDuration `json:"period,omitzero" doc:"If they are due in the same period of this length, too"`
	Key      string               `json:"key,omitempty" doc:"If they have this in common, whatever their kinds"`
	While    []string             `json:"while,omitempty" nullable:"false" doc:"While the first is also in these states, such as completed"`
	Conflict string               `json:"on_conflict,omitempty" enum:"return,reject,replace" doc:"What becomes of the second; return if it is left out: the answer is the first job"`
	MaxDelay api.PositiveDuration `json:"max_delay,omitzero" doc:"With replace and delay: it runs at most this after it was enqueued first"`
}

// NewDependency is a job that has to finish first.
type NewDependency struct {
	Job      api.ID `json:"job"`
	IfFailed string `json:"if_failed,omitempty" enum:"cancel,run,hold" doc:"What becomes of this one if that fails; cancel if it is left out"`
}

// NewFollowUp is a job that runs at the end of another one.
type NewFollowUp struct {
	On  string `json:"on" enum:"completed,failed,cancelled,any"`
	Job NewJob `json:"job"`
}

// maxFollowUps is how deep follow-ups have follow-ups.
const maxFollowUps = 5

// item returns the job as an item of a batch. at is the JSON pointer of the specification.
func (s *NewJob) item(at string, deep int) (holdfast.BatchItem, error) {
	args := s.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	opts, err := s.options(at, deep)
	return anyKind(s.Kind).Item(args, opts...), err
}

// anyKind is a kind whose payloads are only known to be JSON.
func anyKind(name string) holdfast.Kind[json.RawMessage, json.RawMessage] {
	return holdfast.NewKind[json.RawMessage, json.RawMessage](name)
}

// adder collects options.
type adder struct{ opts []holdfast.EnqueueOption }

func (a *adder) addIf(given bool, option func() holdfast.EnqueueOption) {
	if given {
		a.opts = append(a.opts, option())
	}
}

func (s *NewJob) options(at string, deep int) ([]holdfast.EnqueueOption, error) {
	var a adder
	if s.ID != nil && *s.ID == (api.ID{}) { // which the option takes for none
		return nil, problem.Invalid(at+"/id", "it is not an id that a job can have; make a UUIDv7")
	}
	a.addIf(s.ID != nil, func() holdfast.EnqueueOption { return holdfast.JobID(store.ID(*s.ID)) })
	a.addIf(s.Queue != "", func() holdfast.EnqueueOption { return holdfast.Queue(s.Queue) })
	a.addIf(s.Priority != 0, func() holdfast.EnqueueOption { return holdfast.Priority(s.Priority) })
	a.addIf(!s.RunAt.IsZero(), func() holdfast.EnqueueOption { return holdfast.RunAt(s.RunAt) })
	a.addIf(s.Delay != 0, func() holdfast.EnqueueOption { return holdfast.Delay(time.Duration(s.Delay)) })
	a.addIf(!s.Deadline.IsZero(), func() holdfast.EnqueueOption { return holdfast.Deadline(s.Deadline) })
	a.addIf(s.MaxAttempts != 0, func() holdfast.EnqueueOption { return holdfast.MaxAttempts(s.MaxAttempts) })
	a.addIf(s.Timeout != 0, func() holdfast.EnqueueOption { return holdfast.Timeout(time.Duration(s.Timeout)) })
	a.addIf(s.Heartbeat != 0, func() holdfast.EnqueueOption { return holdfast.HeartbeatTimeout(time.Duration(s.Heartbeat)) })
	a.addIf(s.Backoff != nil, func() holdfast.EnqueueOption {
		return holdfast.Backoff(time.Duration(s.Backoff.Base), time.Duration(s.Backoff.Cap))
	})
	a.addIf(len(s.Tags) > 0, func() holdfast.EnqueueOption { return holdfast.Tags(s.Tags...) })
	a.addIf(s.Metadata != nil, func() holdfast.EnqueueOption { return holdfast.Metadata(s.Metadata) })
	a.addIf(s.OrderingKey != "", func() holdfast.EnqueueOption { return holdfast.OrderingKey(s.OrderingKey) })
	a.addIf(s.KeepTurn, after.KeepTurn)
	a.addIf(s.Key != "", func() holdfast.EnqueueOption { return holdfast.Key(s.Key) })
	a.addIf(s.Limit != "" || s.LimitKey != "", func() holdfast.EnqueueOption { return limit.By(s.Limit, s.LimitKey) })
	a.addIf(s.FairKey != "", func() holdfast.EnqueueOption { return fair.Key(s.FairKey) })
	a.addIf(s.Batch != api.ID{}, func() holdfast.EnqueueOption { return batch.Member(store.ID(s.Batch)) })
	if err := s.check(at); err != nil {
		return nil, err
	}
	for _, more := range []func(string, int, *adder) error{s.keepKey, s.attributes, s.unique, s.after, s.followUps} {
		if err := more(at, deep, &a); err != nil {
			return nil, err
		}
	}
	return a.opts, nil
}

// check refuses what the options cannot tell from what was left out.
func (s *NewJob) check(at string) error {
	switch {
	case s.Delay != 0 && !s.RunAt.IsZero():
		return problem.Invalid(at+"/delay", "delay and run_at cannot be given together")
	case s.Delay < 0:
		return problem.Invalid(at+"/delay", "the delay is negative")
	case s.KeepTurn && s.OrderingKey == "":
		return problem.Invalid(at+"/keep_turn", "keep_turn needs an ordering_key")
	case s.KeepKey != "" && s.Key == "":
		return problem.Invalid(at+"/keep_key", "keep_key needs a key")
	case s.Unique != nil && s.Key != "":
		return problem.Invalid(at+"/unique", "unique and key cannot be given together")
	}
	return nil
}

func (s *NewJob) keepKey(at string, _ int, a *adder) error {
	switch s.KeepKey {
	case "":
		return nil
	case "forever":
		a.opts = append(a.opts, holdfast.KeepKey(store.KeepForever))
		return nil
	}
	d, err := time.ParseDuration(s.KeepKey)
	if err != nil || d <= 0 {
		return problem.Invalid(at+"/keep_key", fmt.Sprintf("%q is neither a duration such as 24h nor forever", s.KeepKey))
	}
	a.opts = append(a.opts, holdfast.KeepKey(d))
	return nil
}

func (s *NewJob) attributes(at string, _ int, a *adder) error {
	for name, raw := range s.Attributes {
		if string(raw) == "null" {
			return problem.Invalid(at+"/attributes/"+name, "null is no value of a search attribute: leave it out")
		}
		text := string(raw) // of a number, true or false
		if len(raw) > 0 && raw[0] == '"' {
			if err := json.Unmarshal(raw, &text); err != nil {
				return problem.Invalid(at+"/attributes/"+name, err.Error())
			}
		}
		a.opts = append(a.opts, search.Text(name, text))
	}
	return nil
}

var conflicts = map[string]store.OnConflict{
	"": store.ReturnExisting, "return": store.ReturnExisting, "reject": store.Reject, "replace": store.Replace,
}

func (s *NewJob) unique(at string, _ int, a *adder) error {
	u := s.Unique
	if u == nil {
		return nil
	}
	unique := holdfast.Unique{
		ByArgs: u.Args, ByFields: u.Fields, ByQueue: u.Queue, ByPeriod: time.Duration(u.Period), ByKey: u.Key,
		OnConflict: conflicts[u.Conflict], MaxDelay: time.Duration(u.MaxDelay),
	}
	for i, name := range u.While {
		state, err := store.ParseState(name)
		if err != nil {
			return problem.Invalid(fmt.Sprintf("%s/unique/while/%d", at, i), fmt.Sprintf("there is no state %q", name))
		}
		unique.While = append(unique.While, state)
	}
	if unique.While != nil {
		unique.While = slices.Concat(unique.While, []store.State{store.Running, store.Retryable, store.Waiting})
	}
	a.opts = append(a.opts, unique)
	return nil
}

func (s *NewJob) after(_ string, _ int, a *adder) error {
	by := map[string][]store.ID{}
	for _, of := range s.After {
		by[of.IfFailed] = append(by[of.IfFailed], store.ID(of.Job))
	}
	a.addIf(by[""] != nil, func() holdfast.EnqueueOption { return after.Completed(by[""]...) })
	a.addIf(by["cancel"] != nil, func() holdfast.EnqueueOption { return after.Completed(by["cancel"]...) })
	a.addIf(by["run"] != nil, func() holdfast.EnqueueOption { return after.Finished(by["run"]...) })
	a.addIf(by["hold"] != nil, func() holdfast.EnqueueOption { return after.CompletedOrHeld(by["hold"]...) })
	return nil
}

var ends = map[string]func(holdfast.BatchItem) holdfast.EnqueueOption{
	"completed": after.Success, "failed": after.Failure, "cancelled": after.Cancel, "any": after.End,
}

func (s *NewJob) followUps(at string, deep int, a *adder) error {
	for i, f := range s.FollowUps {
		here := fmt.Sprintf("%s/follow_ups/%d/job", at, i)
		if deep == maxFollowUps {
			return problem.Invalid(here, fmt.Sprintf("follow-ups are at most %d deep", maxFollowUps))
		}
		item, err := f.Job.item(here, deep+1)
		if err != nil {
			return err
		}
		a.opts = append(a.opts, ends[f.On](item))
	}
	return nil
}
