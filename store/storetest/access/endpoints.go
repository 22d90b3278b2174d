package access

import (
	"fmt"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

func push(name string) store.EndpointName {
	return store.EndpointName{Namespace: env.Namespace, Purpose: store.EndpointPush, Name: name}
}

func setEndpoint(e *env.Env, n store.EndpointName, version int64, data string) store.Endpoint {
	e.Helper()
	got, err := e.Store.SetEndpoint(e.Ctx, store.SetEndpointParams{EndpointName: n, Version: version, Data: []byte(data), Actor: "ada"})
	e.NoError("SetEndpoint", err)
	return got
}

func setEndpointFails(e *env.Env, n store.EndpointName, version int64, data string, want error) {
	e.Helper()
	_, err := e.Store.SetEndpoint(e.Ctx, store.SetEndpointParams{EndpointName: n, Version: version, Data: []byte(data), Actor: "bob"})
	e.WantErr(fmt.Sprintf("%s, version %d", n.Name, version), err, want)
}

func endpoints(e *env.Env, params store.EndpointParams) (found []string) {
	e.Helper()
	if params.Limit == 0 {
		params.Limit = 1000
	}
	all, err := e.Store.Endpoints(e.Ctx, params)
	e.NoError("Endpoints", err)
	for i := range all {
		found = append(found, all[i].Namespace+"/"+all[i].Name)
	}
	return found
}

// endpointChanges: a change is of the version that its caller has seen, and the same again is none.
func endpointChanges(e *env.Env) {
	setEndpointFails(e, push("mail"), 3, "{}", store.ErrNotFound)
	made := setEndpoint(e, push("mail"), 0, `{"url":"a"}`)
	want := store.Endpoint{
		EndpointName: push("mail"), Data: []byte(`{"url":"a"}`), Version: 1,
		CreatedAt: now(e), CreatedBy: "ada", UpdatedAt: now(e), UpdatedBy: "ada",
	}
	e.Equal("made", made, want)
	e.Equal("made again", setEndpoint(e, push("mail"), 0, `{"url":"a"}`), want)
	setEndpointFails(e, push("mail"), 0, `{"url":"b"}`, store.ErrConflict)
	e.Clock.Advance(1e9)
	changed := setEndpoint(e, push("mail"), 1, `{"url":"b"}`)
	want.Data, want.Version, want.UpdatedAt = []byte(`{"url":"b"}`), 2, now(e)
	e.Equal("changed", changed, want)
	e.Equal("changed again", setEndpoint(e, push("mail"), 1, `{"url":"b"}`), want)
	setEndpointFails(e, push("mail"), 1, `{"url":"c"}`, store.ErrConflict)
	hook := push("mail")
	hook.Purpose = store.EndpointWebhook
	e.Equal("a webhook of the same name", setEndpoint(e, hook, 0, "{}").Version, int64(1))
	gone := store.DeleteEndpointParams{EndpointName: push("mail"), Actor: "ada"}
	e.NoError("DeleteEndpoint", e.Store.DeleteEndpoint(e.Ctx, gone))
	e.WantErr("deleted again", e.Store.DeleteEndpoint(e.Ctx, gone), store.ErrNotFound)
	setEndpointFails(e, push("mail"), 2, `{"url":"c"}`, store.ErrNotFound)
	e.Equal("the others", endpoints(e, store.EndpointParams{Purpose: store.EndpointWebhook}), []string{env.Namespace + "/mail"})
}

func endpointsPaged(e *env.Env) {
	for i := range 3 {
		setEndpoint(e, push(fmt.Sprintf("k%d", i)), 0, "{}")
	}
	other := push("k0")
	other.Namespace = env.OtherSpace
	setEndpoint(e, other, 0, "{}")
	in := env.Namespace + "/"
	of := store.EndpointParams{Purpose: store.EndpointPush, Namespace: env.Namespace, Limit: 2}
	e.Equal("the first", endpoints(e, of), []string{in + "k0", in + "k1"})
	of.After = push("k1")
	e.Equal("the next", endpoints(e, of), []string{in + "k2"})
	e.Equal("one", endpoints(e, store.EndpointParams{Purpose: store.EndpointPush, Namespace: env.Namespace, Name: "k2"}), []string{in + "k2"})
	all := endpoints(e, store.EndpointParams{Purpose: store.EndpointPush})
	e.Equal("of all namespaces", len(all), 4)
	first, err := e.Store.Endpoints(e.Ctx, store.EndpointParams{Purpose: store.EndpointPush, Limit: 3})
	e.NoError("Endpoints", err)
	rest := endpoints(e, store.EndpointParams{Purpose: store.EndpointPush, After: first[2].EndpointName})
	e.Equal("the rest of all", rest, all[3:])
}

// endpointKept: a namespace with one is in use, and is not deleted.
func endpointKept(e *env.Env) {
	n := push("mail")
	n.Namespace = "fourth"
	e.Equal("there", isThere(e, "fourth"), false)
	setEndpoint(e, n, 0, "{}")
	e.Equal("there with an endpoint", isThere(e, "fourth"), true)
	e.WantErr("DeleteNamespace", tryDelete(e, "fourth"), store.ErrConflict)
	e.NoError("DeleteEndpoint", e.Store.DeleteEndpoint(e.Ctx, store.DeleteEndpointParams{EndpointName: n}))
	e.Equal("there without", isThere(e, "fourth"), false)
}

func noEndpoint(e *env.Env) {
	setEndpointFails(e, push(""), 0, "{}", store.ErrInvalid)
	setEndpointFails(e, push("a\x00"), 0, "{}", store.ErrInvalid)
	setEndpointFails(e, push("a"), 0, "", store.ErrInvalid)
	setEndpointFails(e, push("a"), -1, "{}", store.ErrInvalid)
	setEndpointFails(e, push("a"), 0, string(make([]byte, store.MostEndpointData+1)), store.ErrInvalid)
	setEndpointFails(e, store.EndpointName{Namespace: env.Namespace, Name: "a"}, 0, "{}", store.ErrInvalid)
	setEndpointFails(e, store.EndpointName{Purpose: store.EndpointPush, Name: "a"}, 0, "{}", store.ErrInvalid)
	for _, params := range []store.EndpointParams{{Limit: 1}, {Purpose: store.EndpointPush}, {Purpose: store.EndpointPush, Limit: 1001}} {
		_, err := e.Store.Endpoints(e.Ctx, params)
		e.WantErr("Endpoints", err, store.ErrInvalid)
	}
	e.WantErr("DeleteEndpoint", e.Store.DeleteEndpoint(e.Ctx, store.DeleteEndpointParams{EndpointName: push("a\x00")}), store.ErrNotFound)
}
