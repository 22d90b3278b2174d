package query_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/query"
	"github.com/holdfastdev/holdfast/store"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

const someID = "0198c0de-7b1c-7d3a-9f00-0123456789ab"

func id(t *testing.T) store.ID {
	t.Helper()
	id, err := query.ParseID(someID)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func match(path, value string) store.Match { return store.Match{Path: path, Value: []byte(value)} }

// TestParse: each condition selects by what it says.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]store.Filter{
		"":                             {},
		"  ":                           {},
		"state:failed,cancelled":       {States: []store.State{store.Failed, store.Cancelled}},
		"queue:mail kind:a,b":          {Queues: []string{"mail"}, Kinds: []string{"a", "b"}},
		`queue:"my queue","a,b"`:       {Queues: []string{"my queue", "a,b"}},
		`queue:"say \"a, b\""`:         {Queues: []string{`say "a, b"`}},
		"tag:a tag:b,c":                {Tags: []string{"a", "b", "c"}},
		someID:                         {IDs: []store.ID{id(t)}},
		"parent:" + someID:             {Parent: id(t)},
		"kind:a key:order:42":          {Kinds: []string{"a"}, Key: "order:42"},
		"lost_from:7":                  {LostFrom: 7},
		"reason:exhausted":             {Reasons: []store.Reason{"exhausted"}},
		"fingerprint:none":             {Fingerprints: []int64{0}},
		"fingerprint:ffffffffffffffff": {Fingerprints: []int64{-1}},
		"since:24h":                    {CreatedAfter: now.Add(-24 * time.Hour)},
		"since:7d":                     {CreatedAfter: now.Add(-7 * 24 * time.Hour)},
		"before:1d12h":                 {CreatedBefore: now.Add(-36 * time.Hour)},
		"before:2026-01-02T03:04:05Z":  {CreatedBefore: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		"finished_since:1h":            {FinishedAfter: now.Add(-time.Hour)},
		"args.customer.id:7":           {Args: []store.Match{match("customer.id", "7")}},
		"args.name:Ulm":                {Args: []store.Match{match("name", `"Ulm"`)}},
		`metadata.a.b:"x y"`:           {Metadata: []store.Match{match("a.b", `"x y"`)}},
		"attr.amount:>=10 attr.vip:*": {
			Attributes: []store.AttributeMatch{attr("amount", ">=", "10"), {Name: "vip", Op: store.AttributeIsThere}},
		},
		"attr.customer:acme args.a:null": {
			Attributes: []store.AttributeMatch{attr("customer", "=", "acme")}, Args: []store.Match{match("a", "null")},
		},
	} {
		got, err := query.Parse(text, now)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is\n%+v, %v, not\n%+v", text, got, err, want)
		}
	}
}

func attr(name, op, value string) store.AttributeMatch {
	return store.AttributeMatch{Name: name, Op: store.AttributeOp(op), Value: store.TextValue(value)}
}

// TestParseRefuses: what is no condition is refused, by its own words.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, words := range map[string]string{
		"failed":                          "NAME:VALUE",
		"foo:bar":                         `there is no "foo"`,
		"state:":                          "no value",
		"state:asleep":                    "asleep",
		"state:failed,":                   "a value is missing",
		"state:failed state:available":    "comes twice",
		"queue:\"open":                    "quotes are not closed",
		"id:7":                            "not the id of a job",
		"parent:" + someID + "," + someID: "one value",
		"key:k":                           "key needs kind",
		"since:yesterday":                 "neither a time",
		"since:d":                         "neither a time",
		"since:1dx":                       "neither a time",
		"since:99999999999d":              "neither a time",
		"since:100000d2500000h":           "neither a time",
		"lost_from:0":                     "no node",
		"args.:1":                         "PATH",
		"args.a..b:1":                     "PATH",
		"attr.=:1":                        "NAME=VALUE",
		"fingerprint:12":                  "16 hexadecimal digits",
	} {
		_, err := query.Parse(text, now)
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzParse: whatever comes is a filter or an ErrInvalid, and a filter's texts come from the query.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"state:failed queue:mail", `args.a:"x y" since:1h`, `queue:"\"",b`, "attr.a:<=3", someID, "\x00:\x00", `a:"\`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := query.Parse(text, now)
		if err != nil {
			if !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		for _, q := range filter.Queues {
			if q == "" {
				t.Errorf("%q selects the queue without a name", text)
			}
		}
		if len(strings.Fields(text)) > 0 && reflect.DeepEqual(filter, store.Filter{}) {
			t.Errorf("%q selects everything", text)
		}
	})
}
