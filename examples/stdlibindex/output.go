package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// writeIndex replaces the file as a whole: a reader finds the old index or the new one. It returns
// how many names are in it.
func writeIndex(file string, exports []Exports) (names int, err error) {
	for _, e := range exports {
		for _, n := range e.Counts {
			names += n
		}
	}
	data, err := json.MarshalIndent(exports, "", "\t")
	if err != nil {
		return 0, err
	}
	temp := fmt.Sprintf("%s.%d.tmp", file, os.Getpid())
	if err := os.WriteFile(temp, append(data, '\n'), 0o644); err != nil { //nolint:gosec // it is made to be read
		return 0, err
	}
	return names, os.Rename(temp, file)
}

// progress returns what to call after each step: it moves a bar on a terminal, and prints a line
// now and then elsewhere.
func progress(total int) (step func()) {
	if term.IsTerminal(int(os.Stderr.Fd())) {
		bar := progressbar.NewOptions(total, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription("packages"),
			progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(false), progressbar.OptionClearOnFinish())
		return func() { _ = bar.Add(1) }
	}
	var done atomic.Int64
	return func() {
		if n := done.Add(1); n%50 == 0 {
			fmt.Fprintf(os.Stderr, "%d of %d packages\n", n, total)
		}
	}
}
