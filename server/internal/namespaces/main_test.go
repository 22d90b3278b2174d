package namespaces_test

import (
	"os"
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
