package gauges

import (
	"maps"
	"runtime"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestProcess: what is measured is plausible, and grows where it has to.
func TestProcess(t *testing.T) {
	t.Parallel()
	var p Process
	first := p.Measure()
	if _, known := first[CPUShare]; known {
		t.Error("there is a share of a processor before there is a second measurement")
	}
	x := 0
	for i := range 50_000_000 {
		x += i
	}
	runtime.KeepAlive(x)
	second := p.Measure()
	for _, name := range []string{CPUs, Goroutines, HeapBytes, MemoryBytes} {
		if second[name] < 1 {
			t.Errorf("%s is %v", name, second[name])
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	if second[RSSBytes] < 1<<20 || second[CPUSeconds] <= first[CPUSeconds] {
		t.Errorf("%v bytes are in use; %v s of processors after %v", second[RSSBytes], second[CPUSeconds], first[CPUSeconds])
	}
	if share := second[CPUShare]; share <= 0 || share > 2*float64(runtime.NumCPU()) {
		t.Errorf("the share of a processor is %v", share)
	}
}

// TestWhatIsNotKnownIsAbsent: nil is no 0.
func TestWhatIsNotKnownIsAbsent(t *testing.T) {
	t.Parallel()
	s := Database(&store.Measured{Size: new(int64(4096)), Connections: new(int64(0))})
	want := map[string]float64{DatabaseBytes: 4096, Connections: 0}
	if !maps.Equal(s.Values, want) {
		t.Errorf("%v, want %v", s.Values, want)
	}
	s.Name = "a"
	back, err := Decode(s.Encode())
	if err != nil || back.Name != "a" || !maps.Equal(back.Values, want) {
		t.Errorf("%+v, %v", back, err)
	}
	if _, err := Decode([]byte("x")); err == nil {
		t.Error("what is no sample is read")
	}
}
