//go:build !unix

package sqlite_test

import (
	"os/exec"
	"testing"
)

func asNobody(t *testing.T, _ *exec.Cmd) { t.Skip("permissions are not those of unix") }
