//go:build soak

package pgtest

// soak reports whether this is a soak.
const soak = true
