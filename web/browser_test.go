package web_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/holdfastdev/holdfast/internal/binaries"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

func TestMain(m *testing.M) {
	code := pgtest.Main(m)
	binaries.Remove()
	os.Exit(code)
}

// installed installs the packages of the tests once.
var installed = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("npm", "ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund").CombinedOutput()
})

// needsPackages skips a test where the packages cannot be installed.
func needsPackages(t *testing.T) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("NOT TESTED: " + err.Error())
		}
	}
	if out, err := installed(); bytes.Contains(out, []byte("EUSAGE")) {
		t.Fatalf("package-lock.json is not that of package.json: %s", out)
	} else if err != nil {
		t.Skipf("NOT TESTED, because npm cannot install packages: %v: %s", err, out)
	}
}

func runs(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// TestTypes: the compiler finds nothing in the source of the pages, nor in its tests.
func TestTypes(t *testing.T) {
	t.Parallel()
	needsPackages(t)
	runs(t, nil, "npm", "run", "--silent", "types")
}

// TestPure runs the tests of what needs no browser.
func TestPure(t *testing.T) {
	t.Parallel()
	needsPackages(t)
	dir := t.TempDir()
	runs(t, nil, "go", "-C", "build", "run", ".", "-tests", dir)
	runs(t, nil, "node", "--test", "--test-reporter=tap", dir)
}

// TestWalk opens all pages once, in a real browser, on SQLite.
func TestWalk(t *testing.T) {
	t.Parallel()
	inBrowser(t, []string{"--test-name-pattern=^all pages", "e2e/pages.test.mjs"}, "HOLDFAST_WALK=1", "HOLDFAST_FAILURES="+pictures(t, "walk"))
}

// pictures returns a folder for pictures, without those of the last time.
func pictures(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("pictures", name))
	if err == nil {
		old, _ := filepath.Glob(filepath.Join(dir, "*.png"))
		for _, file := range old {
			err = errors.Join(err, os.Remove(file))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// one lets one browser run at a time: two would make each other's pages slow.
var one sync.Mutex

func inBrowser(t *testing.T, tests []string, env ...string) {
	t.Helper()
	needsPackages(t)
	browser := os.Getenv("CHROMIUM") // or else the first that is there; the shell has no window to draw
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); browser == "" && err == nil {
			browser = found
		}
	}
	if browser == "" {
		t.Skip("NOT TESTED: there is no Chromium")
	}
	one.Lock()
	defer one.Unlock()
	read, err := filepath.Glob("e2e/*.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range read { // so that go test knows what its result depends on
		if _, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	env = append(env, "CHROMIUM="+browser,
		"HOLDFAST_BINARY="+binaries.Path(t, "../cmd/holdfast"), "HOLDFAST_SHOP="+binaries.Path(t, "./e2e/shop"))
	runs(t, env, "node", append([]string{"--test", "--test-reporter=tap"}, tests...)...)
}
