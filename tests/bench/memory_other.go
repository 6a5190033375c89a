//go:build !unix

package main

import "os"

// peakOf returns 0: this system does not say.
func peakOf(*os.ProcessState) int64 { return 0 }

// ownPeak returns 0: this system does not say.
func ownPeak() (int64, error) { return 0, nil }
