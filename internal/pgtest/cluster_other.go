//go:build !unix

package pgtest

import (
	"errors"
	"io"
	"os/exec"
)

var errNotUnix = errors.New("throw-away clusters are made on Unix only")

func unprivileged(string) (func(*exec.Cmd), error) { return nil, errNotUnix }

func guard(string) (io.Closer, error) { return nil, errNotUnix }
