package memory

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/holdfastdev/holdfast/store"
)

// Seed derives a number from the job and from what it is for, such as the random numbers of a
// strand: another one each time, the same ones on every replay, and others after the run has
// continued as new.
func (m *Memory) Seed(job store.ID, of string) [32]byte {
	Put(&m.seeds, of, m.seeds[of]+1)
	text := append([]byte(nil), job[:]...)
	if n := m.Times(); n > 0 {
		text = binary.BigEndian.AppendUint64(text, uint64(n))
	}
	text = append(text, of...)
	return sha256.Sum256(binary.BigEndian.AppendUint64(text, m.seeds[of]))
}
