// Package searched knows which search attributes namespaces have declared, so that a value of a
// name that is not declared, or has another type, is refused by who sets it: stores drop it.
//
// # How it works
//
// What a namespace has declared is read when it is first asked for, again when a name is asked for
// that is not among it, and again after ten seconds. So what was declared a moment ago is known,
// and for ten seconds a name may be thought to be declared that has just been removed: its values
// are dropped then.
//
// # Imports
//
// Package store.
package searched

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// fresh is for how long what was read holds.
const fresh = 10 * time.Second

// Registry is what the namespaces of a database have declared. It is safe for use by several
// goroutines.
type Registry struct {
	store store.Store

	mu     sync.Mutex // guards spaces, and is not held while the store is asked
	spaces map[string]space
}

// space is what a namespace has declared.
type space struct {
	at    time.Time // when that was read
	types map[string]store.AttributeType
}

// New makes a registry that has read nothing.
func New(st store.Store) *Registry { return &Registry{store: st, spaces: map[string]space{}} }

// Anything is a store that knows of no declarations, and takes values of any name: one on which a
// command is rehearsed, which keeps nothing.
type Anything interface{ TakesAnyAttribute() }

// takesAnything reports whether a store, or one that it is wrapped around, is such a one.
func takesAnything(st store.Store) bool {
	for {
		if _, ok := st.(Anything); ok {
			return true
		}
		around, ok := st.(interface{ Unwrap() store.Store })
		if !ok {
			return false
		}
		st = around.Unwrap()
	}
}

// Check reports why jobs of a namespace cannot have the attributes: ErrInvalid, for a value that is
// none, or for a name that is not declared or has another type; or an error of the store. Values
// that are texts become those of the declared types. If unset, attributes may be without a value.
func (r *Registry) Check(ctx context.Context, namespace string, list []store.Attribute, unset bool) error {
	if len(list) == 0 {
		return nil
	}
	if takesAnything(r.store) {
		for i := range list {
			if err := store.CheckAttributeName(list[i].Name); err != nil {
				return err
			}
		}
		return nil
	}
	r.mu.Lock()
	known := r.spaces[namespace]
	r.mu.Unlock()
	if age := r.store.Now().Sub(known.at); age >= 0 && age < fresh && check(namespace, known.types, list, unset) == nil {
		return nil
	}
	types, err := r.read(ctx, namespace)
	if err != nil {
		return err
	}
	return check(namespace, types, list, unset)
}

func (r *Registry) read(ctx context.Context, namespace string) (map[string]store.AttributeType, error) {
	at := r.store.Now()
	all, err := r.store.DeclaredAttributes(ctx, namespace)
	if err != nil {
		return nil, err
	}
	types := make(map[string]store.AttributeType, len(all))
	for _, a := range all {
		if !a.Leaving {
			types[a.Name] = a.Type
		}
	}
	r.mu.Lock()
	r.spaces[namespace] = space{at, types}
	r.mu.Unlock()
	return types, nil
}

func check(namespace string, types map[string]store.AttributeType, list []store.Attribute, unset bool) error {
	for i := range list {
		a := &list[i]
		if err := store.CheckAttributeName(a.Name); err != nil {
			return err
		}
		declared, is := types[a.Name]
		if !is {
			return store.UndeclaredAttribute(namespace, a.Name, a.Value.Type)
		}
		value, err := a.Value.As(declared)
		if err != nil { // it stays the text that it is: it is looked at once more, and must not count as none then
			return fmt.Errorf("%w (of the search attribute %q)", err, a.Name)
		}
		a.Value = value
		if a.Value.Type != 0 && a.Value.Type != declared {
			return store.OtherAttributeType(namespace, a.Name, declared, a.Value.Type)
		}
	}
	return store.CheckAttributes(store.ID{}, list, unset)
}
