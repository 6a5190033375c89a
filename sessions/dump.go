package sessions

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/massgen/massgen/internal/system/blob"
)

// Dump is a whole session, as Export writes it and Import reads it.
type Dump struct {
	Session Session
	// Turns are all turns, from the first. The last one may be interrupted.
	Turns []Turn
	// Journals are the events of each turn.
	Journals [][][]byte
	// Texts are all texts that the turns and their journals name.
	Texts map[blob.Ref][]byte
}

// Names returns the texts that turn i, from 0, and its journal name.
func (d *Dump) Names(i int) []blob.Ref {
	names := d.Turns[i].told()
	if page := namedPage(d.Texts[d.Turns[i].Link]); d.Texts[page] != nil {
		names = append(names, page)
	}
	if messages := d.Turns[i].Messages; messages != (blob.Ref{}) {
		names = append(names, messages)
		for _, ref := range Refs(d.Texts[messages]) {
			if _, there := d.Texts[ref]; there {
				names = append(names, ref)
			}
		}
	}
	for _, event := range d.Journals[i] {
		names = append(names, Refs(event)...)
	}
	return names
}

// told returns the texts that follow from the fields of a turn.
func (t *Turn) told() []blob.Ref {
	names := []blob.Ref{RefOf([]byte(t.Question))}
	if t.Link != (blob.Ref{}) {
		names = append(names, RefOf([]byte(t.Answer)), t.Link)
	}
	return names
}

// check returns the first fault of a session that was read. It also makes the missing texts
// that can be made, and adds up the usage of the turns.
func (d *Dump) check() error {
	s := &d.Session
	for _, err := range []error{CheckID(s.ID), CheckTitle(s.Title), CheckMetadata(s.Metadata)} {
		if err != nil {
			return err
		}
	}
	switch {
	case len(d.Turns) == 0:
		return errors.New("the session has no turns")
	case s.ParentTurn < 0 || s.ParentTurn > len(d.Turns):
		return fmt.Errorf("its turns up to %d are said to be its parent's, and it has %d", s.ParentTurn, len(d.Turns))
	}
	unnamed := make(map[blob.Ref]bool, len(d.Texts))
	for ref := range d.Texts {
		unnamed[ref] = true
	}
	s.Created, s.Updated = kept(s.Created), kept(s.Updated)
	s.Turns, s.Messages, s.Usage = len(d.Turns), 0, Usage{}
	var head blob.Ref
	for i, t := range d.Turns {
		var err error
		if head, err = d.checkTurn(i, head); err != nil {
			return fmt.Errorf("turn %d: %w", i+1, err)
		}
		s.Messages += t.MessageCount
		if t.Number > s.ParentTurn {
			s.Usage = s.Usage.Plus(t.Usage)
		}
	}
	return d.checkNames(unnamed)
}

// checkTurn checks one turn on its own, and returns the newest link after it.
func (d *Dump) checkTurn(i int, head blob.Ref) (blob.Ref, error) {
	t := &d.Turns[i]
	t.Started, t.Ended = kept(t.Started), kept(t.Ended)
	if t.Number != i+1 {
		return head, fmt.Errorf("its number is %d", t.Number)
	}
	if !utf8.ValidString(t.Question) || !utf8.ValidString(t.Answer) {
		return head, errors.New("it is not valid UTF-8")
	}
	if !canBe(t.Usage) {
		return head, errors.New("its usage is below zero, or more than can be")
	}
	d.Texts[RefOf([]byte(t.Question))] = []byte(t.Question)
	if t.Status == Running {
		if t.Usage != (Usage{}) {
			return head, errors.New("it never ended, but has a usage")
		}
		if i != len(d.Turns)-1 || t.Winner != "" || t.Answer != "" || t.Link != (blob.Ref{}) || t.Messages != (blob.Ref{}) || t.MessageCount != 0 {
			return head, errors.New("it never ended, but has an answer or a turn after it")
		}
		return head, nil
	}
	e, err := Ended{Status: t.Status, Winner: t.Winner, Answer: t.Answer, Messages: t.Messages, MessageCount: t.MessageCount}.checked()
	switch {
	case err != nil:
		return head, err
	case e.Messages != t.Messages || e.MessageCount != t.MessageCount:
		return head, errors.New("its messages do not fit its answer")
	case t.Winner == "" && t.Link == blob.Ref{}:
		return head, nil
	}
	link, err := d.linkOf(t, head)
	if err != nil {
		return head, err
	}
	d.Texts[RefOf([]byte(t.Answer))], d.Texts[t.Link] = []byte(t.Answer), link
	return t.Link, nil
}

// linkOf makes the link of a turn from its question and answer. If the link names a page, which an
// export omits, linkOf makes the page from the turns before.
func (d *Dump) linkOf(t *Turn, head blob.Ref) ([]byte, error) {
	link, err := t.link(head, nil)
	if err != nil || RefOf(link) == t.Link {
		return link, err
	}
	if isPaged(t.Number) {
		page, err := pageOf(context.Background(), given(d.Texts), head)
		if err != nil {
			return nil, err
		}
		if link, err = t.link(head, page); err != nil {
			return nil, err
		}
		if RefOf(link) == t.Link {
			d.Texts[RefOf(page)] = page
			return link, nil
		}
	}
	return nil, errors.New("its link is not that of its question and answer")
}

// given are texts in memory.
type given map[blob.Ref][]byte

// Get implements Texts.
func (g given) Get(_ context.Context, ref blob.Ref) ([]byte, error) {
	if data := g[ref]; data != nil {
		return data, nil
	}
	return nil, NoText(ref)
}

// checkNames checks that every named text is there, and that every given text is named.
func (d *Dump) checkNames(unnamed map[blob.Ref]bool) error {
	for i := range d.Turns {
		for _, ref := range d.Names(i) {
			if _, there := d.Texts[ref]; !there {
				return fmt.Errorf("turn %d: the text %.12s that it names is missing", i+1, ref.SHA256)
			}
			delete(unnamed, ref)
		}
	}
	for ref := range unnamed {
		return fmt.Errorf("the text %.12s is named by no turn", ref.SHA256)
	}
	return nil
}
