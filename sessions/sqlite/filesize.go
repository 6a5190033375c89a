package sqlite

import "os"

// slack is more than SQLite adds to a file in one go, and more than a new store has in all.
const slack = 256 << 10

// mostBytes returns the file size limit of this process if the store may have met it:
// SQLite does not say why a write failed. ok is false if it is not that.
func mostBytes(path string) (most uint64, ok bool) {
	most, ok = sizeLimit()
	var largest int64
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if info, err := os.Stat(file); err == nil { // else it takes no room
			largest = max(largest, info.Size())
		}
	}
	return most, ok && most < uint64(largest)+slack
}
