package main

import "testing"

// TestBuilt: web/dist and the types are what their sources make.
func TestBuilt(t *testing.T) {
	t.Parallel()
	if err := run("..", true, ""); err != nil {
		t.Fatal(err)
	}
}
