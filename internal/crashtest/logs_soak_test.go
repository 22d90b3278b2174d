//go:build soak

package crashtest

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/joblog"
)

// TestLogs kills a node whose handler logs. What was stored before stays, nothing of what is there
// was not logged or is there twice, no line is missing before the last, and the job goes on.
func TestLogs(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, database string) {
		c := newCluster(t, workerConfig{Talks: true, Database: database, Slots: 2, Beat: time.Second, Dead: 4 * time.Second}, 1)
		job, err := talk.Enqueue(t.Context(), c.client, 1)
		if err != nil {
			t.Fatal(err)
		}
		read := func(attempt int) (lines []joblog.Line) {
			page, err := joblog.Read(t.Context(), c.client, job.ID, joblog.Query{Attempt: attempt})
			if err != nil {
				t.Fatal(err)
			}
			return page.Lines
		}
		stored := 0
		c.until("lines are stored again", func() bool {
			now := len(read(1))
			again := stored > 0 && now > stored
			stored = max(stored, now)
			return again
		})
		c.kill(0)
		info, err := os.Stat(c.config.Effects)
		if err != nil {
			t.Fatal(err)
		}
		first, logged := read(1), int(info.Size())+1 // it may have died between the two
		if len(first) < stored || len(first) > logged {
			t.Errorf("%d lines are there of %d; before the kill %d were", len(first), logged, stored)
		}
		for i, line := range first {
			if line.Message != strconv.Itoa(i+1) || line.Number != int64(i+1) || line.Dropped != 0 {
				t.Fatalf("line %d is %+v", i+1, line)
			}
		}
		c.start(0)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if _, err := job.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		if now := read(1); len(now) != len(first) {
			t.Errorf("%d lines of the first attempt have become %d", len(first), len(now))
		}
		if again := read(2); len(again) != 1 || again[0].Message != "again" {
			t.Errorf("the second attempt: %+v", again)
		}
		t.Logf("%d lines of %d are there", len(first), logged-1)
	})
}
