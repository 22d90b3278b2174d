package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"

	"github.com/holdfastdev/holdfast/internal/binaries"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// folder is where a run has its databases.
type folder struct {
	path string
	lock *flock.Flock
	stop func() // ends the PostgreSQL server
}

// wantedRoom is how much memory has to be free for databases to be kept there, in bytes.
const wantedRoom = 10 << 30

// open takes the folder of this user. Its path is the same in each run, unless another one has it
// at the moment: go test knows its results by the variables that tests read.
func openFolder() (*folder, error) {
	root := os.Getenv("TMPDIR")
	if root == "" {
		root = os.TempDir()
		if room("/dev/shm") >= wantedRoom && executable("/dev/shm") {
			root = "/dev/shm"
		}
	}
	for n := 1; n < 10; n++ {
		path := filepath.Join(root, fmt.Sprintf("holdfast-%d-%d", os.Getuid(), n))
		lock := flock.New(path + ".lock")
		got, err := lock.TryLock()
		if err != nil {
			return nil, err
		}
		if !got {
			continue
		}
		if err := os.RemoveAll(path); err != nil { // of a run that was killed
			return nil, err
		}
		if err := os.Mkdir(path, 0o755); err != nil {
			return nil, err
		}
		return &folder{path: path, lock: lock, stop: func() {}}, nil
	}
	return nil, errors.New("nine other runs have all folders for databases")
}

// executable reports whether programs may run from a folder.
func executable(dir string) bool {
	probe, err := os.CreateTemp(dir, "holdfast-probe-")
	if err != nil {
		return false
	}
	defer os.Remove(probe.Name())
	_, err = probe.WriteString("#!/bin/sh\n")
	if err := errors.Join(err, probe.Chmod(0o700), probe.Close()); err != nil {
		return false
	}
	_, err = output(context.Background(), probe.Name())
	return err == nil
}

func (f *folder) close() error {
	f.stop()
	err := os.RemoveAll(f.path)
	return errors.Join(err, f.lock.Unlock())
}

// environment starts the server and builds the programs, and sets the variables by which tests
// find them. Without PostgreSQL's programs, tests say that they are skipped.
func (f *folder) environment(ctx context.Context, server bool) error {
	programs, err := buildPrograms(ctx)
	if err != nil {
		return err
	}
	for variable, value := range map[string]string{"TMPDIR": f.path, binaries.Folder: programs} {
		if err := os.Setenv(variable, value); err != nil {
			return err
		}
	}
	if !server {
		return nil
	}
	f.stop, err = pgtest.Serve(filepath.Join(f.path, "pg"))
	if errors.Is(err, pgtest.ErrNoPrograms) && os.Getenv("CI") == "" {
		return nil
	}
	return err
}

// programs are what tests start.
var programs = []string{"./cmd/holdfast", "./cmd/holdfast-vet", "./web/e2e/shop"}

// buildPrograms builds the programs into a folder whose name tells what they are: other programs
// have another one, so that go test takes no result of theirs for that of these.
func buildPrograms(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	root := filepath.Join(cache, "holdfast-test")
	fresh := filepath.Join(root, "fresh-"+strconv.Itoa(os.Getpid()))
	if err := os.MkdirAll(fresh, 0o755); err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	args := append([]string{"build", "-ldflags=-s -w", "-o", fresh + "/"}, programs...) // as scripts/release builds
	if err := show(ctx, "", []string{"CGO_ENABLED=0"}, "go", args...); err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, p := range programs {
		if err := addFile(sum, filepath.Join(fresh, filepath.Base(p))); err != nil {
			return "", err
		}
	}
	kept := filepath.Join(root, hex.EncodeToString(sum.Sum(nil)[:8]))
	if err := os.Rename(fresh, kept); err != nil {
		if _, missing := os.Stat(kept); missing != nil {
			return "", err
		}
	}
	return kept, errors.Join(os.Chtimes(kept, time.Now(), time.Now()), removeOld(root))
}

func addFile(w io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}

// removeOld removes programs that no run has used for a day.
func removeOld(root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			if err := os.RemoveAll(filepath.Join(root, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
