// Package search has search attributes: typed values by which jobs are found, such as the customer
// that an order is of, or its amount.
//
// A namespace declares names and types, once for all; a job has at most one value for each.
// Enqueues and runs set values, and a list finds the jobs that have one by an index, however many
// others there are:
//
//	var Customer = search.Keyword("customer")
//
//	err := search.Declare(ctx, client, Customer)
//	job, err := Order.Enqueue(ctx, client, order, Customer.Is("acme"))
//	page, err := client.List(ctx, store.Filter{Attributes: []store.AttributeMatch{Customer.Equals("acme")}}, "", 50)
//
// Values are never encrypted, whatever codec a client has. docs/search.md says what is found how,
// and what it costs.
//
// # Imports
//
// The root package, internal/access and store.
package search

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// Attribute is a search attribute: a Key of any type.
type Attribute interface {
	Name() string
	Type() store.AttributeType
}

// Key is a search attribute whose values are of a type of Go. The functions of this package make
// them; they may be kept in variables, and used by several goroutines.
type Key[T any] struct {
	name string
	typ  store.AttributeType
	make func(T) store.AttributeValue
}

// Keyword is an attribute whose values are texts of 1 to 256 bytes, which are compared as a whole,
// byte by byte.
//
// A name begins with a letter or an underscore, and has letters and digits of ASCII, underscores,
// dots and hyphens, at most 100. Declare refuses others.
func Keyword(name string) Key[string] {
	return Key[string]{name, store.AttributeKeyword, store.KeywordValue}
}

// Int is an attribute whose values are integers; see Keyword about its name.
func Int(name string) Key[int64] { return Key[int64]{name, store.AttributeInt, store.IntValue} }

// Float is an attribute whose values are finite numbers; see Keyword about its name.
func Float(name string) Key[float64] {
	return Key[float64]{name, store.AttributeFloat, store.FloatValue}
}

// Bool is an attribute that is true or false; see Keyword about its name.
func Bool(name string) Key[bool] { return Key[bool]{name, store.AttributeBool, store.BoolValue} }

// Time is an attribute whose values are times, cut to microseconds, in the years 1 to 9999; see
// Keyword about its name.
func Time(name string) Key[time.Time] {
	return Key[time.Time]{name, store.AttributeTime, store.TimeValue}
}

// Name returns the name of the attribute.
func (k Key[T]) Name() string { return k.name }

// Type returns its type.
func (k Key[T]) Type() store.AttributeType { return k.typ }

// Value is a value of an attribute, or that there is none: an option of an enqueue and of
// Client.Edit, and what Set takes.
type Value struct {
	holdfast.EnqueueOption

	attribute store.Attribute
}

// Is gives a job the value. Of options of one enqueue, or of one edit, the last one with a name
// counts. It is an ErrInvalid if the name is not declared in the client's namespace, or with
// another type, and for a value that cannot be one.
func (k Key[T]) Is(v T) Value {
	a := store.Attribute{Name: k.name, Value: k.make(v)}
	return Value{access.Search(a).(holdfast.EnqueueOption), a} //nolint:errcheck // always one
}

// Text is a value of the attribute of a name, written as a text, of whichever type the name is
// declared with: a number, true or false, a time by RFC 3339, or a keyword. It is for programs that
// do not know the type; use Key.Is elsewhere.
func Text(name, text string) Value {
	a := store.Attribute{Name: name, Value: store.TextValue(text)}
	return Value{access.Search(a).(holdfast.EnqueueOption), a} //nolint:errcheck // always one
}

// None is that a job has no value for the attribute of a name. Client.Edit takes it, and takes the
// value away that the job has, and so does Set; an enqueue is an ErrInvalid with it.
func None(name string) Value {
	a := store.Attribute{Name: name}
	return Value{access.Search(a).(holdfast.EnqueueOption), a} //nolint:errcheck // always one
}

// Of returns the value that a job has, which Get or List has returned, and whether it has one.
func (k Key[T]) Of(job *store.Record) (v T, ok bool) {
	for _, a := range job.Attributes {
		if a.Name == k.name {
			v, ok = a.Value.Any().(T)
			return v, ok
		}
	}
	return v, false
}

// Equals selects the jobs that have the value.
func (k Key[T]) Equals(v T) store.AttributeMatch { return k.match(store.AttributeIs, v) }

// Below selects the jobs with lesser values.
func (k Key[T]) Below(v T) store.AttributeMatch { return k.match(store.AttributeBelow, v) }

// UpTo selects the jobs with lesser values and this one.
func (k Key[T]) UpTo(v T) store.AttributeMatch { return k.match(store.AttributeUpTo, v) }

// Above selects the jobs with greater values.
func (k Key[T]) Above(v T) store.AttributeMatch { return k.match(store.AttributeAbove, v) }

// From selects the jobs with this value and greater ones.
func (k Key[T]) From(v T) store.AttributeMatch { return k.match(store.AttributeFrom, v) }

// Exists selects the jobs that have any value.
func (k Key[T]) Exists() store.AttributeMatch {
	return store.AttributeMatch{Name: k.name, Op: store.AttributeIsThere}
}

func (k Key[T]) match(op store.AttributeOp, v T) store.AttributeMatch {
	return store.AttributeMatch{Name: k.name, Op: op, Value: k.make(v)}
}

// Declare declares attributes in the client's namespace, all or none. Those that are declared with
// the same type stay, so a program may call it whenever it starts. The errors are ErrInvalid, also
// for a name that is declared with another type and for more than 100, and ErrConflict for one that
// is being deleted.
func Declare(ctx context.Context, c *holdfast.Client, all ...Attribute) error {
	e, _ := access.Engine(c)
	params := store.DeclareAttributesParams{Namespace: c.Namespace(), Actor: c.Actor()}
	for _, a := range all {
		params.Attributes = append(params.Attributes, store.DeclaredAttribute{Name: a.Name(), Type: a.Type()})
	}
	return e.Store.DeclareAttributes(ctx, params)
}

// List returns what the client's namespace has declared, by name.
func List(ctx context.Context, c *holdfast.Client) ([]store.DeclaredAttribute, error) {
	e, _ := access.Engine(c)
	return e.Store.DeclaredAttributes(ctx, c.Namespace())
}

// atOnce is how many values are removed in one transaction.
const atOnce = 1000

// Delete removes an attribute from the client's namespace, with all values that jobs have for it: a
// thousand in each transaction. From the first one on nothing is found by it, and values that are
// set are dropped. If it is broken off another call goes on. The errors are ErrInvalid, and
// ErrNotFound for a name that is not declared.
func Delete(ctx context.Context, c *holdfast.Client, name string) error {
	e, _ := access.Engine(c)
	params := store.RemoveAttributeParams{Namespace: c.Namespace(), Name: name, Limit: atOnce, Actor: c.Actor()}
	for {
		if more, err := e.Store.RemoveAttribute(ctx, params); err != nil || !more {
			return err
		}
	}
}

// Set gives the job of a run values, in place of those that it has for their names. Like
// Run.SetMetadata it is stored with what the run writes next, a checkpoint that the same function
// saves, an operation of a durable function or the outcome, and costs no write of its own; and when
// a durable function is replayed, what it had set before an operation that is in the journal is not
// stored again. Only the handler and compensations may set values.
//
// The errors are ErrInvalid for names that are not declared in the job's namespace, or with another
// type, and for values that cannot be one, and those of a store that does not answer: what is
// declared is read when a name is not known, and every ten seconds.
func Set(run *holdfast.Run, values ...Value) error {
	list := make([]store.Attribute, 0, len(values))
	for _, v := range values {
		list = store.OverAttributes(list, []store.Attribute{v.attribute})
	}
	return access.SearchRun(run, list)
}

// Unset takes the values away that the job of a run has for some attributes, as Set gives them.
func Unset(run *holdfast.Run, of ...Attribute) error {
	list := make([]store.Attribute, 0, len(of))
	for _, a := range of {
		list = store.OverAttributes(list, []store.Attribute{{Name: a.Name()}})
	}
	return access.SearchRun(run, list)
}
