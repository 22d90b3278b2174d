package doctor_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/holdfastdev/holdfast/doctor"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// A program that is started before anything has made the tables.
func Example() {
	dir, err := os.MkdirTemp("", "doctor")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	source := sqlite.Config{Path: filepath.Join(dir, "jobs.db"), NoMigrate: true}
	report, err := doctor.Examine(context.Background(), source)
	if err != nil {
		log.Fatal(err) // the database does not answer
	}
	for _, f := range report.Findings {
		if f.Severity == store.Problem {
			fmt.Printf("%s: %s\n%s\n", f.Check, f.Text, f.Do)
		}
	}
	// Output:
	// schema: there are no tables of Holdfast
	// run holdfast migrate up, or start a program that migrates
}
