// Package gating lets jobs go on that wait because as many run of their key as its limit lets: when
// a run has ended, and by a sweep. Which of them run is decided in claims.
//
// # Imports
//
// Packages store, pg and local.
package gating
