//go:build !unix

package cluster

import (
	"errors"
	"os/exec"
)

var errNotUnix = errors.New("servers are started on Unix only; name one with --database")

func unprivileged(string) (func(*exec.Cmd), error) { return nil, errNotUnix }
