package wire

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// classes are what errors may be under errors.Is, by the code with which that travels.
var classes = []struct {
	code string
	err  error
}{
	{"invalid", store.ErrInvalid},
	{"permission", store.ErrPermission},
	{"not_found", store.ErrNotFound},
	{"conflict", store.ErrConflict},
	{"lease_lost", store.ErrLeaseLost},
	{"node_dead", store.ErrNodeDead},
	{"unavailable", store.ErrUnavailable},
	{"busy", store.ErrBusy},
	{"refused", store.ErrRefused},
	{"read_only", store.ErrReadOnly},
	{"full", store.ErrFull},
	{"schema", store.ErrSchema},
	{"database_gone", store.ErrDatabaseGone},
	{"closed", store.ErrClosed},
	{"feed_off", store.ErrFeedOff},
	{"feed_reset", store.ErrFeedReset},
	{"canceled", context.Canceled},
	{"deadline_exceeded", context.DeadlineExceeded},
}

// typed are the typed errors of package store, which are pointers to these. Fields of theirs travel
// under the name of the type in snake_case.
var typed = []reflect.Type{
	reflect.TypeFor[store.RefusedError](),
	reflect.TypeFor[store.RequestError](),
	reflect.TypeFor[store.MissingKeyError](),
	reflect.TypeFor[store.EncodeError](),
	reflect.TypeFor[store.DamagedError](),
	reflect.TypeFor[store.DependencyError](),
	reflect.TypeFor[store.UniqueError](),
	reflect.TypeFor[store.FeedResetError](),
	reflect.TypeFor[store.BatchClosedError](),
	reflect.TypeFor[store.HeldError](),
	reflect.TypeFor[store.HasRunError](),
	reflect.TypeFor[store.ArchivedError](),
	reflect.TypeFor[store.ChangedError](),
}

// sent is an error as it travels, beside its details, such as
// {"text": …, "is": ["conflict"], "details": {"unique_error": {…}}}.
type sent struct {
	Text string
	Is   []string
}

func (e *encoder) error(v reflect.Value, depth int) error {
	if v.IsNil() {
		e.add("null")
		return nil
	}
	err := v.Interface().(error) //nolint:errcheck,forcetypeassert // its type is known
	s := sent{Text: err.Error()}
	for _, class := range classes {
		if errors.Is(err, class.err) {
			s.Is = append(s.Is, class.code)
		}
	}
	if err := e.value(reflect.ValueOf(s), depth+1); err != nil {
		return err
	}
	e.out = e.out[:len(e.out)-1] // the brace: the details follow
	if len(e.out) > 0 && e.out[len(e.out)-1] != '{' {
		e.add(",")
	}
	e.add(`"details":{`)
	first := true
	for _, t := range typed {
		found := reflect.New(reflect.PointerTo(t))
		if !errors.As(err, found.Interface()) {
			continue
		}
		if !first {
			e.add(",")
		}
		first = false
		e.text(snake(t.Name()))
		e.add(":")
		if err := e.value(found.Elem(), depth+2); err != nil {
			return err
		}
	}
	e.add("}}")
	return nil
}

func (d *decoder) error(from any, to reflect.Value, depth int) error {
	var s sent
	if err := d.value(from, reflect.ValueOf(&s).Elem(), depth+1); err != nil {
		return err
	}
	said := &received{text: s.Text}
	for _, class := range classes {
		if slices.Contains(s.Is, class.code) {
			said.is = append(said.is, class.err)
		}
	}
	object, _ := from.(map[string]any)
	details, _ := object["details"].(map[string]any)
	for _, t := range typed {
		detail, there := details[snake(t.Name())]
		if !there || detail == nil {
			continue
		}
		found := reflect.New(t)
		if err := d.value(detail, found.Elem(), depth+2); err != nil {
			return err
		}
		if err := whole(found); err != nil {
			return err
		}
		said.is = append(said.is, found.Interface().(error)) //nolint:errcheck,forcetypeassert // all of typed are errors
	}
	to.Set(reflect.ValueOf(said))
	return nil
}

// whole refuses a typed error without the error that it is about, whose text it could not say.
func whole(found reflect.Value) error {
	for _, f := range found.Elem().Fields() {
		if f.Type() == errorType && f.IsNil() {
			return wrong("an error without its cause", found.Type().Elem())
		}
	}
	return nil
}

// received is an error that was sent by another process. It has the text that the error had there,
// is what that was, and has its typed errors.
type received struct {
	text string
	is   []error
}

func (e *received) Error() string { return e.text }

func (e *received) Unwrap() []error { return e.is }
