//go:build soak && !linux

package cli

const isLinux = false
