package debugbackend

import "testing"

func TestDemoParses(t *testing.T) { Demo() }
