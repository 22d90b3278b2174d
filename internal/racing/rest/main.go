// Command rest prints which tests are to run without the race detector: a line for each package
// that has any, which says whether that is all that it has, and last a pattern for go test -run
// that selects those of the others.
//
//	rest IMPORT_PATH=DIRECTORY...
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rest:", err)
		os.Exit(1)
	}
}

var (
	errUsage = errors.New("not IMPORT_PATH=DIRECTORY")
	errNames = errors.New("one pattern selects the tests of all packages, so a name may not be of tests with and without the detector")
)

func run(out io.Writer, args []string) error {
	marked, unmarked := map[string]string{}, map[string]string{} // a package that has a test, by the test's name
	var pattern []string
	for _, arg := range args {
		pkg, dir, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is %w", arg, errUsage)
		}
		tests, err := testsOf(dir)
		switch {
		case err != nil:
			return err
		case tests.none():
			continue
		case tests.all():
			fmt.Fprintln(out, "all", pkg)
			continue
		}
		fmt.Fprintln(out, "some", pkg)
		for name, without := range tests {
			if !without {
				unmarked[name] = pkg
				continue
			}
			marked[name] = pkg
			pattern = append(pattern, name)
		}
	}
	slices.Sort(pattern)
	for _, name := range pattern {
		if other, ok := unmarked[name]; ok {
			return fmt.Errorf("%s of %s and of %s: %w", name, marked[name], other, errNames)
		}
	}
	_, err := fmt.Fprintf(out, "run ^(%s)$\n", strings.Join(slices.Compact(pattern), "|"))
	return err
}
