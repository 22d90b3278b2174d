package access

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

func audit(e *env.Env, params store.AuditParams) []store.AuditEntry {
	e.Helper()
	if params.Limit == 0 {
		params.Limit = 1000
	}
	all, err := e.Store.ListAudit(e.Ctx, params)
	e.NoError("ListAudit", err)
	return all
}

// said is what entries say, but for their times.
func said(all []store.AuditEntry) (lines []string) {
	for _, a := range all {
		lines = append(lines, fmt.Sprintf("%s: %s %s %s in %s, %s -> %s", a.Actor, a.Action, a.Target.Kind, a.Target.Name, a.Namespace,
			a.Before, a.After))
	}
	return lines
}

// changes makes one change of each kind, a second after each other, and says what is to be
// recorded, newest first.
func changes(e *env.Env) (want []string) {
	const n = env.Namespace
	hash := []byte(strings.Repeat("h", 32))
	push := store.EndpointName{Namespace: n, Purpose: store.EndpointPush, Name: "mail"}
	for _, step := range []struct {
		want string
		do   func() error
	}{
		{"ada: create namespace n2 in n2,  -> {\"note\":\"said\"}", func() error {
			return second(e.Store.CreateNamespace(e.Ctx, store.CreateNamespaceParams{Name: "n2", Note: "said", Actor: "ada"}))
		}},
		{"ada: delete namespace n2 in n2, {\"note\":\"said\"} -> ", func() error { return tryDelete(e, "n2") }},
		{`bob: create key k in ` + n + `,  -> {"name":"name","role":"","scopes":["jobs:read"]}`, func() error {
			return second(e.Store.CreateAPIKey(e.Ctx, store.APIKey{
				ID: "k", Hash: hash, Name: "name", Namespace: n, Scopes: []string{"jobs:read"}, CreatedBy: "bob",
			}))
		}},
		{`ada: revoke key k in ` + n + `, {"revoked":false} -> {"revoked":true}`, func() error {
			return second(e.Store.RevokeAPIKey(e.Ctx, store.RevokeAPIKeyParams{ID: "k", Actor: "ada"}))
		}},
		{`ada: create endpoint mail in ` + n + `,  -> {"version":1}`, func() error {
			return second(e.Store.SetEndpoint(e.Ctx, store.SetEndpointParams{EndpointName: push, Data: []byte(`{"s":"hush"}`), Actor: "ada"}))
		}},
		{`bob: update endpoint mail in ` + n + `, {"version":1} -> {"url":"https://b","version":2}`, func() error {
			return second(e.Store.SetEndpoint(e.Ctx, store.SetEndpointParams{
				EndpointName: push, Data: []byte(`{"s":"2"}`), Version: 1, Actor: "bob", Was: "null", Is: `{"url":"https://b"}`,
			}))
		}},
		{`ada: delete endpoint mail in ` + n + `, {"url":"https://b","version":2} -> `, func() error {
			return e.Store.DeleteEndpoint(e.Ctx, store.DeleteEndpointParams{EndpointName: push, Actor: "ada", Was: `{"url":"https://b"}`})
		}},
		{`ada: pause queue audited in ` + n + `, {"paused":false} -> {"paused":true}`, func() error {
			return e.Store.Pause(e.Ctx, store.PauseParams{Namespace: n, Queue: "audited", Paused: true, Actor: "ada"})
		}},
		{`ada: resume queue audited in ` + n + `,  -> {"paused":false}`, func() error {
			return e.Store.Pause(e.Ctx, store.PauseParams{Namespace: n, Queue: "audited", Actor: "ada"})
		}},
		{`ada: delete queue audited in ` + n + `,  -> `, func() error {
			return e.Store.DeleteQueue(e.Ctx, store.DeleteQueueParams{Namespace: n, Queue: "audited", Actor: "ada"})
		}},
	} {
		e.Clock.Advance(time.Second)
		e.NoError(step.want, step.do())
		want = append([]string{step.want}, want...)
	}
	return want
}

func second[T any](_ T, err error) error { return err }

// audited: each change has one entry, with who has made it, and without secrets.
func audited(e *env.Env) {
	want := changes(e)
	all := audit(e, store.AuditParams{})
	e.Equal("entries", said(all), want)
	e.Equal("when", all[0].At, now(e))
	for _, a := range all {
		if text := fmt.Sprintf("%+v", a); strings.Contains(text, "hush") || strings.Contains(text, "hhhh") {
			e.Errorf("a secret is recorded: %s", text)
		}
	}
}

// unchanged: what is refused, or there already, leaves no entry.
func unchanged(e *env.Env) {
	create(e, "n2", "")
	pause := store.PauseParams{Namespace: env.Namespace, Queue: "audited", Paused: true, Actor: "ada"}
	e.NoError("pause", e.Store.Pause(e.Ctx, pause))
	made := setEndpoint(e, push("mail"), 0, "{}")
	before := len(audit(e, store.AuditParams{}))
	e.Equal("entries", before, 3)
	e.NoError("pause again", e.Store.Pause(e.Ctx, pause))
	e.Equal("set again", setEndpoint(e, push("mail"), 0, "{}"), made)
	setEndpointFails(e, push("mail"), 7, "{}", store.ErrConflict)
	_, err := e.Store.CreateNamespace(e.Ctx, store.CreateNamespaceParams{Name: "n2", Actor: "eve"})
	e.WantErr("create again", err, store.ErrConflict)
	e.WantErr("delete what is not there", tryDelete(e, "n3"), store.ErrNotFound)
	e.Equal("entries after it", len(audit(e, store.AuditParams{})), before)
}

// auditPaged: a page goes on behind the last entry of the one before, and each filter holds.
func auditPaged(e *env.Env) {
	changes(e)
	all := audit(e, store.AuditParams{})
	var paged []store.AuditEntry
	for params := (store.AuditParams{Limit: 3}); ; {
		page := audit(e, params)
		if paged = append(paged, page...); len(page) < params.Limit {
			break
		}
		params.After = page[len(page)-1].AuditPlace
	}
	e.Equal("pages", said(paged), said(all))
	for name, of := range map[string]struct {
		params store.AuditParams
		fits   func(a *store.AuditEntry) bool
	}{
		"namespace": {store.AuditParams{Namespace: env.Namespace}, func(a *store.AuditEntry) bool { return a.Namespace == env.Namespace }},
		"actor":     {store.AuditParams{Actor: "bob"}, func(a *store.AuditEntry) bool { return a.Actor == "bob" }},
		"action": {store.AuditParams{Namespace: env.Namespace, Action: "delete"}, func(a *store.AuditEntry) bool {
			return a.Namespace == env.Namespace && a.Action == "delete"
		}},
		"kind": {store.AuditParams{Target: store.AuditTarget{Kind: "key"}}, func(a *store.AuditEntry) bool { return a.Target.Kind == "key" }},
		"target": {store.AuditParams{Target: store.AuditTarget{Kind: "queue", Name: "audited"}}, func(a *store.AuditEntry) bool {
			return a.Target == store.AuditTarget{Kind: "queue", Name: "audited"}
		}},
		"times": {store.AuditParams{Since: all[6].At, Until: all[2].At}, func(a *store.AuditEntry) bool {
			return !a.At.Before(all[6].At) && a.At.Before(all[2].At)
		}},
	} {
		var want []store.AuditEntry
		for i := range all {
			if of.fits(&all[i]) {
				want = append(want, all[i])
			}
		}
		if len(want) == 0 || len(want) == len(all) {
			e.Errorf("%s: %d of %d entries tell nothing", name, len(want), len(all))
		}
		e.Equal(name, said(audit(e, of.params)), said(want))
	}
	_, err := e.Store.ListAudit(e.Ctx, store.AuditParams{Limit: 1, Target: store.AuditTarget{Name: "audited"}})
	e.WantErr("a target without its kind", err, store.ErrInvalid)
}
