package meter

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc, which has been a hundredth of a second on Linux for ever.
const tick = 10 * time.Millisecond

// process is what /proc tells of one.
type process struct {
	name        string
	parent      int
	self, waits time.Duration // CPU of its own, and of its children that were waited for
}

func readProcess(pid int) (process, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	return parseProcess(string(text))
}

// parseProcess reads "pid (name) state ppid …"; the name may hold anything.
func parseProcess(text string) (process, error) {
	begin, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if begin < 0 || end < begin {
		return process{}, fmt.Errorf("%q is no process", text)
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) < 15 {
		return process{}, fmt.Errorf("%q is short", text)
	}
	var numbers [15]int64
	for _, i := range []int{1, 11, 12, 13, 14} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return process{}, err
		}
		numbers[i] = n
	}
	return process{
		name: text[begin+1 : end], parent: int(numbers[1]),
		self: time.Duration(numbers[11]+numbers[12]) * tick, waits: time.Duration(numbers[13]+numbers[14]) * tick,
	}, nil
}

// postmaster returns the process of the server to which a session's process belongs, or 0 if it is
// not on this machine.
func postmaster(session int) int {
	p, err := readProcess(session)
	if err != nil || p.name != "postgres" {
		return 0
	}
	if parent, err := readProcess(p.parent); err != nil || parent.name != "postgres" {
		return 0
	}
	return p.parent
}

// serverCPU is what the server's processes have used, those that have ended included.
func serverCPU(postmaster int) time.Duration {
	total := time.Duration(0)
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0
	}
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		p, err := readProcess(pid)
		switch {
		case err != nil: // it has ended meanwhile
		case pid == postmaster:
			total += p.self + p.waits
		case p.parent == postmaster:
			total += p.self
		}
	}
	return total
}

// machineCPU is what all processes have used; negative if the machine does not say.
func machineCPU() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return -1
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 8 || fields[0] != "cpu" {
		return -1
	}
	total := time.Duration(0)
	for _, i := range []int{1, 2, 3, 6, 7} { // user, nice, system, irq, softirq
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return -1
		}
		total += time.Duration(n) * tick
	}
	return total
}

// writtenBytes is what this process has had written to disk; negative if the machine does not say.
func writtenBytes() int64 {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		var n int64
		if _, err := fmt.Sscanf(line, "write_bytes: %d", &n); err == nil {
			return n
		}
	}
	return -1
}
