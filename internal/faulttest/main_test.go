package faulttest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

func TestMain(m *testing.M) {
	if config := os.Getenv(workerEnv); config != "" {
		if err := runWorker(config); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(runTests(m))
}

// atOnce is how many tests run at the same time where nobody says: most of them wait for somebody
// else nearly all of their time.
const atOnce = "6"

func runTests(m *testing.M) int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", atOnce); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	code := pgtest.Main(m)
	// What starts processes has a goroutine that stays.
	starter := goleak.IgnoreAnyFunction("github.com/holdfastdev/holdfast/internal/crashtest/process.serve")
	if err := goleak.Find(starter); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// resume resumes one job.
func resume(ctx context.Context, hf *holdfast.Client, reason string, id holdfast.ID) error {
	results, err := hf.Resume(ctx, reason, id)
	if err != nil {
		return err
	}
	return results[0].Err
}
