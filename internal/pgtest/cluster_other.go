//go:build !unix

package pgtest

import (
	"io"
	"os/exec"
)

func unprivileged(string) (func(*exec.Cmd), error) { return nil, errNotUnix }

func guard(string) (io.Closer, error) { return nil, errNotUnix }

func ownerOf(string) (string, error) { return "", errNotUnix }

func forget(int) {}
