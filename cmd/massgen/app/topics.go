package app

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/system/plain"
)

// topicFiles are the texts of massgen help TOPIC. The first line of each is its title.
//
//go:embed topics/*.txt
var topicFiles embed.FS

// flagsTopic is the topic that lists all flags.
const flagsTopic = "flags"

// topicNames returns the names of all topics, sorted.
func topicNames() (names []string) {
	files, err := topicFiles.ReadDir("topics")
	if err != nil { // the build has embedded the folder
		panic(err)
	}
	names = []string{flagsTopic}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), path.Ext(f.Name())))
	}
	slices.Sort(names)
	return names
}

// topicText returns the text of a topic, and of the command that has its name. It returns "" for a name that
// neither has.
func topicText(app *cli.App, name string) string {
	if name == flagsTopic {
		return flagsText(app)
	}
	var texts []string
	if data, err := topicFiles.ReadFile("topics/" + name + ".txt"); err == nil {
		texts = append(texts, string(data))
	}
	if c := app.Command(name); c != nil && !c.Hidden {
		texts = append(texts, commandHelp(c))
	}
	return strings.Join(texts, "\n")
}

// helpCommand prints the help, or the text of a topic.
func helpCommand(out *cmdline.Console) *cli.Command {
	return &cli.Command{Name: "help", Hidden: true, Action: func(c *cli.Context) error {
		name := c.Args().First()
		if name == "" {
			return out.Put(helpText(c.App))
		}
		if text := topicText(c.App, name); text != "" {
			return out.Put(text)
		}
		names := topicNames()
		said := wording.Shortened(plain.Line(name), 40)
		for _, command := range c.App.VisibleCommands() {
			names = append(names, command.Name)
		}
		if near, ok := configs.Nearest(name, names); ok {
			return fmt.Errorf("help: there is no topic %s: did you mean massgen help %s?", said, near)
		}
		return fmt.Errorf("help: there is no topic %s: it is one of %s, or a command", said, strings.Join(topicNames(), ", "))
	}}
}
