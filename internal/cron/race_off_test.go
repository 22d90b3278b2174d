//go:build !race

package cron

const isRace = false
