//go:build soak

package cli

const isLinux = true
