package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
)

// room is how many bytes a turn of some length writes.
const room = 256 << 10

// CheckRoom writes a file beside the store's file and removes it. The error says why a turn could not be
// stored, as on a full disk. A store in memory has no such file, and no error. A store on another machine has one
// beside the snapshots of workspaces: the first snapshot makes their folder, and so does CheckRoom.
func (s *Store) CheckRoom() (err error) {
	if s.folder == "" {
		return nil
	}
	if s.Limiter != nil {
		err = os.MkdirAll(s.folder, 0o700)
	}
	var f *os.File
	if err == nil {
		f, err = os.CreateTemp(s.folder, "room-*")
	}
	if err != nil {
		return fmt.Errorf("the folder of the store %s cannot be written to: %w", s.path, err)
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.Write(noise()) // a file system may compress what repeats
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("there is no room for the store %s: make some on its disk: %w", s.path, err)
	}
	return nil
}

func noise() []byte {
	bytes := make([]byte, room)
	_, _ = rand.Read(bytes) // it never fails
	return bytes
}
