package tasks

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/massgen/massgen/agents"
)

// The tiers of memories, which are their folders below memory.
const (
	shortTerm = "short_term"
	longTerm  = "long_term"
)

// MemoryTools returns the tools for the memories of an agent, which are Markdown files with a head in its folder.
func MemoryTools(folder string) ([]agents.Tool, error) {
	b := book{folder}
	m := &maker{}
	add(m, "create_memory", "Writes a memory for later work: a decision and its reason, what worked, what the user prefers. short_term is for what is needed often, long_term for what is looked up.", b.create)
	add(m, "update_memory", "Replaces the text of a memory.", b.update)
	add(m, "remove_memory", "Removes a memory.", b.remove)
	add(m, "load_memory", "Shows a memory. Without a name it shows all of short_term and the names and descriptions of long_term; call it before you begin.", b.load)
	return m.tools, m.err
}

// book has the memories of an agent.
type book struct{ folder string }

// memory is a file of a book.
type memory struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Tier        string `json:"tier"`
	Content     string `json:"content,omitempty"`
	created     string
}

var memoryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func (m memory) file() string { return path.Join("memory", m.Tier, m.Name+".md") }

// text returns the file's text, with MassGen's head.
func (m memory) text() string {
	line := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	return fmt.Sprintf("---\nname: %s\ndescription: %s\ntier: %s\ncreated: %s\nupdated: %s\n---\n\n%s\n",
		m.Name, line(m.Description), m.Tier, m.created, now(), strings.TrimSpace(m.Content))
}

// read reads a memory, nil for none.
func (b book) read(tier, name string) (*memory, error) {
	m := &memory{Name: name, Tier: tier}
	data, err := readFile(b.folder, m.file())
	if data == nil || err != nil {
		return nil, err
	}
	m.Content = string(data)
	head, rest, ok := strings.Cut(strings.TrimPrefix(m.Content, "---\n"), "\n---")
	if !ok || !strings.HasPrefix(m.Content, "---\n") {
		return m, nil
	}
	m.Content = strings.TrimSpace(rest)
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "description":
			m.Description = value
		case "created":
			m.created = value
		}
	}
	return m, nil
}

// find returns a memory of either tier.
func (b book) find(name string) (*memory, error) {
	if memoryName.MatchString(name) {
		for _, tier := range []string{shortTerm, longTerm} {
			if m, err := b.read(tier, name); m != nil || err != nil {
				return m, err
			}
		}
	}
	return nil, fmt.Errorf("there is no memory %q: load_memory without a name shows all", name)
}

type createMemoryArgs struct {
	Name        string `json:"name" jsonschema:"its name: letters, digits, _ and -"`
	Description string `json:"description" jsonschema:"what it is about, in one line"`
	Content     string `json:"content" jsonschema:"the text, in Markdown"`
	Tier        string `json:"tier,omitempty" jsonschema:"short_term or long_term; short_term if left out"`
}

func (b book) create(a createMemoryArgs) (result, error) {
	m := memory{Name: a.Name, Description: a.Description, Tier: a.Tier, Content: a.Content, created: now()}
	if m.Tier == "" {
		m.Tier = shortTerm
	}
	switch {
	case !memoryName.MatchString(m.Name):
		return nil, fmt.Errorf("the name %q is none: use letters, digits, _ and -, at most 64", m.Name)
	case m.Tier != shortTerm && m.Tier != longTerm:
		return nil, fmt.Errorf("the tier %q is none: write %s or %s", m.Tier, shortTerm, longTerm)
	}
	if old, err := b.find(m.Name); err == nil {
		return nil, fmt.Errorf("there is a memory %s already, in %s: call update_memory", m.Name, old.Tier)
	}
	return result{"file": m.file()}, writeFile(b.folder, m.file(), []byte(m.text()))
}

type updateMemoryArgs struct {
	Name        string `json:"name" jsonschema:"the memory's name"`
	Content     string `json:"content" jsonschema:"the new text, in Markdown"`
	Description string `json:"description,omitempty" jsonschema:"the new description; as before if left out"`
}

func (b book) update(a updateMemoryArgs) (result, error) {
	m, err := b.find(a.Name)
	if err != nil {
		return nil, err
	}
	m.Content = a.Content
	if a.Description != "" {
		m.Description = a.Description
	}
	return result{"file": m.file()}, writeFile(b.folder, m.file(), []byte(m.text()))
}

type memoryArgs struct {
	Name string `json:"name" jsonschema:"the memory's name"`
}

func (b book) remove(a memoryArgs) (result, error) {
	m, err := b.find(a.Name)
	if err != nil {
		return nil, err
	}
	_, err = removeFile(b.folder, m.file())
	return result{"removed": m.Name}, err
}

type loadArgs struct {
	Name string `json:"name,omitempty" jsonschema:"the memory's name; all if left out"`
}

func (b book) load(a loadArgs) (result, error) {
	if a.Name != "" {
		m, err := b.find(a.Name)
		return result{"memory": m}, err
	}
	all := result{}
	for _, tier := range []string{shortTerm, longTerm} {
		names, err := listFiles(b.folder, path.Join("memory", tier))
		if err != nil {
			return nil, err
		}
		list := []*memory{}
		for _, file := range names {
			name, isMemory := strings.CutSuffix(file, ".md")
			if !isMemory {
				continue
			}
			m, err := b.read(tier, name)
			if err != nil {
				return nil, err
			}
			if m != nil && tier == longTerm {
				m.Content = ""
			}
			if m != nil {
				list = append(list, m)
			}
		}
		all[tier] = list
	}
	return all, nil
}
