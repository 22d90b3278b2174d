//go:build soak

package clients

import (
	"os"
	"testing"

	"github.com/holdfastdev/holdfast/internal/binaries"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

func TestMain(m *testing.M) {
	code := pgtest.Main(m)
	binaries.Remove()
	os.Exit(code)
}
