package access

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// planSteps changes schedules and limits.
func planSteps(e *env.Env) []step {
	n, ada := env.Namespace, "ada"
	nightly := env.Schedule("nightly", func(s *store.Schedule) { s.Job.Args = []byte(`"hush"`) })
	partner := env.Limit("partner", 5, func(l *store.Limit) { l.Rate = &store.Rate{Count: 1, Per: time.Second} })
	schedule := func() error {
		saved, err := e.Store.SaveSchedule(e.Ctx, nightly, nightly.Version, ada)
		nightly.Version = saved.Version
		return err
	}
	limit := func() error {
		saved, err := e.Store.SaveLimit(e.Ctx, partner, partner.Version, ada)
		partner.Version = saved.Version
		return err
	}
	until := e.Clock.Now().Add(time.Hour)
	return []step{
		{"create schedule nightly", schedule},
		{"update schedule nightly", func() error {
			nightly.Overlap, nightly.Job.Args = store.OverlapAllow, []byte(`"hush!"`)
			return schedule()
		}},
		{"update schedule nightly", func() error {
			nightly.Job.Options.Timeout, nightly.Job.Tags = time.Minute, []string{"a"}
			return schedule()
		}},
		{"update schedule nightly", func() error { nightly.Job.Metadata = []byte(`{"a":"hush"}`); return schedule() }},
		{"update schedule nightly", func() error { nightly.Left = 3; return schedule() }},
		{"pause schedule nightly", func() error { nightly.PausedAt, nightly.Note = e.Clock.Now(), "rest"; return schedule() }},
		{"resume schedule nightly", func() error { nightly.PausedAt, nightly.Note = time.Time{}, ""; return schedule() }},
		{"", schedule},
		{"trigger schedule nightly", func() error { return fireOnce(e, &nightly) }},
		{"delete schedule nightly", func() error { return e.Store.DeleteSchedule(e.Ctx, n, "nightly", 0, ada) }},
		{"create limit partner", limit},
		{"update limit partner", func() error { partner.Capacity = 6; return limit() }},
		{"", limit},
		{"drain limit partner", func() error { return e.Store.Drain(e.Ctx, n, "partner", until, ada) }},
		{"", func() error { return e.Store.Drain(e.Ctx, n, "partner", until.Add(-time.Minute), ada) }},
		{"resume limit partner", func() error {
			return e.Store.ResumeLimit(e.Ctx, store.ResumeLimitParams{Namespace: n, Name: "partner", Actor: ada})
		}},
		{"delete limit partner", func() error { return e.Store.DeleteLimit(e.Ctx, n, "partner", false, ada) }},
	}
}

// fireOnce fires a schedule as a person asks.
func fireOnce(e *env.Env, s *store.Schedule) error {
	unit := e.Fire(*s, e.Clock.Now())
	unit.Fire.Manual, unit.Fire.Version, unit.Fire.Actor = 7, 0, "ada"
	batch := env.Batched(unit)
	return e.Store.Apply(e.Ctx, batch)
}

// settingSteps changes each other kind of setting, and a job.
func settingSteps(e *env.Env) []step {
	n, ada := env.Namespace, "ada"
	kept := store.RetentionClass{Name: "short", Failed: 48 * time.Hour, SetBy: ada}
	attribute := store.DeclareAttributesParams{
		Namespace: n, Actor: ada, Attributes: []store.DeclaredAttribute{{Name: "customer", Type: store.AttributeKeyword}},
	}
	told := store.Descriptor{Namespace: n, Subject: store.SubjectKind, Name: "send", Data: []byte(`{"about":"it"}`)}
	job := e.Add(func(q *store.Enqueue) { q.Job.RunAt = e.Clock.Now().Add(time.Hour) })
	priority, due := 4, e.Clock.Now().Add(2*time.Hour)
	edit := store.EditParams{Namespace: n, Job: job, Actor: ada, Reason: "late", Edit: store.Edit{
		Priority: &priority, RunAt: &due, AddTags: []string{"vip"}, Args: []byte(`"hush"`),
	}}
	class := func() error { return second(e.Store.SetRetention(e.Ctx, kept)) }
	attempts := 4
	return []step{
		{"create retention short", class},
		{"update retention short", func() error { kept.Failed = store.KeepForever; return class() }},
		{"", class},
		{"delete retention short", func() error { return e.Store.DeleteRetention(e.Ctx, kept) }},
		{"create attribute customer", func() error { return e.Store.DeclareAttributes(e.Ctx, attribute) }},
		{"", func() error { return e.Store.DeclareAttributes(e.Ctx, attribute) }},
		{"delete attribute customer", func() error {
			return second(e.Store.RemoveAttribute(e.Ctx, store.RemoveAttributeParams{Namespace: n, Name: "customer", Limit: 10, Actor: ada}))
		}},
		{"", func() error { return second(e.Store.Describe(e.Ctx, []store.Descriptor{told}, "")) }},
		{"forget kind send", func() error { told.Data = nil; return second(e.Store.Describe(e.Ctx, []store.Descriptor{told}, ada)) }},
		{"", func() error { return second(e.Store.Describe(e.Ctx, []store.Descriptor{told}, ada)) }},
		{"set queue mail", func() error {
			set := store.AttemptSettings{MaxAttempts: attempts}
			return second(e.Store.SetQueue(e.Ctx, store.SetQueueParams{
				Namespace: n, Queue: "mail", Set: set, Actor: ada,
			}))
		}},
		{"edit job " + job.String(), func() error { return third(e.Store.Edit(e.Ctx, edit)) }},
		{"", func() error { return third(e.Store.Edit(e.Ctx, edit)) }},
	}
}

// step is a change: what is recorded of it, or "" for nothing, and how it is made.
type step struct {
	want string
	do   func() error
}

func third[A, B any](_ A, _ B, err error) error { return err }

// changedMark is what entries say of what is another and may be a secret.
var changedMark = regexp.MustCompile(`,"(args|metadata)":"changed"`)

// settings: what is set has an entry with what was before and what is then, and without secrets;
// the next one begins with how that one ended.
func settings(e *env.Env) {
	latest := map[store.AuditTarget]string{}
	for _, s := range slices.Concat(planSteps(e), settingSteps(e)) {
		e.Clock.Advance(time.Second)
		was := len(audit(e, store.AuditParams{}))
		e.NoError(s.want, s.do())
		all := audit(e, store.AuditParams{})
		if s.want == "" {
			if len(all) != was {
				e.Errorf("what changes nothing is recorded: %+v", all[0])
			}
			continue
		}
		if len(all) != was+1 {
			e.Fatalf("%s has %d entries", s.want, len(all)-was)
		}
		a := all[0]
		e.Equal("entry", a.Action+" "+a.Target.Kind+" "+a.Target.Name, s.want)
		if a.Actor != "ada" || a.Before == a.After && a.Action != "resume" && a.Action != "forget" {
			e.Errorf("%s: %+v", s.want, a)
		}
		if strings.Contains(a.Before+a.After, "hush") {
			e.Errorf("args are recorded: %+v", a)
		}
		after := changedMark.ReplaceAllString(a.After, "")
		if before, known := latest[a.Target]; known && a.Before != "" && before != a.Before {
			e.Errorf("%s: it was %s before, not %s", s.want, before, a.Before)
		}
		if after != "" && a.Action != "drain" && a.Action != "trigger" {
			latest[a.Target] = after
		}
	}
}

// chained: of those who change a limit at once each has an entry if its change was made, and what
// was before is what the one before had made.
func chained(e *env.Env) {
	e.Competes()
	const savers, each = 4, 10
	first := e.SaveLimit(env.Limit("partner", 1))
	e.Clock.Advance(time.Second)
	var made atomic.Int64
	var all sync.WaitGroup
	for saver := range savers {
		all.Go(func() {
			for n := range each {
				now, err := e.Store.Limits(e.Ctx, env.Namespace, "partner")
				if err == nil {
					_, err = e.Store.SaveLimit(e.Ctx, env.Limit("partner", 100+saver*each+n), now[0].Version, "ada")
				}
				if err == nil {
					made.Add(1)
				} else if !errors.Is(err, store.ErrConflict) {
					e.Errorf("SaveLimit: %v", err)
				}
			}
		})
	}
	all.Wait()
	entries := audit(e, store.AuditParams{Target: store.AuditTarget{Kind: store.AuditLimit, Name: "partner"}, Action: "update"})
	e.Equal("entries", int64(len(entries)), made.Load())
	slices.SortFunc(entries, func(a, b store.AuditEntry) int { return cmp.Compare(a.Seq, b.Seq) })
	was := fmt.Sprintf(`{"capacity":%d}`, first.Capacity)
	for _, a := range entries {
		e.Equal("before", a.Before, was)
		was = a.After
	}
	e.Equal("at last", was, fmt.Sprintf(`{"capacity":%d}`, e.LimitOf("partner").Capacity))
}
