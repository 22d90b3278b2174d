package telemetry

import (
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/holdfastdev/holdfast/internal/timed"
)

// TestAQueryAllocatesNothing: each call of the database is measured, so that must be cheap.
func TestAQueryAllocatesNothing(t *testing.T) {
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	of, err := newTelemetry(Config{Meters: meters})
	if err != nil {
		t.Fatal(err)
	}
	tell := of.queried()
	tell(timed.Claim, time.Millisecond) // the first one makes the buckets
	if n := testing.AllocsPerRun(1000, func() { tell(timed.Claim, time.Millisecond) }); n > 0 {
		t.Errorf("a call allocates %v times", n)
	}
}

// TestOperationsHaveNames that are all different.
func TestOperationsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for op := range timed.Operation(timed.Operations) {
		if name := op.String(); name == "" || seen[name] {
			t.Errorf("operation %d is called %q", op, name)
		} else {
			seen[name] = true
		}
	}
}
