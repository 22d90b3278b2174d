// Package descriptors tests what code tells of queues and kinds.
package descriptors

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Descriptors":     tests,
	"RaceDescriptors": {"nodes_that_start_at_once_tell_the_same": atOnce},
}

var tests = env.Tests{
	"what_is_described_is_told_with_when_and_by_which_program": told,
	"the_same_again_changes_nothing":                           again,
	"what_changed_is_replaced":                                 replaced,
	"one_without_data_is_removed":                              removed,
	"pages_are_in_the_order_of_names":                          paged,
	"AtomicTransitions_of_several_all_are_written_or_none":     invalid,
	"there_are_so_many_and_not_more":                           bounded,
}

var build = store.Build{Program: "v1 \"x\"", Engine: "v0.9"}

func of(subject store.Subject, name, data string) store.Descriptor {
	return store.Descriptor{Namespace: env.Namespace, Subject: subject, Name: name, Data: []byte(data), Build: build}
}

func kind(name, data string) store.Descriptor { return of(store.SubjectKind, name, data) }

func describe(e *env.Env, changed int, list ...store.Descriptor) {
	e.Helper()
	n, err := e.Store.Describe(e.Ctx, list, "")
	e.NoError("Describe", err)
	e.Equal("changed", n, changed)
}

func list(e *env.Env, params store.DescriptorParams) []store.Descriptor {
	e.Helper()
	params.Namespace = env.Namespace
	if params.Limit == 0 {
		params.Limit = 1000
	}
	all, err := e.Store.Descriptors(e.Ctx, params)
	e.NoError("Descriptors", err)
	return all
}

func kinds(e *env.Env) []store.Descriptor {
	e.Helper()
	return list(e, store.DescriptorParams{Subject: store.SubjectKind})
}

func now(e *env.Env) time.Time { return e.Clock.Now().Truncate(time.Microsecond) }

func told(e *env.Env) {
	e.Equal("at first", len(kinds(e)), 0)
	send, mail := kind("send", `{"owner":"ada 'ö' \u0000 \\ "}`), of(store.SubjectQueue, "send", `{}`)
	elsewhere := send
	elsewhere.Namespace, elsewhere.Data = env.OtherSpace, []byte(`{"owner":"bob"}`)
	at := now(e)
	describe(e, 3, send, mail, elsewhere)
	e.Clock.Advance(time.Minute)
	send.At, mail.At, elsewhere.At = at, at, at
	e.Equal("kinds", kinds(e), []store.Descriptor{send})
	e.Equal("queues", list(e, store.DescriptorParams{Subject: store.SubjectQueue}), []store.Descriptor{mail})
	there, err := e.Store.Descriptors(e.Ctx, store.DescriptorParams{Namespace: env.OtherSpace, Subject: store.SubjectKind, Limit: 10})
	e.NoError("Descriptors", err)
	e.Equal("in the other namespace", there, []store.Descriptor{elsewhere})
}

func again(e *env.Env) {
	describe(e, 1, kind("send", `{"a":1}`))
	was := kinds(e)
	e.Clock.Advance(time.Hour)
	other := kind("send", `{"a":1}`)
	other.Build.Program = "v2"
	describe(e, 0, other)
	e.Equal("kinds", kinds(e), was)
	describe(e, 0)
}

func replaced(e *env.Env) {
	describe(e, 2, kind("send", `{"a":1}`), kind("push", `{"a":1}`))
	e.Clock.Advance(time.Hour)
	other := kind("send", `{"a":2}`)
	other.Build = store.Build{Program: "v2"}
	describe(e, 1, other, kind("push", `{"a":1}`))
	other.At = now(e)
	push := kind("push", `{"a":1}`)
	push.At = now(e).Add(-time.Hour)
	e.Equal("kinds", kinds(e), []store.Descriptor{push, other})
}

func removed(e *env.Env) {
	describe(e, 3, kind("a", `{}`), kind("b", `{}`), of(store.SubjectQueue, "a", `{}`))
	describe(e, 1, kind("a", ""), kind("none", ""))
	describe(e, 0, kind("a", ""))
	e.Equal("kinds", len(kinds(e)), 1)
	e.Equal("queues", len(list(e, store.DescriptorParams{Subject: store.SubjectQueue})), 1)
	describe(e, 2, kind("a", `{}`), kind("b", ""))
	e.Equal("kinds", kinds(e)[0].Name, "a")
}

func paged(e *env.Env) {
	names := []string{"B", "a", "a b", "ab", "b", "ö"} // by their bytes
	for i := range names {
		describe(e, 1, kind(names[len(names)-1-i], `{}`))
	}
	var got []string
	for after, page := "", 0; page < 10; page++ {
		for _, d := range list(e, store.DescriptorParams{Subject: store.SubjectKind, After: after, Limit: 2}) {
			got, after = append(got, d.Name), d.Name
		}
	}
	e.Equal("names", got, names)
	one := list(e, store.DescriptorParams{Subject: store.SubjectKind, Name: "ab"})
	if len(one) != 1 || one[0].Name != "ab" {
		e.Errorf("one: %+v", one)
	}
	e.Equal("none", len(list(e, store.DescriptorParams{Subject: store.SubjectKind, Name: "no"})), 0)
	for _, limit := range []int{0, 1001} {
		_, err := e.Store.Descriptors(e.Ctx, store.DescriptorParams{Namespace: env.Namespace, Subject: store.SubjectKind, Limit: limit})
		e.WantErr("Descriptors", err, store.ErrInvalid)
	}
}

func invalid(e *env.Env) {
	large := kind("b", `{"a":"`+strings.Repeat("x", store.MostDescriptorBytes)+`"}`)
	nowhere, program := kind("b", "{}"), kind("b", "{}")
	nowhere.Namespace, program.Build.Program = "", "\x00"
	for what, wrong := range map[string]store.Descriptor{
		"no name": kind("", `{}`), "NUL": kind("a\x00", `{}`), "no subject": of(0, "b", `{}`), "other subject": of(3, "b", `{}`),
		"an array": kind("b", `[]`), "no JSON": kind("b", `{`), "large": large, "no namespace": nowhere, "program": program,
		"twice": kind("good", `{}`),
	} {
		_, err := e.Store.Describe(e.Ctx, []store.Descriptor{kind("good", `{}`), wrong}, "")
		e.WantErr(what, err, store.ErrInvalid)
	}
	e.Equal("kinds", len(kinds(e)), 0)
}

func bounded(e *env.Env) {
	var all []store.Descriptor
	for i := range store.MostDescriptors {
		all = append(all, kind(fmt.Sprint("k", i), `{}`))
	}
	describe(e, len(all), all...)
	_, err := e.Store.Describe(e.Ctx, []store.Descriptor{of(store.SubjectQueue, "mail", `{}`), kind("more", `{}`)}, "")
	e.WantErr("Describe", err, store.ErrConflict)
	e.Equal("queues", len(list(e, store.DescriptorParams{Subject: store.SubjectQueue})), 0)
	describe(e, 1, kind("k7", `{"a":1}`))
	describe(e, 2, kind("k8", ``), of(store.SubjectQueue, "mail", `{}`))
	describe(e, 1, kind("more", `{}`))
}

func atOnce(e *env.Env) {
	e.Competes()
	const nodes = 8
	all := []store.Descriptor{kind("a", `{"n":1}`), kind("b", `{}`), of(store.SubjectQueue, "q", `{}`)}
	type answer struct {
		n   int
		err error
	}
	answers := make(chan answer)
	for i := range nodes {
		mine := append([]store.Descriptor{}, all...)
		if i%2 == 1 {
			mine[0], mine[2] = mine[2], mine[0]
		}
		go func() {
			n, err := e.Store.Describe(e.Ctx, mine, "")
			answers <- answer{n, err}
		}()
	}
	sum := 0
	for range nodes {
		a := <-answers
		e.NoError("Describe", a.err)
		sum += a.n
	}
	e.Equal("changed", sum, len(all))
	if got := kinds(e); len(got) != 2 || !bytes.Equal(got[0].Data, all[0].Data) {
		e.Errorf("%+v", got)
	}
}
