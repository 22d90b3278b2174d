package operate

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var busyTests = env.Tests{
	"Busy_names_each_queue_with_jobs_to_claim_once_for_each_kind": busyQueues,
	"Busy_leaves_out_what_is_paused_or_rests":                     busyPaused,
	"Busy_counts_only_what_is_due":                                busyDue,
}

// wantBusy checks which queues of a namespace have jobs to claim. Each is followed by the kinds of
// these.
func wantBusy(e *env.Env, namespace string, want ...string) {
	e.Helper()
	busy, err := e.Store.Busy(e.Ctx, namespace)
	e.NoError("Busy", err)
	var got []string
	for _, q := range busy {
		got = append(got, q.Name+" "+q.Kind)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		e.Errorf("in %q the queues %q have jobs to claim, want %q", namespace, got, want)
	}
}

func busyQueues(e *env.Env) {
	wantBusy(e, env.Namespace)
	for i := range 12 {
		e.Add(env.Priority(1+i%4), env.Kind([]string{"send", "push", "bill"}[i%3]))
	}
	e.Add(env.Queue("news"))
	e.Add(env.Queue("mail"), env.Version("v1"))
	e.Add(env.In("other"), env.Queue("there"))
	e.Add(env.FairKey("acme"))
	wantBusy(e, env.Namespace, "mail bill", "mail push", "mail send", "mail send@v1", "news send")
	wantBusy(e, "other", "there send")
	wantBusy(e, "nothing")
	params := e.Demand(e.Join(), 10)
	params.Queues = []store.QueueDemand{{Name: "news", Limit: 1}}
	if got := e.ClaimWith(params); len(got) != 1 {
		e.Fatalf("%d jobs are claimed, want 1", len(got))
	}
	wantBusy(e, env.Namespace, "mail bill", "mail push", "mail send", "mail send@v1")
}

func busyPaused(e *env.Env) {
	e.Add()
	e.Add(env.Queue("news"))
	e.Pause("mail", true)
	wantBusy(e, env.Namespace, "news send")
	e.Pause("mail", false)
	wantBusy(e, env.Namespace, "mail send", "news send")
	e.Rest("news", time.Minute, noCurve)
	wantBusy(e, env.Namespace, "mail send")
	e.Clock.Advance(time.Minute)
	wantBusy(e, env.Namespace, "mail send", "news send")
}

func busyDue(e *env.Env) {
	e.Add(env.Delay(time.Hour))
	wantBusy(e, env.Namespace)
	e.Clock.Advance(time.Hour)
	e.Promote()
	wantBusy(e, env.Namespace, "mail send")
}
