package health_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/health"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// Probes of an orchestrator, beside the other handlers of a program.
func Example() {
	ctx := context.Background()
	greet := holdfast.NewTask[string]("greet")
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	if err := greet.Handle(hf, func(*holdfast.Run, string) error { return nil }); err != nil {
		log.Fatal(err)
	}

	mux := http.NewServeMux()
	mux.Handle("/health/", http.StripPrefix("/health", health.Handler(hf)))
	probe := func() {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/health/readyz", nil))
		fmt.Print(w.Code, " ", w.Body)
	}
	probe()
	if err := hf.Start(ctx); err != nil {
		log.Fatal(err)
	}
	for hf.Health().Err() != nil {
		time.Sleep(time.Millisecond) // until its first heartbeat
	}
	probe()
	// Output:
	// 503 holdfast: conflict: no node is running
	// 200 ok
}
