package metrics

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

func goroutines() Metric {
	return Metric{Name: "go_goroutines", Kind: Gauge, Help: "Goroutines that exist."}
}

func heap() Metric {
	return Metric{Name: "go_memstats_heap_alloc_bytes", Kind: Gauge, Help: "Bytes of the heap that are in use, or not yet freed."}
}

func memorySize() Metric {
	return Metric{Name: "process_resident_memory_bytes", Kind: Gauge, Help: "Memory of the process, on Linux."}
}

func build() Metric {
	return Metric{Name: "massgen_build_info", Kind: Gauge, Labels: "version", Help: "1, with the version of the program."}
}

// Process adds the figures of the process, named as in the official client.
func (r *Registry) Process(version string) {
	r.OnScrape(func() {
		var memory runtime.MemStats // package runtime/metrics slows each start of the program down
		runtime.ReadMemStats(&memory)
		r.Set(goroutines(), float64(runtime.NumGoroutine()))
		r.Set(heap(), float64(memory.HeapAlloc))
		if size := resident(); size > 0 {
			r.Set(memorySize(), size)
		}
		r.Set(build(), 1, "version", version)
	})
}

// resident returns the memory of the process in bytes, 0 where the system does not tell it as Linux does.
func resident() float64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return float64(pages * os.Getpagesize())
}
