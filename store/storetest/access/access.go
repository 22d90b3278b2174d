// Package access tests namespaces, as people make them, and API keys.
package access

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{"Access": tests, "RaceAccess": {"AtomicTransitions_changes_at_once_are_a_chain": chained}}

var tests = env.Tests{
	"a_namespace_has_what_was_said_of_it":             made,
	"a_namespace_is_listed_while_something_is_in_it":  inUse,
	"a_namespace_with_something_in_it_is_not_deleted": kept,
	"namespaces_are_paged_by_name":                    paged,
	"what_is_no_namespace_is_refused":                 refused,
	"a_key_is_found_by_its_id":                        found,
	"keys_are_paged_by_id_in_a_namespace_and_in_all":  keysPaged,
	"a_revoked_key_stays_revoked":                     revoked,
	"the_last_use_of_a_key_goes_forward":              used,
	"keys_that_are_over_go_after_a_while":             forgotten,
	"what_is_no_key_is_refused":                       noKey,
	"an_endpoint_changes_by_its_version":              endpointChanges,
	"endpoints_are_paged_in_a_namespace_and_in_all":   endpointsPaged,
	"a_namespace_with_an_endpoint_is_not_deleted":     endpointKept,
	"what_people_did_is_listed":                       audited,
	"what_changes_nothing_is_not_recorded":            unchanged,
	"what_people_did_is_paged_and_asked_for":          auditPaged,
	"what_was_set_is_recorded_before_and_after":       settings,
	"an_edit_says_what_the_job_was_before":            edited,
	"what_was_done_to_a_job_says_what_became_of_it":   moved,
	"what_was_done_to_jobs_that_are_gone_is_listed":   removed,
	"what_is_no_endpoint_is_refused":                  noEndpoint,
}

func now(e *env.Env) time.Time { return e.Clock.Now().Truncate(time.Microsecond) }

func create(e *env.Env, name, note string) {
	e.Helper()
	n, err := e.Store.CreateNamespace(e.Ctx, store.CreateNamespaceParams{Name: name, Note: note, Actor: "ada"})
	e.NoError("CreateNamespace", err)
	e.Equal("made", n, store.Namespace{Name: name, Note: note, CreatedAt: now(e), CreatedBy: "ada"})
}

func tryDelete(e *env.Env, name string) error {
	return e.Store.DeleteNamespace(e.Ctx, store.DeleteNamespaceParams{Name: name, Actor: "ada"})
}

func names(e *env.Env, params store.NamespaceParams) (found []string) {
	e.Helper()
	if params.Limit == 0 {
		params.Limit = 1000
	}
	all, err := e.Store.Namespaces(e.Ctx, params)
	e.NoError("Namespaces", err)
	for i := range all {
		found = append(found, all[i].Name)
	}
	return found
}

func isThere(e *env.Env, name string) bool {
	e.Helper()
	one := slices.Equal(names(e, store.NamespaceParams{Name: name}), []string{name})
	e.Equal("listed among all", slices.Contains(names(e, store.NamespaceParams{}), name), one)
	return one
}

func made(e *env.Env) {
	create(e, "shop", "orders of the shop")
	_, err := e.Store.CreateNamespace(e.Ctx, store.CreateNamespaceParams{Name: "shop", Note: "other"})
	e.WantErr("again", err, store.ErrConflict)
	all, err := e.Store.Namespaces(e.Ctx, store.NamespaceParams{Name: "shop", Limit: 1})
	e.NoError("Namespaces", err)
	e.Equal("read", all, []store.Namespace{{Name: "shop", Note: "orders of the shop", CreatedAt: now(e), CreatedBy: "ada"}})
	e.NoError("DeleteNamespace", tryDelete(e, "shop"))
	e.Equal("there", isThere(e, "shop"), false)
	e.WantErr("again", tryDelete(e, "shop"), store.ErrNotFound)
	create(e, "shop", "")
}

func inUse(e *env.Env) {
	e.Equal("there", isThere(e, env.OtherSpace), false)
	e.InOtherSpace().Enqueue(e.InOtherSpace().Job())
	e.Equal("there with a job", isThere(e, env.OtherSpace), true)
	all, err := e.Store.Namespaces(e.Ctx, store.NamespaceParams{Name: env.OtherSpace, Limit: 1})
	e.NoError("Namespaces", err)
	e.Equal("without a row", all, []store.Namespace{{Name: env.OtherSpace}})
	createKey(e, "k1", "third")
	e.Equal("there with a key", isThere(e, "third"), true)
	revoke(e, "k1")
	e.Equal("there with a revoked one", isThere(e, "third"), false)
}

func kept(e *env.Env) {
	create(e, env.OtherSpace, "")
	createKey(e, "k1", env.OtherSpace)
	other := e.InOtherSpace()
	q := other.Enqueue(other.Job())[0]
	err := tryDelete(e, env.OtherSpace)
	e.WantErr("with a job and a key", err, store.ErrConflict)
	if !strings.Contains(err.Error(), "jobs, API keys") {
		e.Errorf("what is in it is not told: %v", err)
	}
	revoke(e, "k1")
	e.WantErr("with a job", tryDelete(e, env.OtherSpace), store.ErrConflict)
	_, _, err = e.Store.Cancel(e.Ctx, store.CancelParams{Namespace: env.OtherSpace, Jobs: []store.ID{q.Job.ID}, Actor: "ada"})
	e.NoError("Cancel", err)
	e.WantErr("with a finished job", tryDelete(e, env.OtherSpace), store.ErrConflict)
	e.Equal("there", isThere(e, env.OtherSpace), true)
	e.Clock.Advance(72 * time.Hour)
	e.Retain(env.Briefly)
	e.NoError("without", tryDelete(e, env.OtherSpace))
	e.Equal("there at last", isThere(e, env.OtherSpace), false)
}

func paged(e *env.Env) {
	for i := range 5 {
		create(e, fmt.Sprintf("n%d", i), "")
	}
	e.Equal("the first", names(e, store.NamespaceParams{After: "n", Limit: 2}), []string{"n0", "n1"})
	e.Equal("the next", names(e, store.NamespaceParams{After: "n1", Limit: 2}), []string{"n2", "n3"})
	create(e, "Z", "")
	create(e, "ä", "")
	e.Equal("by bytes", names(e, store.NamespaceParams{After: "Y", Limit: 1}), []string{"Z"})
	e.Equal("the last", names(e, store.NamespaceParams{After: "n4"}), []string{"ä"})
}

func refused(e *env.Env) {
	for _, limit := range []int{0, 1001} {
		_, err := e.Store.Namespaces(e.Ctx, store.NamespaceParams{Limit: limit})
		e.WantErr("a limit", err, store.ErrInvalid)
	}
	for _, name := range []string{"", "a\x00", "\xff", strings.Repeat("a", 201)} {
		_, err := e.Store.CreateNamespace(e.Ctx, store.CreateNamespaceParams{Name: name})
		e.WantErr("CreateNamespace", err, store.ErrInvalid)
		e.WantErr("DeleteNamespace", tryDelete(e, name), store.ErrInvalid)
	}
	_, err := e.Store.CreateNamespace(e.Ctx, store.CreateNamespaceParams{Name: "a", Note: strings.Repeat("a", store.MostNote+1)})
	e.WantErr("a long note", err, store.ErrInvalid)
}

func key(id, namespace string) store.APIKey {
	return store.APIKey{
		ID: id, Hash: bytes.Repeat([]byte(id[:1]), 32), Name: "of " + id, Namespace: namespace,
		Role: "viewer", Scopes: []string{"exec", "workers"},
		CreatedBy: "ada",
	}
}

func createKey(e *env.Env, id, namespace string) store.APIKey {
	e.Helper()
	k, err := e.Store.CreateAPIKey(e.Ctx, key(id, namespace))
	e.NoError("CreateAPIKey", err)
	return k
}

func revoke(e *env.Env, id string) store.APIKey {
	e.Helper()
	k, err := e.Store.RevokeAPIKey(e.Ctx, store.RevokeAPIKeyParams{ID: id, Actor: "eve"})
	e.NoError("RevokeAPIKey", err)
	return k
}

func keyOf(e *env.Env, id string) store.APIKey {
	e.Helper()
	k, err := e.Store.APIKey(e.Ctx, id)
	e.NoError("APIKey", err)
	return k
}

func found(e *env.Env) {
	want := key("k1", "")
	want.ExpiresAt = now(e).Add(time.Hour)
	is, err := e.Store.CreateAPIKey(e.Ctx, want)
	e.NoError("CreateAPIKey", err)
	want.CreatedAt = now(e)
	e.Equal("made", is, want)
	e.Equal("read", keyOf(e, "k1"), want)
	e.Clock.Advance(time.Minute)
	same := key("k1", "other")
	is, err = e.Store.CreateAPIKey(e.Ctx, same)
	e.NoError("the same again", err)
	e.Equal("as it was", is, want)
	same.Hash = bytes.Repeat([]byte("x"), 32)
	_, err = e.Store.CreateAPIKey(e.Ctx, same)
	e.WantErr("another with its id", err, store.ErrConflict)
	e.Equal("still", keyOf(e, "k1"), want)
	_, err = e.Store.APIKey(e.Ctx, "k2")
	e.WantErr("none", err, store.ErrNotFound)
}

func keysPaged(e *env.Env) {
	for _, of := range [][2]string{{"b", ""}, {"a", "n"}, {"d", "n"}, {"c", "m"}} {
		createKey(e, of[0], of[1])
	}
	for _, c := range []struct {
		params store.APIKeyParams
		want   string
	}{
		{store.APIKeyParams{Limit: 3}, "abc"},
		{store.APIKeyParams{After: "c", Limit: 3}, "d"},
		{store.APIKeyParams{Namespace: "n", Limit: 10}, "ad"},
		{store.APIKeyParams{Namespace: "n", After: "a", Limit: 10}, "d"},
	} {
		all, err := e.Store.APIKeys(e.Ctx, c.params)
		e.NoError("APIKeys", err)
		var ids []string
		for i := range all {
			ids = append(ids, all[i].ID)
		}
		e.Equal(fmt.Sprintf("%+v", c.params), strings.Join(ids, ""), c.want)
	}
	_, err := e.Store.APIKeys(e.Ctx, store.APIKeyParams{})
	e.WantErr("no limit", err, store.ErrInvalid)
}

func revoked(e *env.Env) {
	want := createKey(e, "k1", "")
	e.Clock.Advance(time.Minute)
	want.RevokedAt, want.RevokedBy = now(e), "eve"
	e.Equal("revoked", revoke(e, "k1"), want)
	e.Clock.Advance(time.Minute)
	e.Equal("again", revoke(e, "k1"), want)
	e.Equal("made again", createKey(e, "k1", ""), want)
	_, err := e.Store.RevokeAPIKey(e.Ctx, store.RevokeAPIKeyParams{ID: "k2"})
	e.WantErr("none", err, store.ErrNotFound)
}

func used(e *env.Env) {
	createKey(e, "k1", "")
	createKey(e, "k2", "")
	at := now(e)
	use := func(uses ...store.APIKeyUse) {
		e.NoError("UseAPIKeys", e.Store.UseAPIKeys(e.Ctx, uses))
	}
	use()
	use(store.APIKeyUse{ID: "k1", At: at}, store.APIKeyUse{ID: "none", At: at}, store.APIKeyUse{ID: "k1", At: at.Add(-time.Hour)})
	e.Equal("used", keyOf(e, "k1").LastUsedAt, at)
	use(store.APIKeyUse{ID: "k1", At: at.Add(-time.Minute)})
	e.Equal("not earlier", keyOf(e, "k1").LastUsedAt, at)
	e.Equal("the other one", keyOf(e, "k2").LastUsedAt, time.Time{})
	e.WantErr("too many", e.Store.UseAPIKeys(e.Ctx, make([]store.APIKeyUse, 1001)), store.ErrInvalid)
}

func forgotten(e *env.Env) {
	createKey(e, "stays", "")
	createKey(e, "revoked", "")
	expires := key("expires", "")
	expires.ExpiresAt = now(e).Add(time.Hour)
	_, err := e.Store.CreateAPIKey(e.Ctx, expires)
	e.NoError("CreateAPIKey", err)
	revoke(e, "revoked")
	is := func(id string) bool {
		_, err := e.Store.APIKey(e.Ctx, id)
		return err == nil
	}
	e.Clock.Advance(store.APIKeysKept - time.Second)
	e.Retain(env.Briefly)
	e.Equal("before", is("revoked"), true)
	e.Clock.Advance(2 * time.Second)
	e.Retain(env.Briefly)
	e.Equal("after", is("revoked"), false)
	e.Equal("one that expired later", is("expires"), true)
	e.Clock.Advance(time.Hour)
	e.Retain(env.Briefly)
	e.Equal("and after that", is("expires"), false)
	e.Equal("one that is not over", is("stays"), true)
}

func noKey(e *env.Env) {
	for what, change := range map[string]func(*store.APIKey){
		"no id": func(k *store.APIKey) { k.ID = "" }, "a short hash": func(k *store.APIKey) { k.Hash = k.Hash[:31] },
		"no name": func(k *store.APIKey) { k.Name = "" }, "a namespace": func(k *store.APIKey) { k.Namespace = "\x00" },
		"nothing that it may": func(k *store.APIKey) { k.Role, k.Scopes = "", nil },
		"two scopes in one":   func(k *store.APIKey) { k.Scopes = []string{"a b"} },
	} {
		k := key("k1", "")
		change(&k)
		_, err := e.Store.CreateAPIKey(e.Ctx, k)
		e.WantErr(what, err, store.ErrInvalid)
	}
}
