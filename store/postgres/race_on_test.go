//go:build race

package postgres_test

const isRace = true
