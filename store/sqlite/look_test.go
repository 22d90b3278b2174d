//go:build unix

package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfastdev/holdfast/store/sqlite"
)

// users is a folder in which everybody may write, and this program as other users.
type users struct {
	*testing.T

	dir, path, binary string
}

const owner, other = 65533, 65534

func newUsers(t *testing.T) *users {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can be two users")
	}
	dir, err := os.MkdirTemp("", "holdfast-users-") //nolint:usetesting // the parents of t.TempDir are closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	u := &users{t, filepath.Join(dir, "db"), filepath.Join(dir, "db", "holdfast.db"), filepath.Join(dir, "test")}
	err = errors.Join(os.Mkdir(u.dir, 0o700), os.Chmod(dir, 0o755), os.Chmod(u.dir, 0o777), copyFile(os.Args[0], u.binary))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// as runs a part as a user and returns what it prints.
func (u *users) as(uid uint32, name string) string {
	u.Helper()
	command := exec.Command(u.binary, u.path)
	command.Env = append(os.Environ(), part+"="+name)
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	output, err := command.CombinedOutput()
	if err != nil {
		u.Fatalf("%s as %d: %v: %s", name, uid, err, output)
	}
	return string(output)
}

// wantOwner checks that all that lies in the folder is the owner's.
func (u *users) wantOwner() {
	u.Helper()
	err := filepath.WalkDir(u.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == u.dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if got := info.Sys().(*syscall.Stat_t).Uid; got != owner { //nolint:errcheck // what else would it be
			u.Errorf("%s belongs to %d", path, got)
		}
		return nil
	})
	if err != nil {
		u.Error(err)
	}
}

func (u *users) mode(mode os.FileMode) {
	u.Helper()
	if err := os.Chmod(u.path, mode); err != nil {
		u.Fatal(err)
	}
}

// TestOtherUsersLeaveNothing: a look by somebody who may not write must not keep the owner from
// writing.
func TestOtherUsersLeaveNothing(t *testing.T) {
	u := newUsers(t)
	u.as(owner, "own")
	info, err := os.Stat(u.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("a new file has the mode %v, %v", info.Mode(), err)
	}
	if said := u.as(other, "look"); !strings.HasPrefix(said, "refused") {
		t.Errorf("who may not read: %s", said)
	}
	u.mode(0o644)
	for range 2 {
		said := u.as(other, "look")
		if !strings.HasPrefix(said, "refused true ") || !strings.Contains(said, u.path+", owned by user 65533, cannot be written") ||
			!strings.Contains(said, "while a user who may write it has it open") {
			t.Errorf("nobody has it open: %s", said)
		}
		u.wantOwner()
		u.as(owner, "own")
	}
	u.as(0, "own") // root may everything, and leaves nothing of its own either
	u.wantOwner()
	u.as(owner, "own")
}

// TestOtherUsersLook: while the owner has the file open, others may read it who have the right to.
func TestOtherUsersLook(t *testing.T) {
	u := newUsers(t)
	u.as(owner, "own")
	u.mode(0o644)
	s := open(t, sqlite.File(u.path)) // by root, which makes all that lies beside it the owner's
	join(t, s)
	if err := enqueue(t.Context(), s, 1); err != nil {
		t.Fatal(err)
	}
	u.wantOwner()
	said := u.as(other, "look")
	if !strings.HasPrefix(said, "2 true ") || !strings.Contains(said, u.path+", owned by user 65533, cannot be written") {
		t.Errorf("the owner has it open: %s", said)
	}
	u.wantOwner()
	u.as(owner, "own")
	// A killed owner leaves the log.
	left := filepath.Join(u.dir, "left")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		file := left + suffix
		if err := errors.Join(copyFile(u.path+suffix, file), os.Chmod(file, 0o644), os.Lchown(file, owner, owner)); err != nil {
			t.Fatal(err)
		}
	}
	u.path = left
	if said := u.as(other, "look"); !strings.HasPrefix(said, "3 true ") {
		t.Errorf("the owner was killed: %s", said)
	}
	u.as(owner, "own")
}

// TestForeignLog: what another program has left is named.
func TestForeignLog(t *testing.T) {
	u := newUsers(t)
	u.as(owner, "own")
	if err := os.WriteFile(u.path+"-wal", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(u.binary, u.path)
	command.Env = append(os.Environ(), part+"=open")
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner, Gid: owner}}
	output, _ := command.CombinedOutput()
	said := string(output)
	if !strings.HasPrefix(said, "true ") || !strings.Contains(said, "holdfast.db-wal, owned by user 0, cannot be written") {
		t.Errorf("%s", said)
	}
}

// TestSharedByAGroup: who may use the file may use the locks of its nodes.
func TestSharedByAGroup(t *testing.T) {
	path := file(t)
	if err := open(t, sqlite.File(path)).Close(); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]os.FileMode{0o600: 0o700, 0o660: 0o770, 0o644: 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		s := open(t, sqlite.File(path))
		node := join(t, s)
		for name, want := range map[string]os.FileMode{"": want, fmt.Sprintf("/%d.lock", node): mode, "/../holdfast.db-wal": mode} {
			info, err := os.Stat(path + ".nodes" + name)
			if err != nil || info.Mode().Perm() != want {
				t.Errorf("mode %v: %q has %v, want %v, %v", mode, name, info.Mode(), want, err)
			}
		}
		_, err := s.Leave(t.Context(), node)
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
