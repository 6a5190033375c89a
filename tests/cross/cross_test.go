//go:build cross

package cross

import (
	"os"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestOtherSystems type-checks all packages and their tests as they are built for other
// systems, dependencies from their sources included. It compiles nothing: "make
// ci-long" does that.
func TestOtherSystems(t *testing.T) {
	for _, system := range [][2]string{{"windows", "amd64"}, {"darwin", "arm64"}} {
		t.Run(system[0], func(t *testing.T) {
			t.Parallel()
			found, err := packages.Load(&packages.Config{
				Context: t.Context(),
				Dir:     "../..",
				Mode:    packages.LoadAllSyntax,
				Env:     append(os.Environ(), "GOOS="+system[0], "GOARCH="+system[1], "CGO_ENABLED=0"),
				Tests:   true,
			}, "./...")
			if err != nil {
				t.Fatal(err)
			}
			packages.Visit(found, nil, func(p *packages.Package) {
				for _, err := range p.Errors {
					t.Errorf("%s: %v", p.PkgPath, err)
				}
			})
			t.Logf("%s: %d packages", system[0], len(found))
		})
	}
}
