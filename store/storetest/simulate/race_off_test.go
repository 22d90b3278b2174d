//go:build !race

package simulate_test

const isRace = false
