package holdfast_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // a driver for the caller's own transactions

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// must keeps the examples short.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func Example() {
	ctx := context.Background()
	greet := holdfast.NewKind[string, string]("greet")

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	err := greet.Handle(hf, func(_ *holdfast.Run, name string) (string, error) {
		return "Hello, " + name, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	job := must(greet.Enqueue(ctx, hf, "world"))
	fmt.Println(must(job.Wait(ctx)))
	// Output: Hello, world
}

// Requests are handled where the run waits. Each is validated, handled once, and answered.
func ExampleUpdate() {
	ctx := context.Background()
	cart := holdfast.NewKind[string, int]("cart")
	add := holdfast.NewUpdate[int, int]("add")

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	err := cart.Handle(hf, func(run *holdfast.Run, _ string) (int, error) {
		total := 0
		err := add.Handle(run, func(cents int) error {
			if cents <= 0 {
				return errors.New("that costs nothing")
			}
			return nil
		}, func(_ *holdfast.Run, cents int) (int, error) {
			total += cents
			return total, nil
		})
		if err != nil {
			return 0, err
		}
		return total, run.WaitUntil("the cart is full", func() bool { return total >= 1000 })
	})
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	job := must(cart.Enqueue(ctx, hf, "ada"))
	fmt.Println(must(add.Call(ctx, hf, job.ID, 450, holdfast.DedupKey("request 1"))))
	fmt.Println(must(add.Call(ctx, hf, job.ID, 450, holdfast.DedupKey("request 1"))), "again")
	_, err = add.Call(ctx, hf, job.ID, -5)
	var told *holdfast.UpdateError
	fmt.Println(errors.As(err, &told) && told.Refused, told.Message)
	fmt.Println(must(add.Call(ctx, hf, job.ID, 600)))
	must(job.Wait(ctx))
	// Output:
	// 450
	// 450 again
	// true that costs nothing
	// 1050
}

// A handler that uses its run is a durable function: after a crash it continues from its journal.
func ExampleStep() {
	ctx := context.Background()
	book := holdfast.NewKind[string, string]("trip.book")
	approved := holdfast.NewSignal[bool]("approved")

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	err := book.Handle(hf, func(run *holdfast.Run, city string) (string, error) {
		room, err := holdfast.Step(run, "book", func(context.Context) (string, error) {
			fmt.Println("booking a room in", city)
			return "room 7", nil
		})
		if err != nil {
			return "", err
		}
		err = run.OnFailure("give back", func(run *holdfast.Run) error {
			_, err := holdfast.Step(run, "give back", func(context.Context) (bool, error) {
				fmt.Println("giving back", room)
				return true, nil
			})
			return err
		})
		if err != nil {
			return "", err
		}
		if err := run.Sleep(10 * time.Millisecond); err != nil { // or a month, which costs nothing
			return "", err
		}
		yes, err := approved.Wait(run, holdfast.WaitAtMost(72*time.Hour))
		switch {
		case err != nil:
			return "", err
		case !yes:
			return "", holdfast.Fail(errors.New("nobody wants to go"))
		}
		return room, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	job := must(book.Enqueue(ctx, hf, "Oslo"))
	must(approved.Send(ctx, hf, job.ID, false))
	var failed *holdfast.JobError
	if _, err := job.Wait(ctx); errors.As(err, &failed) {
		fmt.Println(failed.State, "because", failed.Message)
	}
	job = must(book.Enqueue(ctx, hf, "Bergen"))
	must(approved.Send(ctx, hf, job.ID, true))
	fmt.Println(must(job.Wait(ctx)))
	// Output:
	// booking a room in Oslo
	// giving back room 7
	// failed because nobody wants to go
	// booking a room in Bergen
	// room 7
}

// The error that a handler returns decides what becomes of its job.
func ExampleClient_WaitAll() {
	ctx := context.Background()
	half := holdfast.NewKind[int, int]("half", holdfast.MaxAttempts(1))

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	err := half.Handle(hf, func(_ *holdfast.Run, n int) (int, error) {
		if n%2 != 0 {
			return 0, fmt.Errorf("%d is odd", n)
		}
		return n / 2, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	jobs := must(half.EnqueueMany(ctx, hf, []int{2, 3, 4}))
	var ids []holdfast.ID
	for _, job := range jobs {
		ids = append(ids, job.ID)
	}
	ended, err := hf.WaitAll(ctx, ids...)
	for i := range ended {
		fmt.Printf("%v: %s%s\n", ended[i].State, ended[i].Result, ended[i].Error)
	}
	fmt.Println(errors.Is(err, holdfast.ErrFailed))
	// Output:
	// completed: 1
	// failed: 3 is odd
	// completed: 2
	// true
}

func ExampleRetryAfter() {
	ctx := context.Background()
	fetch := holdfast.NewKind[string, int]("fetch", holdfast.MaxAttempts(3))

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	err := fetch.Handle(hf, func(run *holdfast.Run, url string) (int, error) {
		switch {
		case url == "":
			return 0, holdfast.Fail(errors.New("no address")) // no retry would help
		case run.Attempt() == 1:
			return 0, holdfast.RetryAfter(time.Millisecond, errors.New("too many requests"))
		}
		return run.Attempt(), nil
	})
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	job := must(fetch.Enqueue(ctx, hf, "https://example.com"))
	fmt.Println("attempts:", must(job.Wait(ctx)))

	job = must(fetch.Enqueue(ctx, hf, ""))
	_, err = job.Wait(ctx)
	var ended *holdfast.JobError
	fmt.Println(errors.As(err, &ended), ended.State, ended.Reason, ended.Message)
	// Output:
	// attempts: 2
	// true failed terminal no address
}

// An attempt that makes no progress is retried.
func ExampleHeartbeatTimeout() {
	ctx := context.Background()
	crawl := holdfast.NewKind[[]string, string]("crawl", holdfast.Backoff(time.Millisecond, time.Millisecond))

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	err := crawl.Handle(hf, func(run *holdfast.Run, pages []string) (string, error) {
		for _, page := range pages {
			if page == "slow" && run.Attempt() == 1 {
				<-run.Done() // a server that never answers
				return "", context.Cause(run)
			}
			run.Heartbeat()
		}
		return fmt.Sprintf("%d pages", len(pages)), nil
	}, holdfast.HeartbeatTimeout(50*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	job := must(crawl.Enqueue(ctx, hf, []string{"fast", "slow", "fast"}))
	fmt.Println(must(job.Wait(ctx)))
	fmt.Println("before that:", must(job.Get(ctx)).Attempts[0].Reason)
	// Output:
	// 3 pages
	// before that: heartbeat
}

// A kind, a handler and a step without results; options that are named.
func ExampleNewTask() {
	ctx := context.Background()
	urgent := holdfast.Options(holdfast.Priority(1), holdfast.Tags("urgent"))
	mail := holdfast.NewTask[string]("mail.send")

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	err := mail.Handle(hf, func(run *holdfast.Run, to string) error {
		return holdfast.Do(run, "send", func(ctx context.Context) error {
			if holdfast.StepAttempt(ctx) == 1 {
				return errors.New("the server is busy")
			}
			fmt.Println("sent to", to, run.Tags(), "in attempt", holdfast.StepAttempt(ctx))
			return nil
		}, holdfast.Backoff(time.Millisecond, time.Millisecond))
	})
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	job := must(mail.Enqueue(ctx, hf, "ada", urgent))
	fmt.Println(mail.Wait(ctx, hf, job.ID))
	// Output:
	// sent to ada [urgent] in attempt 2
	// <nil>
}

// A metric counts each end once, however often the run parks.
func ExampleWithMiddleware() {
	ctx := context.Background()
	nap := holdfast.NewTask[int]("nap", holdfast.Backoff(time.Millisecond, time.Millisecond))
	ends := map[string]int{}
	measure := func(run *holdfast.Run, next func(*holdfast.Run) error) error {
		err := next(run)
		switch {
		case errors.Is(err, holdfast.ErrParked): // it goes on later
		case err != nil:
			ends["failed"]++
		default:
			ends["completed"]++
		}
		return err
	}

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithMiddleware(measure)))
	err := nap.Handle(hf, func(run *holdfast.Run, times int) error {
		for range times {
			if err := run.Sleep(60 * time.Millisecond); err != nil {
				return err
			}
		}
		if run.Attempt() == 1 {
			return errors.New("still tired")
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	job := must(nap.Enqueue(ctx, hf, 3))
	fmt.Println(nap.Wait(ctx, hf, job.ID))
	hf.Close(ctx) // after which nothing counts any more
	fmt.Println(ends)
	// Output:
	// <nil>
	// map[completed:1 failed:1]
}

// What is stored with each job comes from the context of its enqueue.
func ExampleWithEnqueueMiddleware() {
	ctx := context.Background()
	type requestKey struct{}
	request := func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
		id, ok := ctx.Value(requestKey{}).(string)
		if !ok {
			return errors.New("no request enqueues this")
		}
		for _, job := range jobs {
			job.Tags = append(job.Tags, "request "+id)
		}
		return next(ctx)
	}
	mail := holdfast.NewTask[string]("mail.send")

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithEnqueueMiddleware(request)))
	defer hf.Close(ctx)

	job := must(mail.Enqueue(context.WithValue(ctx, requestKey{}, "r1"), hf, "ada"))
	fmt.Println(must(job.Get(ctx)).Tags)
	_, err := mail.EnqueueMany(ctx, hf, []string{"ada", "bob"})
	fmt.Println(err)
	// Output:
	// [request r1]
	// no request enqueues this
}

// Values given to a run are in the contexts of its steps, and the run is found from them.
func ExampleRun_WithContext() {
	ctx := context.Background()
	type customerKey struct{}
	bill := holdfast.NewTask[string]("bill")
	charge := func(ctx context.Context) error { // far below the handler
		run, _ := holdfast.RunFrom(ctx)
		fmt.Println("charging", ctx.Value(customerKey{}), "for a job of kind", run.Kind())
		return nil
	}

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	err := bill.Handle(hf, func(run *holdfast.Run, customer string) error {
		run = run.WithContext(context.WithValue(run, customerKey{}, customer))
		return holdfast.Do(run, "charge", charge)
	})
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	job := must(bill.Enqueue(ctx, hf, "acme"))
	fmt.Println(bill.Wait(ctx, hf, job.ID))
	// Output:
	// charging acme for a job of kind bill
	// <nil>
}

// A job that is enqueued in a transaction exists if and when the transaction commits.
func ExampleKind_EnqueueTx() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "example"))
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "shop.db")
	ship := holdfast.NewKind[int, struct{}]("order.ship")

	hf := must(holdfast.Open(ctx, sqlite.File(file)))
	defer hf.Close(ctx)
	db := must(sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(5000)"))
	defer db.Close()
	must(db.Exec(`CREATE TABLE orders (id INTEGER PRIMARY KEY)`))

	place := func(id int, commit bool) holdfast.ID {
		tx := must(db.BeginTx(ctx, nil))
		defer tx.Rollback()
		must(tx.Exec(`INSERT INTO orders (id) VALUES (?)`, id))
		job := must(ship.EnqueueTx(ctx, hf, sqlite.Tx(tx), id))
		if commit {
			if err := tx.Commit(); err != nil {
				log.Fatal(err)
			}
		}
		return job.ID
	}
	for _, commit := range []bool{false, true} {
		id := place(7, commit)
		_, err := hf.Get(ctx, id)
		fmt.Println("committed:", commit, "the job exists:", err == nil)
	}
	// Output:
	// committed: false the job exists: false
	// committed: true the job exists: true
}

// An enqueue whose unique key is taken returns the job that holds it.
func ExampleUnique() {
	ctx := context.Background()
	type report struct {
		Customer string `json:"customer"`
		Trigger  string `json:"trigger"`
	}
	build := holdfast.NewKind[report, struct{}]("report.build")

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	perHour := holdfast.Unique{ByFields: []string{"customer"}, ByPeriod: time.Hour}
	at := holdfast.RunAt(time.Date(2030, 5, 1, 12, 10, 0, 0, time.UTC))

	first := must(build.Enqueue(ctx, hf, report{"acme", "login"}, perHour, at))
	second := must(build.Enqueue(ctx, hf, report{"acme", "upload"}, perHour, at))
	other := must(build.Enqueue(ctx, hf, report{"zenith", "login"}, perHour, at))
	fmt.Println(second.Existing, second.ID == first.ID, other.Existing)
	// Output: true true false
}

// A job that is asked for again and again runs a while after the last time, and at the latest some
// time after the first.
func ExampleUnique_debounce() {
	ctx := context.Background()
	index := holdfast.NewTask[string]("index", holdfast.Delay(40*time.Second), holdfast.Unique{
		ByArgs: true, OnConflict: store.Replace, MaxDelay: time.Minute,
	})
	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)

	first := must(index.Enqueue(ctx, hf, "document 7"))
	again := must(index.Enqueue(ctx, hf, "document 7"))
	record := must(again.Get(ctx))
	fmt.Println(again.ID == first.ID, again.Replaced, record.RunAt.Sub(record.CreatedAt) <= time.Minute)
	// Output: true true true
}

// A job is found by the name that its business has for it, and a second enqueue with that attaches
// to it.
func ExampleKey() {
	ctx := context.Background()
	type order struct {
		Article string `json:"article"`
	}
	fulfil := holdfast.NewKind[order, struct{}]("order.fulfil")

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	key := holdfast.Key("order-42")
	first := must(fulfil.Enqueue(ctx, hf, order{"lamp"}, key, holdfast.KeepKey(24*time.Hour)))
	again := must(fulfil.Enqueue(ctx, hf, order{"lamp"}, key))
	other := must(fulfil.Enqueue(ctx, hf, order{"chair"}, key))
	fmt.Println(again.ID == first.ID, again.Differs)
	fmt.Println(other.ID == first.ID, other.Differs)

	found := must(fulfil.Find(ctx, hf, "order-42"))
	fmt.Println(found.ID == first.ID, found.Cancel(ctx, "the customer has changed her mind"))
	_, err := fulfil.Find(ctx, hf, "order-43")
	fmt.Println(errors.Is(err, holdfast.ErrNotFound))
	// Output:
	// true false
	// true true
	// true <nil>
	// true
}

// The first payment starts the job of an order; the others are signals to it.
func ExampleSignal_SendOrStart() {
	ctx := context.Background()
	paid := holdfast.NewSignal[int]("paid")
	collect := holdfast.NewKind[int, string]("order.collect")

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	err := collect.Handle(hf, func(run *holdfast.Run, price int) (string, error) {
		sum, payments := 0, 0
		for ; sum < price; payments++ {
			amount, err := paid.Wait(run)
			if err != nil {
				return "", err
			}
			sum += amount
		}
		return fmt.Sprintf("%d in %d payments", sum, payments), nil
	})
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	item := collect.Item(100, holdfast.Key("order-42"), holdfast.KeepKey(-1))
	for _, amount := range []int{20, 30, 50} {
		sent := must(paid.SendOrStart(ctx, hf, item, amount))
		fmt.Println("started:", sent.Started)
	}
	job := must(collect.Find(ctx, hf, "order-42"))
	fmt.Println(must(job.Wait(ctx)))
	_, err = paid.SendOrStart(ctx, hf, item, 10)
	fmt.Println("paid already:", errors.Is(err, holdfast.ErrConflict))
	// Output:
	// started: true
	// started: false
	// started: false
	// 100 in 3 payments
	// paid already: true
}

// A checkpoint lets the next attempt continue where the last one stopped.
func ExampleRun_SaveCheckpoint() {
	ctx := context.Background()
	count := holdfast.NewKind[int, string]("count", holdfast.Backoff(time.Millisecond, time.Millisecond))

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	err := count.Handle(hf, func(run *holdfast.Run, upTo int) (string, error) {
		next := 1
		if _, err := run.LoadCheckpoint(&next); err != nil {
			return "", err
		}
		began := next
		for ; next <= upTo; next++ {
			if next == 4 && run.Attempt() == 1 {
				return "", errors.New("the power is out")
			}
			if err := run.SaveCheckpoint(next + 1); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("attempt %d counted from %d to %d", run.Attempt(), began, upTo), nil
	})
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	job := must(count.Enqueue(ctx, hf, 6))
	fmt.Println(must(job.Wait(ctx)))
	// Output: attempt 2 counted from 4 to 6
}
