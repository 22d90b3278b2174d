package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// showProgress tells how many rows are imported, by all processes, until ctx ends: with a bar on a
// terminal, and a line now and then elsewhere.
func showProgress(ctx context.Context, hf *holdfast.Client, job holdfast.ID, rows int) {
	every, show, end := 2*time.Second, func(n int) { fmt.Fprintf(os.Stderr, "%d of %d rows\n", n, rows) }, func() {}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		bar := progressbar.NewOptions(rows, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription("rows"),
			progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(false), progressbar.OptionClearOnFinish())
		every, show, end = 200*time.Millisecond, func(n int) { _ = bar.Set(n) }, func() { _ = bar.Finish() }
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			end()
			return
		}
		// A wrong number is no reason to stop: the next look may get a right one.
		if n, err := rowsDone(ctx, hf, job); err == nil {
			show(n)
		}
	}
}

// rowsDone adds up how far the regions of an import are.
func rowsDone(ctx context.Context, hf *holdfast.Client, job holdfast.ID) (int, error) {
	page, err := hf.List(ctx, store.Filter{Parent: job}, "", 1000)
	if err != nil {
		return 0, err
	}
	done := 0.0
	for _, child := range page.Jobs {
		var part Part
		if err := json.Unmarshal(child.Args, &part); err != nil {
			return 0, err
		}
		switch {
		case child.State == store.Completed:
			done += float64(part.Rows)
		case child.Checkpoint != nil:
			done += float64(part.Rows) * child.Checkpoint.Percent / 100
		}
	}
	return int(done + 0.5), nil
}

// printTotals prints what an import comes to.
func printTotals(out io.Writer, regions []Regional) {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	line := func(name string, t Totals) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d.%02d\t\n", name, t.Rows, t.Quantity, t.Cents/100, t.Cents%100)
	}
	fmt.Fprintln(table, "region\trows\tquantity\trevenue\t")
	var all Totals
	for _, r := range regions {
		line(r.Region, r.Totals)
		all.add(r.Totals)
	}
	line("all", all)
	_ = table.Flush() // to a terminal or a pipe: there is no one to tell
}

// ask asks until there is an answer. answered is false if there is no terminal to ask at, or ctx
// has ended.
func ask(ctx context.Context, in io.Reader, out io.Writer) (yes, answered bool) {
	lines := make(chan string)
	go func() { // reading ends with the program, if not before
		defer close(lines)
		for in := bufio.NewScanner(in); in.Scan(); {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		fmt.Fprint(out, "approve? y/n ")
		select {
		case line, ok := <-lines:
			switch strings.ToLower(strings.TrimSpace(line)) {
			case "y", "yes":
				return true, true
			case "n", "no":
				return false, true
			}
			if ok {
				continue
			}
		case <-ctx.Done():
		}
		fmt.Fprintln(out)
		return false, false
	}
}
