// Command rest prints which tests are to run without the race detector, a line for each package
// that has any: "all" and the import path if those are all that it has, else "some", a pattern for
// go test -run that selects them, and the import path.
//
//	rest IMPORT_PATH=DIRECTORY...
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rest:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("not IMPORT_PATH=DIRECTORY")

func run(out io.Writer, args []string) error {
	for _, arg := range args {
		pkg, dir, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is %w", arg, errUsage)
		}
		tests, err := testsOf(dir)
		if err != nil {
			return err
		}
		switch without := tests.without(); {
		case len(without) == 0:
		case !tests.under():
			fmt.Fprintln(out, "all", pkg)
		default:
			fmt.Fprintf(out, "some ^(%s)$ %s\n", strings.Join(without, "|"), pkg)
		}
	}
	return nil
}
