package jobs

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// million is a queue with that many jobs, which are made as they are listed.
type million struct {
	store.Store

	t         *testing.T
	left      int
	listed    int
	cancelled int
}

func (m *million) List(_ context.Context, params store.ListParams) (page store.Page, err error) {
	at := m.left
	if params.After != "" {
		id := uuid.MustParse(params.After)
		at = int(binary.BigEndian.Uint64(id[8:]))
	}
	for ; at > 0 && len(page.Jobs) < params.Limit; at-- {
		var id store.ID
		binary.BigEndian.PutUint64(id[8:], uint64(at))
		page.Jobs = append(page.Jobs, store.Record{Job: store.Job{ID: id, Queue: "mail"}, State: store.Available})
	}
	m.listed += len(page.Jobs)
	if at > 0 {
		id := page.Jobs[len(page.Jobs)-1].ID
		binary.BigEndian.PutUint64(id[8:], uint64(at))
		page.Next = id.String()
	}
	return page, nil
}

func (m *million) Count(ctx context.Context, params store.CountParams) (store.Counted, error) {
	page, err := m.List(ctx, store.ListParams{Filter: params.Filter, After: params.After, Limit: app.MaxPage})
	return store.Counted{N: len(page.Jobs), Next: page.Next}, err
}

func (m *million) Cancel(_ context.Context, params store.CancelParams) ([]store.Result, []store.Wake, error) {
	if len(params.Jobs) > bulkSize {
		m.t.Errorf("%d jobs at once", len(params.Jobs))
	}
	results := make([]store.Result, len(params.Jobs))
	for i, id := range params.Jobs {
		results[i] = store.Result{Job: id, State: store.Cancelled}
	}
	m.cancelled += len(results)
	return results, nil, nil
}

// TestDrainAMillion: in pages, and in the memory of a few.
func TestDrainAMillion(t *testing.T) {
	const jobs = 1_000_000
	m := &million{Store: model.New(time.Now), t: t, left: jobs}
	client, err := holdfast.Open(t.Context(), given{Store: m}, holdfast.WithLogger(app.Silent()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close(context.WithoutCancel(t.Context())) }()
	a, stdout, stderr := bulkApp(output.FormatTable)
	var how cancelling
	b := &bulk{change: how.change, doing: how.doing()}
	filter := store.Filter{Queues: []string{"mail"}, States: waitingStates}

	// A person would be asked for the number, which is not counted to the end.
	const asks = "this cancels 10000+ jobs of namespace default in sqlite:x.db; to go on without being asked, use --yes"
	if err := a.changeAll(t.Context(), client, filter, b); err == nil || err.Error() != asks ||
		m.listed > 2*store.CountBound || m.cancelled > 0 {
		t.Errorf("it says %v, after %d jobs", err, m.listed)
	}
	cmd := &cobra.Command{}
	b.confirm.Add(cmd, "")
	if err := cmd.Flags().Set(app.FlagYes, "true"); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := a.changeAll(t.Context(), client, filter, b); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if m.cancelled != jobs || stdout.Len() > 0 || stderr.String() != fmt.Sprintf("%d jobs are cancelled.\n", jobs) {
		t.Errorf("%d jobs are cancelled, it tells %q", m.cancelled, stderr)
	}
	if after.HeapAlloc > before.HeapAlloc+10<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before.HeapAlloc, after.HeapAlloc)
	}
}
