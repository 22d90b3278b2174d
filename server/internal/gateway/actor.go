package gateway

import (
	"context"
	"encoding/json"
	"reflect"

	who "github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/store"
)

// Of what people do it is recorded who has asked. Over HTTP that is the principal, whatever its
// program says of itself, which is recorded besides: "ada@laptop via key K1 (ci)".

// actors are the places of actors among the parameters of the methods that have them as texts of
// their own, but for Describe, which nodes call for none.
var actors = map[string]int{
	"SaveSchedule": 2, "DeleteSchedule": 3, "SaveLimit": 2, "DeleteLimit": 3, "Drain": 3, "SetFeed": 1,
}

// unnamed are the methods that jobs and nodes call as well, and then in the name of none.
var unnamed = map[string]bool{"Rest": true, "Describe": true, "Apply": true}

// actorFields are those of parameters that say who asks.
var actorFields = map[reflect.Type]string{
	reflect.TypeFor[store.RetentionClass](): "SetBy",
	reflect.TypeFor[store.APIKey]():         "CreatedBy",
}

// ascribe puts the principal of a call into its parameters.
func ascribe(ctx context.Context, method string, params []reflect.Value) {
	principal := who.Of(ctx).Name
	if principal == "" {
		return
	}
	for i, p := range params {
		to := actorOf(method, i, p)
		if !to.IsValid() {
			continue
		}
		switch said := to.String(); {
		case said != "":
			to.SetString(who.Quote(said) + " via " + principal)
		case !unnamed[method]:
			to.SetString(principal)
		}
	}
}

// ascribeBatch puts the principal of a call into the fires of a batch, and into the operations that
// it enqueues, whose args say under whose name nodes do what they do.
func ascribeBatch(ctx context.Context, batch *store.Batch) {
	for _, fire := range batch.Fires {
		ascribe(ctx, "Apply", []reflect.Value{reflect.ValueOf(fire).Elem()})
	}
	for _, q := range batch.Enqueues {
		var args map[string]json.RawMessage
		var said struct{ Actor string }
		if !store.IsOwnKind(q.Job.Kind) || q.Job.Codec != 0 || json.Unmarshal(q.Job.Args, &args) != nil || args["actor"] == nil {
			continue
		}
		if json.Unmarshal(args["actor"], &said.Actor) != nil {
			continue // it is refused by what reads it
		}
		ascribe(ctx, "Apply", []reflect.Value{reflect.ValueOf(&said).Elem()})
		actor, err := json.Marshal(said.Actor)
		if err != nil {
			continue // a text is always JSON
		}
		args["actor"] = actor
		if all, err := json.Marshal(args); err == nil {
			q.Job.Args = all
		}
	}
}

// actorOf is what says who asks in a parameter; invalid: nothing does.
func actorOf(method string, i int, p reflect.Value) reflect.Value {
	if p.Kind() == reflect.String {
		if at, has := actors[method]; has && at == i || method == "Describe" && i == 1 {
			return p
		}
		return reflect.Value{}
	}
	if p.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	field := actorFields[p.Type()]
	if field == "" {
		field = "Actor"
	}
	f := p.FieldByName(field)
	if !f.IsValid() || f.Kind() != reflect.String {
		return reflect.Value{}
	}
	return f
}
