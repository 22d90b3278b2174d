//go:build !race

package sqlite_test

const isRace = false
