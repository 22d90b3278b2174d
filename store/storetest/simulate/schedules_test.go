package simulate_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/store/storetest/simulate"
)

func scheduled(s simulate.Simulation) simulate.Simulation {
	s.Scheduled = true
	return s
}

func TestSchedulesOnModel(t *testing.T) { hunt(t, scheduled(onModel), fixedSeed, 15_000, 500) }

func TestSchedulesOnSQLite(t *testing.T) { hunt(t, scheduled(onSQLite), fixedSeed, 1_000, 1000) }

func TestSchedulesOnTwo(t *testing.T) { hunt(t, scheduled(onTwo), fixedSeed, 500, 1000) }
