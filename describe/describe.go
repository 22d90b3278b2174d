// Package describe tells people what queues and kinds are: who owns them, where they are
// documented, what the args are.
//
// Code describes them, by an option of Open; nodes write that into the database when they start, if
// it is not what is there already:
//
//	var sendMail = holdfast.NewKind[Mail, string]("send-mail")
//
//	hf, err := holdfast.Open(ctx, source, describe.These(
//		describe.Kind(sendMail, describe.Owner("mail team"), describe.Link("https://wiki/mail"),
//			describe.Text("Sends one mail."), describe.Example(Mail{To: "ada@example.com"})),
//		describe.Queue("mail", describe.Owner("mail team")),
//	))
//
// The JSON Schema (2020-12) of the args and of the result is made of the types of the kind.
// "holdfast kind get" and "holdfast queue get" show it. Nothing goes by it: what is enqueued is not
// checked against it.
//
// Only code writes descriptors: what was told last is there, with when, and by which program. While
// two versions of a program run that tell other things, that is the one that started last. What no
// code describes any more stays until a person forgets it ("holdfast kind forget", Forget); it is
// not copied to other databases, whose nodes tell it themselves. Descriptors are not encoded by a
// codec: put nothing secret into examples.
//
// # Imports
//
// The root package, internal/access, internal/jsonschema, internal/valid and store.
package describe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/jsonschema"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/store"
)

// Info is what is told of a queue or a kind. What is not told is empty.
type Info struct {
	Owner       string `json:"owner,omitempty"`
	Link        string `json:"link,omitempty"`
	Description string `json:"description,omitempty"`
	// Deprecated says why it is not to be used any more, and what to use.
	Deprecated string `json:"deprecated,omitempty"`
	// Args and Result are the JSON Schemas of those of a kind, and Example is an example of args.
	Args    json.RawMessage `json:"args,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Example json.RawMessage `json:"example,omitempty"`
	// Signals and Updates are the names of what runs of the kind take.
	Signals []string `json:"signals,omitempty"`
	Updates []string `json:"updates,omitempty"`
}

// Descriptor is what code tells of a queue or a kind. It can be a package variable: what is wrong
// with it is told by Open.
type Descriptor struct { //nolint:recvcheck // only what adds options takes a copy
	subject store.Subject
	name    string
	info    Info
	err     error
}

// Option says something of a queue or a kind.
type Option func(*Info) error

// Owner is who to ask.
func Owner(who string) Option { return func(i *Info) error { i.Owner = who; return nil } }

// Link is where it is documented: a URL with http, https or mailto.
func Link(to string) Option {
	return func(i *Info) error {
		i.Link = to
		return checkLink(to)
	}
}

// Text says what it is for.
func Text(text string) Option { return func(i *Info) error { i.Description = text; return nil } }

// Deprecated says why it is not to be used any more, and what to use.
func Deprecated(why string) Option { return func(i *Info) error { i.Deprecated = why; return nil } }

// Signals are the names of signals that runs of the kind wait for.
func Signals(names ...string) Option {
	return func(i *Info) error { i.Signals = append(i.Signals, names...); return nil }
}

// Updates are the names of requests that runs of the kind answer.
func Updates(names ...string) Option {
	return func(i *Info) error { i.Updates = append(i.Updates, names...); return nil }
}

// Example is an example of args, for people and for tests. It is kept as JSON, and never encoded.
func Example(args any) Option {
	return func(i *Info) (err error) {
		if i.Example, err = json.Marshal(args); err != nil {
			return fmt.Errorf("%w: the example: %w", store.ErrInvalid, err)
		}
		return nil
	}
}

// checkLink returns what is wrong with a link that people follow from a page that they trust.
func checkLink(to string) error {
	if to == "" {
		return nil
	}
	u, err := url.Parse(to)
	if err == nil && ((u.Scheme == "http" || u.Scheme == "https") && u.Host != "" || u.Scheme == "mailto" && u.Opaque != "") {
		return nil
	}
	return fmt.Errorf("%w: the link %.200q is no URL that begins with http://, https:// or mailto:; give it whole, such as https://wiki/mail",
		store.ErrInvalid, to)
}

// Kind describes a kind, with the JSON Schemas of its args and its result.
func Kind[In, Out any](k holdfast.Kind[In, Out], opts ...Option) Descriptor {
	d := Descriptor{subject: store.SubjectKind, name: k.Name()}
	d.info.Args, d.err = schemaOf(reflect.TypeFor[In]())
	if d.err == nil {
		d.info.Result, d.err = schemaOf(reflect.TypeFor[Out]())
	}
	return d.with(opts)
}

// Queue describes a queue.
func Queue(name string, opts ...Option) Descriptor {
	return Descriptor{subject: store.SubjectQueue, name: name}.with(opts)
}

func schemaOf(t reflect.Type) (json.RawMessage, error) { return json.Marshal(jsonschema.Of(t)) }

func (d Descriptor) with(opts []Option) Descriptor {
	for _, opt := range opts {
		if d.err == nil {
			d.err = opt(&d.info)
		}
	}
	return d
}

// stored is the descriptor as stores keep it, but for its namespace.
func (d *Descriptor) stored() (store.Descriptor, error) {
	s := store.Descriptor{Namespace: "any", Subject: d.subject, Name: d.name}
	err := d.err
	if err == nil && d.subject == store.SubjectQueue {
		err = valid.Name("queue", d.name)
	} else if err == nil {
		err = valid.Kind(d.name)
	}
	if err == nil {
		s.Data, err = json.Marshal(d.info)
	}
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		return s, fmt.Errorf("describe %v %q: %w", d.subject, d.name, err)
	}
	return s, nil
}

// These lets the nodes of a client tell this when they start, in each namespace in which they run.
// A node that cannot, as the database does not let it, logs that and runs. Of two for the same
// queue or kind Open returns ErrInvalid, and for what is longer than store.MostDescriptorBytes.
func These(list ...Descriptor) holdfast.Option {
	var all []store.Descriptor
	for i := range list {
		s, err := list[i].stored()
		if err != nil {
			return access.Fails(err).(holdfast.Option) //nolint:errcheck // always one
		}
		all = append(all, s)
	}
	return access.Describes(all).(holdfast.Option) //nolint:errcheck // always one
}

// Described is what is known of a queue or a kind.
type Described struct {
	Subject store.Subject
	Name    string
	Info    Info
	At      time.Time   // since when it is so
	Build   store.Build // of the program that has told it
}

// List returns a page of what is described in the client's namespace, by name: names behind after,
// at most limit, which is 1 to 1000. The error is holdfast.ErrInvalid.
func List(ctx context.Context, c *holdfast.Client, subject store.Subject, after string, limit int) ([]Described, error) {
	return read(ctx, c, store.DescriptorParams{Subject: subject, After: after, Limit: limit})
}

// Get returns what is told of a queue or a kind, or holdfast.ErrNotFound.
func Get(ctx context.Context, c *holdfast.Client, subject store.Subject, name string) (Described, error) {
	if name == "" {
		return Described{}, fmt.Errorf("%w: the name of the %v is empty", store.ErrInvalid, subject)
	}
	found, err := read(ctx, c, store.DescriptorParams{Subject: subject, Name: name, Limit: 1})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%w: nothing is told of %v %.200q", store.ErrNotFound, subject, name)
	}
	if err != nil {
		return Described{}, err
	}
	return found[0], nil
}

func read(ctx context.Context, c *holdfast.Client, params store.DescriptorParams) ([]Described, error) {
	e, _ := access.Engine(c)
	params.Namespace = c.Namespace()
	list, err := e.Store.Descriptors(ctx, params)
	if err != nil {
		return nil, err
	}
	var all []Described
	for i := range list {
		d := &list[i]
		one := Described{Subject: d.Subject, Name: d.Name, At: d.At, Build: d.Build}
		if err := json.Unmarshal(d.Data, &one.Info); err != nil {
			if other := (*json.UnmarshalTypeError)(nil); !errors.As(err, &other) { // a later program says it otherwise
				return nil, fmt.Errorf("the descriptor of %v %q cannot be read: %w", d.Subject, d.Name, err)
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// Forget removes what is told of a queue or a kind, until a node starts that tells it again. It
// reports whether there was anything.
func Forget(ctx context.Context, c *holdfast.Client, subject store.Subject, name string) (bool, error) {
	e, _ := access.Engine(c)
	changed, err := e.Store.Describe(ctx, []store.Descriptor{{Namespace: c.Namespace(), Subject: subject, Name: name}}, c.Actor())
	return changed > 0, err
}
