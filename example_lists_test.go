package holdfast_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

type shipment struct {
	Customer string `json:"customer"`
	Parcels  int    `json:"parcels"`
}

// Lists select jobs by what their args say, in several orders, page by page.
func ExampleClient_ListBy() {
	ctx := context.Background()
	ship := holdfast.NewKind[shipment, string]("ship")
	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	for i, customer := range []string{"ada", "bob", "ada"} {
		must(ship.Enqueue(ctx, hf, shipment{customer, i + 1}, holdfast.Delay(time.Duration(3-i)*time.Hour)))
	}

	filter := store.Filter{
		Kinds: []string{"ship"}, States: []store.State{store.Scheduled},
		Args: []store.Match{{Path: "customer", Value: json.RawMessage(`"ada"`)}},
	}
	for after := ""; ; {
		page := must(hf.ListBy(ctx, store.SortRunAt, filter, after, 100))
		for _, record := range page.Jobs {
			fmt.Println(string(record.Args))
		}
		if after = page.Next; after == "" {
			break
		}
	}
	fmt.Println(must(hf.Count(ctx, filter)).N)
	// Output:
	// {"customer":"ada","parcels":3}
	// {"customer":"ada","parcels":1}
	// 2
}

// A person corrects a job before it starts, and looks at it with its types.
func ExampleKind_Edit() {
	ctx := context.Background()
	ship := holdfast.NewKind[shipment, string]("ship")
	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithActor("ada")))
	defer hf.Close(ctx)
	job := must(ship.Enqueue(ctx, hf, shipment{"bob", 1}, holdfast.Delay(time.Hour)))

	err := ship.Edit(ctx, hf, "one was forgotten", job.ID, shipment{"bob", 2}, holdfast.Priority(1))
	if err != nil {
		log.Fatal(err)
	}
	info := must(ship.Get(ctx, hf, job.ID))
	fmt.Println(info.State, info.Priority, info.Args.Parcels)
	fmt.Println(info.Actions[0].Kind, info.Actions[0].Actor, info.Actions[0].Reason)
	// Output:
	// scheduled 1 2
	// edit ada one was forgotten
}

// A run says how far it is in metadata and tags, by which others find its job.
func ExampleRun_SetMetadata() {
	ctx := context.Background()
	ship := holdfast.NewKind[shipment, string]("ship")
	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	err := ship.Handle(hf, func(run *holdfast.Run, _ shipment) (string, error) {
		number, err := holdfast.Step(run, "label", func(context.Context) (string, error) { return "N7", nil })
		if err != nil {
			return "", err
		}
		if err := run.SetMetadata(map[string]string{"label": number}); err != nil {
			return "", err
		}
		return number, run.SetTags("labelled") // both are written with the outcome
	})
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)
	job := must(ship.Enqueue(ctx, hf, shipment{"ada", 1}))
	must(job.Wait(ctx))

	found := store.Filter{Metadata: []store.Match{{Path: "label", Value: json.RawMessage(`"N7"`)}}}
	for _, record := range must(hf.List(ctx, found, "", 10)).Jobs {
		fmt.Println(record.ID == job.ID, record.Tags)
	}
	// Output: true [labelled]
}

// Finished jobs can be removed at once, with all that belongs to them.
func ExampleClient_Delete() {
	ctx := context.Background()
	ship := holdfast.NewKind[shipment, string]("ship")
	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	job := must(ship.Enqueue(ctx, hf, shipment{"ada", 1}))
	if err := job.Cancel(ctx, "sent twice"); err != nil {
		log.Fatal(err)
	}

	results := must(hf.Delete(ctx, "the customer asked for it", job.ID))
	fmt.Println(results[0].State, results[0].Err)
	_, err := job.Get(ctx)
	fmt.Println(err != nil)
	// Output:
	// cancelled <nil>
	// true
}

// A queue of many long jobs leaves room for others: four slots are kept for urgent jobs, and of the
// other six mail has two of three while both have jobs.
func ExampleWithShare() {
	ctx := context.Background()
	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithSlots(10),
		holdfast.WithQueue("bulk", 0), holdfast.WithQueue("mail", 0), holdfast.WithQueue("urgent", 0),
		holdfast.WithShare("urgent", 4, 1), holdfast.WithShare("mail", 0, 2),
	))
	defer hf.Close(ctx)
	// Output:
}
