package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/blob"
)

// takeFiles checks the files of a turn's context, stores them, and returns them as stored. The turn has
// written nothing before.
func (o *Options) takeFiles(ctx context.Context) ([]backends.File, error) {
	files := slices.Clone(attach.Of(ctx))
	if len(files) == 0 {
		return nil, nil
	}
	if err := cmp.Or(attach.Check(files), o.checkFiles(files)); err != nil {
		return nil, attach.RefusedError{Err: err}
	}
	stored, _, err := agents.AttachFiles(ctx, o.Store, attach.Takes{Images: true, PDFs: true}, files)
	for i := range stored {
		files[i].File = stored[i]
	}
	return files, err
}

// checkFiles returns an error for an agent whose model does not take one of the files, unless another
// agent describes the files.
func (o *Options) checkFiles(files []backends.File) error {
	refused := func(agent Agent) (names []string) {
		for _, f := range files {
			if !agent.Takes.Has(f.MediaType) {
				names = append(names, f.Name)
			}
		}
		return names
	}
	by := o.describer()
	for i := range o.size() {
		agent := o.agent(i)
		if agent == nil {
			continue
		}
		names := strings.Join(refused(*agent), ", ")
		why := fmt.Sprintf("agent %s: its model %s takes no %s, so it cannot be sent %s", agent.ID, agent.Model, notTaken(agent.Takes), names)
		switch {
		case names == "":
		case !o.DescribeFiles:
			return errors.New(why + ": leave that out, name another model, or set attachments: describe")
		case by < 0 || len(refused(o.Agents[by])) > 0:
			return errors.New(why + ", and no other member takes all of the files to describe them: leave that out, or name another model")
		}
	}
	return nil
}

// notTaken names what a model does not take.
func notTaken(takes attach.Takes) string {
	switch {
	case takes.Images:
		return "PDF"
	case takes.PDFs:
		return "images"
	}
	return "images and no PDF"
}

// describer returns the first agent whose model takes most kinds of files, -1 if no model takes files.
func (o *Options) describer() int {
	best, most := -1, 0
	for i, agent := range o.Agents {
		kinds := 0
		if agent.Takes.Images {
			kinds += 2
		}
		if agent.Takes.PDFs {
			kinds++
		}
		if kinds > most {
			best, most = i, kinds
		}
	}
	return best
}

// giveFiles gives each agent of a turn the files that its model takes, and has the other files described.
func (o *Options) giveFiles(ctx context.Context, question string, d *effect.Turn) (err error) {
	files := attach.Of(ctx)
	if len(files) == 0 {
		return nil
	}
	// They were stored before the session was held, and may be forgotten.
	if d.Files, _, err = agents.AttachFiles(ctx, o.Store, attach.Takes{Images: true, PDFs: true}, files); err != nil {
		return err
	}
	type given struct {
		fitting []blob.File
		refused bool
	}
	known := map[attach.Takes]given{} // to make a picture smaller takes seconds
	described := false
	for i := range o.size() {
		agent := o.agent(i)
		if agent == nil {
			continue
		}
		of, ok := known[agent.Takes]
		if !ok {
			fitting, refused, err := agents.AttachFiles(ctx, o.Store, agent.Takes, files)
			if err != nil {
				return fmt.Errorf("agent %s: %w", agent.ID, err)
			}
			of = given{fitting, len(refused) > 0}
			known[agent.Takes] = of
		}
		d.Agent(i).Described = of.refused
		if !slices.Equal(of.fitting, d.Files) {
			d.Agent(i).Files = of.fitting
		}
		described = described || of.refused
	}
	if !described {
		return nil
	}
	return o.haveDescribed(ctx, question, d)
}

// haveDescribed adds the call that describes the files of a turn.
func (o *Options) haveDescribed(ctx context.Context, question string, d *effect.Turn) error {
	by := o.describer()
	var files []backends.File
	for _, f := range d.FilesOf(by) {
		files = append(files, backends.File{File: f})
	}
	agent := o.Agents[by]
	call, err := agents.DescribeSidecall(ctx, o.Store, effect.FileDescription, agent.Model, agent.Params, contextbuild.DescribeCall(question, files), nil)
	d.Sidecalls = append(d.Sidecalls, call)
	return err
}

// fileReader returns the reader of the reply that describes files. ok is false if the panel describes none.
func (o *Options) fileReader() (reader agents.Sidecall, ok bool) {
	by := o.describer()
	if by < 0 || !o.DescribeFiles {
		return reader, false
	}
	agent := o.Agents[by]
	reader.Member = SidecallModel{Backend: agent.Backend, Model: agent.Model, Params: agent.Params}.member()
	reader.Read = func(ctx context.Context, _ *effect.Turn, _ effect.Sidecall, reply backends.Message) (change effect.Change, err error) {
		text := contextbuild.Clean(strings.TrimSpace(reply.Text()))
		if text == "" {
			return change, errors.New("the reply is empty")
		}
		change.Description, err = o.Store.Put(ctx, []byte(text))
		return change, err
	}
	return reader, true
}

// asked returns a question with a line that names its files. The history of later turns has the
// question with this line, without the files.
func asked(question string, files []backends.File) string {
	named := make([]blob.File, len(files))
	for i, f := range files {
		named[i] = f.File
	}
	return question + attach.Line(named)
}

// attachedTo returns a turn's attached files, for a caller that asks the turn's question again.
func attachedTo(ctx context.Context, store Store, session string, number int) ([]backends.File, error) {
	events, err := readJournal(ctx, store, session, number)
	if err != nil {
		return nil, err
	}
	accepted, err := firstEvent(events)
	if err != nil {
		return nil, nil //nolint:nilerr // a turn that never began has no files
	}
	var files []backends.File
	for _, f := range accepted.Turn.Files {
		data, err := store.Get(ctx, f.Content)
		if err != nil {
			return nil, fmt.Errorf("read the attached %s: %w", f.Name, err)
		}
		files = append(files, backends.File{File: f, Data: data})
	}
	return files, nil
}
