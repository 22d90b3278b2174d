// Package maporder has functions that range over maps.
package maporder

import (
	"context"
	"maps"
	"slices"

	"github.com/holdfastdev/holdfast"
)

var mail = holdfast.NewKind[string, int]("mail")

func wrong(run *holdfast.Run, in map[string]int) (int, error) {
	for name := range in { // want `^the order of a map differs on every replay, and this loop performs durable operations; range over slices\.Sorted\(maps\.Keys\(…\)\)$`
		if _, err := mail.Call(run, name); err != nil {
			return 0, err
		}
	}
	for _, n := range in { // want `the order of a map differs`
		if err := report(run, n); err != nil {
			return 0, err
		}
	}
	tell := func(n int) error { return run.Publish("n", n) }
	for _, n := range in { // want `the order of a map differs`
		if err := tell(n); err != nil {
			return 0, err
		}
	}
	for _, n := range in { // want `the order of a map differs`
		if err := retry(run, func(run *holdfast.Run) error { return run.Publish("n", n) }); err != nil {
			return 0, err
		}
	}
	for _, n := range in { // want `the order of a map differs`
		defer func() {
			if err := run.Publish("n", n); err != nil {
				panic(err)
			}
		}()
	}
	for name, n := range maps.All(in) { // want `the order of a map differs`
		if err := run.Publish(name, n); err != nil {
			return 0, err
		}
	}
	for _, name := range slices.Collect(maps.Keys(in)) { // want `the order of a map differs`
		if err := run.Append("names", name); err != nil {
			return 0, err
		}
	}
	return 0, each(run, in)
}

func report(run *holdfast.Run, n int) error { return run.Publish("n", n) }

func retry(run *holdfast.Run, f func(run *holdfast.Run) error) error {
	if err := f(run); err != nil {
		return f(run)
	}
	return nil
}

func each[M ~map[K]V, K comparable, V any](run *holdfast.Run, m M) error {
	for _, v := range m { // want `the order of a map differs`
		if err := run.Append("v", v); err != nil {
			return err
		}
	}
	return nil
}

type named map[string]int

type prices interface {
	map[string]int | named
}

func union[M prices](run *holdfast.Run, m M) error {
	for _, v := range m { // want `the order of a map differs`
		if err := run.Append("v", v); err != nil {
			return err
		}
	}
	return nil
}

func embedded[M interface{ prices }](run *holdfast.Run, m M) error {
	for _, v := range m { // want `the order of a map differs`
		if err := run.Append("v", v); err != nil {
			return err
		}
	}
	return nil
}

func slice[S ~[]V, V any](run *holdfast.Run, s S) error {
	for _, v := range s {
		if err := run.Append("v", v); err != nil {
			return err
		}
	}
	return nil
}

func sequence(run *holdfast.Run, in map[string]int) error {
	for name := range slices.Values(slices.Sorted(maps.Keys(in))) {
		if err := run.Append("names", name); err != nil {
			return err
		}
	}
	next := func(yield func(int) bool) { yield(1) }
	for n := range next {
		if err := run.Append("n", n); err != nil {
			return err
		}
	}
	for n := range ([]func() func(func(int) bool){func() func(func(int) bool) { return next }})[0]() {
		if err := run.Append("n", n); err != nil {
			return err
		}
	}
	return nil
}

func right(run *holdfast.Run, in map[string]int) (int, error) {
	sum := 0
	for _, n := range in {
		sum += n
	}
	for range in { // as often, in any order
		if err := run.Append("one", 1); err != nil {
			return 0, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if _, err := mail.Call(run, name); err != nil {
			return 0, err
		}
	}
	for i, n := range []int{1, 2} {
		if err := run.Append("n", i+n); err != nil {
			return 0, err
		}
	}
	return holdfast.Step(run, "sum", func(context.Context) (int, error) {
		for _, n := range in {
			run.Progress(float64(n), "")
		}
		return sum, nil
	})
}
