package limit_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// However many nodes there are, two of these jobs run at once.
func Example() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	if _, err := limit.Sync(ctx, hf, limit.New("printer", limit.Capacity(2), limit.Kinds("print"))); err != nil {
		log.Fatal(err)
	}
	var running, most atomic.Int64
	page := holdfast.NewTask[int]("print")
	err = page.Handle(hf, func(*holdfast.Run, int) error {
		most.Store(max(most.Load(), running.Add(1)))
		time.Sleep(time.Millisecond)
		running.Add(-1)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := hf.Start(ctx); err != nil {
		log.Fatal(err)
	}
	for n := range 20 {
		job, err := page.Enqueue(ctx, hf, n)
		if err != nil {
			log.Fatal(err)
		}
		defer job.Wait(ctx)
	}
	last, err := page.Enqueue(ctx, hf, 20)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := last.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("at most 2 ran at once:", most.Load() <= 2)
	// Output: at most 2 ran at once: true
}

// Of the eight jobs of a queue that run at once each node runs as many as the others, while several
// have some to run.
func ExampleFairShare() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	if _, err := limit.Sync(ctx, hf, limit.OfQueue("imports", limit.Capacity(8), limit.FairShare())); err != nil {
		log.Fatal(err)
	}
	l, err := limit.Get(ctx, hf, limit.QueueName("imports"))
	if err != nil {
		log.Fatal(err)
	}
	nodes := []store.Holder{{Node: 1, Slots: 8}, {Node: 2, Slots: 8}, {Node: 3, Slots: 8}} // what they would use
	for n := 1; n <= len(nodes); n++ {
		for _, node := range nodes[:n] {
			fmt.Print(store.Part(l.Capacity, l.Unit(), node.Node, nodes[:n]), " ")
		}
		fmt.Println("of", l.Capacity)
	}
	// Output:
	// 8 of 8
	// 4 4 of 8
	// 3 3 2 of 8
}

// Of each customer one job runs at once, however many customers there are.
func ExamplePerKey() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	if _, err := limit.Sync(ctx, hf, limit.New("customer", limit.Capacity(1), limit.PerKey())); err != nil {
		log.Fatal(err)
	}
	var running, most [3]atomic.Int64
	sync := holdfast.NewTask[int]("sync")
	err = sync.Handle(hf, func(_ *holdfast.Run, customer int) error {
		most[customer].Store(max(most[customer].Load(), running[customer].Add(1)))
		time.Sleep(time.Millisecond)
		running[customer].Add(-1)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := hf.Start(ctx); err != nil {
		log.Fatal(err)
	}
	for n := range 15 {
		job, err := sync.Enqueue(ctx, hf, n%3, limit.By("customer", strconv.Itoa(n%3)))
		if err != nil {
			log.Fatal(err)
		}
		defer job.Wait(ctx)
		if n < 12 {
			continue
		}
		if _, err := job.Wait(ctx); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("at most at once:", most[0].Load(), most[1].Load(), most[2].Load())
	// Output: at most at once: 1 1 1
}

// Of each customer at most two jobs wait. What is too much is refused as a whole.
func ExampleBacklogOfKey() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), limit.BacklogOfKey("mail", 2),
		holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	mail := holdfast.NewTask[int]("mail")
	enqueue := func(customers ...string) {
		var items []holdfast.BatchItem
		for n, customer := range customers {
			items = append(items, mail.Item(n, holdfast.Queue("mail"), limit.By("customer", customer)))
		}
		_, err := hf.EnqueueBatch(ctx, items)
		if full, refused := errors.AsType[*limit.BacklogError](err); refused {
			fmt.Printf("%s: %d of %d jobs wait\n", full.Key, full.Waiting, full.Most)
		} else {
			fmt.Println(customers, err)
		}
	}
	enqueue("acme", "bee")
	enqueue("acme")
	enqueue("bee", "acme")
	enqueue("bee")
	// Output:
	// [acme bee] <nil>
	// [acme] <nil>
	// acme: 2 of 2 jobs wait
	// [bee] <nil>
}
