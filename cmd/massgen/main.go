// Command massgen puts several language-model agents on one question and prints
// the answer that they agree on.
package main

import (
	"os"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/app"
)

func main() {
	massgen.Launcher()
	os.Exit(app.Main(os.Args, app.System()))
}
