//go:build !unix

package app_test

import (
	"errors"
	"os"
)

var errNoLocks = errors.New("files are not held here")

func hold(string) (*os.File, error) { return nil, errNoLocks }

func isHeld(string) (bool, error) { return false, errNoLocks }

func awaitRelease(string) error { return errNoLocks }
