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

// attachments are the files that questions of a panel are asked with.
type attachments struct{ *Options }

// take checks the files of a turn's context, stores them, and returns them as they are stored.
// Nothing of the turn is written before that.
func (a attachments) take(ctx context.Context) ([]backends.File, error) {
	files := slices.Clone(attach.Of(ctx))
	if len(files) == 0 {
		return nil, nil
	}
	if a.Remote != nil {
		return nil, attach.RefusedError{Err: errors.New("files cannot be attached to a turn that workers play: ask in one process")}
	}
	if err := cmp.Or(attach.Check(files), a.checkTaken(files)); err != nil {
		return nil, attach.RefusedError{Err: err}
	}
	stored, _, err := agents.AttachFiles(ctx, a.Store, attach.Takes{Images: true, PDFs: true}, files)
	for i := range stored {
		files[i].File = stored[i]
	}
	return files, err
}

// checkTaken returns an error for an agent whose model does not take one of the files, unless another
// agent describes them.
func (a attachments) checkTaken(files []backends.File) error {
	refused := func(agent Agent) (names []string) {
		for _, f := range files {
			if !agent.Takes.Has(f.MediaType) {
				names = append(names, f.Name)
			}
		}
		return names
	}
	by := a.describer()
	for _, agent := range a.Agents {
		names := strings.Join(refused(agent), ", ")
		why := fmt.Sprintf("agent %s: its model %s takes no %s, so it cannot be sent %s", agent.ID, agent.Model, notTaken(agent.Takes), names)
		switch {
		case names == "":
		case !a.DescribeFiles:
			return errors.New(why + ": leave that out, name another model, or set attachments: describe")
		case by < 0 || len(refused(a.Agents[by])) > 0:
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

// describer is the first agent whose model takes most kinds of files, -1 if none takes any.
func (a attachments) describer() int {
	best, most := -1, 0
	for i, agent := range a.Agents {
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

// give gives a turn its files, each agent those that its model takes, and has the others described.
func (a attachments) give(ctx context.Context, question string, d *effect.Turn) (err error) {
	files := attach.Of(ctx)
	if len(files) == 0 {
		return nil
	}
	// They were stored before the session was held, and may be forgotten.
	if d.Files, _, err = agents.AttachFiles(ctx, a.Store, attach.Takes{Images: true, PDFs: true}, files); err != nil {
		return err
	}
	described := false
	for i, agent := range a.Agents {
		fitting, refused, err := agents.AttachFiles(ctx, a.Store, agent.Takes, files)
		if err != nil {
			return fmt.Errorf("agent %s: %w", agent.ID, err)
		}
		d.Agents[i].Described = len(refused) > 0
		if !slices.Equal(fitting, d.Files) {
			d.Agents[i].Files = fitting
		}
		described = described || len(refused) > 0
	}
	if !described {
		return nil
	}
	return a.describe(ctx, question, d)
}

// describe has the files of a turn described.
func (a attachments) describe(ctx context.Context, question string, d *effect.Turn) error {
	by := a.describer()
	var files []backends.File
	for _, f := range d.FilesOf(by) {
		files = append(files, backends.File{File: f})
	}
	agent := a.Agents[by]
	call, err := agents.DescribeSidecall(ctx, a.Store, effect.FileDescription, agent.Model, agent.Params, contextbuild.DescribeCall(question, files), nil)
	d.Sidecalls = append(d.Sidecalls, call)
	return err
}

// reader reads the reply to the call that describes files; ok is false if none is made.
func (a attachments) reader() (reader agents.Sidecall, ok bool) {
	by := a.describer()
	if by < 0 || !a.DescribeFiles {
		return reader, false
	}
	agent := a.Agents[by]
	reader.Member = SidecallModel{Backend: agent.Backend, Model: agent.Model, Params: agent.Params}.member()
	reader.Read = func(ctx context.Context, _ *effect.Turn, _ effect.Sidecall, reply backends.Message) (change effect.Change, err error) {
		text := contextbuild.Clean(strings.TrimSpace(reply.Text()))
		if text == "" {
			return change, errors.New("the reply is empty")
		}
		change.Description, err = a.Store.Put(ctx, []byte(text))
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

// attachedTo returns the files that a turn was asked with, for a caller that asks its question again.
func attachedTo(ctx context.Context, store Store, session string, number int) ([]backends.File, error) {
	events, err := readJournal(ctx, store, session, number)
	if err != nil {
		return nil, err
	}
	accepted, err := firstEvent(events)
	if err != nil {
		return nil, nil //nolint:nilerr // a turn that never began was asked with none
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
