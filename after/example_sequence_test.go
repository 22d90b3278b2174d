package after_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/after"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// The entries of an account are booked one after the other. When one fails the others wait, until
// somebody has seen to it and retries it.
func ExampleKeepTurn() {
	ctx := context.Background()
	book := holdfast.NewKind[int, string]("book")

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	var open atomic.Bool // the account is
	err := book.Handle(hf, func(_ *holdfast.Run, cents int) (string, error) {
		if cents < 0 && !open.Load() {
			return "", holdfast.Fail(errors.New("the account is closed"))
		}
		return fmt.Sprintf("booked %d", cents), nil
	})
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	inTurn := holdfast.Options(holdfast.OrderingKey("account 7"), after.KeepTurn())
	first := must(book.Enqueue(ctx, hf, -300, inTurn))
	second := must(book.Enqueue(ctx, hf, 500, inTurn))

	_, err = first.Wait(ctx)
	fmt.Println(errors.Is(err, holdfast.ErrFailed))
	waits := must(hf.Why(ctx, second.ID))
	fmt.Println(waits.Causes[0].Code)

	open.Store(true)
	must(hf.Retry(ctx, "the account is open again", first.ID))
	fmt.Println(must(second.Wait(ctx)))
	fmt.Println(must(first.Wait(ctx)))
	// Output:
	// true
	// turn
	// booked 500
	// booked -300
}
