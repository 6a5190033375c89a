package coordinator

// Folder is one that an agent's tools work in.
type Folder struct {
	// Key is what people call it, as "cwd".
	Key string
	// Dir is an absolute path.
	Dir string
	// ByPath says that others are told of what is in it by whole paths, so that it has to be
	// in the same place for them.
	ByPath bool
}

// Folders are those of the agents, in the order of Options.Agents.
func (p *Panel) Folders() [][]Folder {
	list := make([][]Folder, len(p.opts.Agents))
	for i, a := range p.opts.Agents {
		list[i] = a.Folders
	}
	return list
}
