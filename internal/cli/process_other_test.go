//go:build !linux

package cli

const isLinux = false
