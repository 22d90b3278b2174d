//go:build soak

package sqlite_test

import (
	"testing"
)

// TestConformanceInPortions removes and copies what jobs remember an entry at a time: what was
// forgotten is there for long, and forks are made in many transactions. Concerns that neither
// remove nor copy what jobs remember are left out.
func TestConformanceInPortions(t *testing.T) {
	conform(t, 1, "Action", "After", "Checkpoint", "Claim", "ClockBack", "Closed", "Count", "Demand", "Depend", "Enqueue", "Fence",
		"Filter", "Fire", "Grant", "Held", "Hold", "Invalid", "Large", "Leader", "Limit", "Match", "Message", "Namespace", "NodeMode",
		"Nodes", "Obstacles", "Order", "OrderingKey", "Outcome", "Promote", "Queues", "Race", "RaceContext", "RaceEdit", "RaceLimit",
		"Read", "Rescue", "Rest", "RetainQueues", "Schedule", "Slots", "Sort", "Start",
		"Told", "Transitions", "TurnTold", "Unique", "Unit", "Unserved",
		"Version", "Wait", "Words")
}
