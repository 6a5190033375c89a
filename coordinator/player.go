package coordinator

import (
	"errors"
	"fmt"

	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/system/stack"
)

// player plays a turn with its driver. It has no goroutine of its own. First it runs in the goroutine that
// plays the turn's beginning, and later in each one that adds a post to an idle inbox. The goroutine in which
// it runs owns the turn.
type player struct {
	driver *driver.Driver
	inbox  *inbox
	// receive takes the waiting posts. If there are none, play returns, and runs again when there are.
	receive func() []driver.Post
	// launch begins a job. last is the job that begins when there is nothing else to do.
	launch func(job)
	last   job
	// early are the jobs that wait until the turn is open.
	early  []job
	isOpen bool
	// cancel cancels all work.
	cancel func()
	// next is the stage that begins when all work has ended. broken takes the place of the next stage after
	// one that did not return, and after a panic. Its error says which.
	next, broken stage
	err          error // of the driver
}

// A job is work that ends with a post. isLate says that the post has come from elsewhere.
type job func() (p driver.Post, isLate bool)

// A stage of a turn begins when all work has ended. It gets the error of the driver, and returns the
// stage that follows, nil after the last.
type stage func(err error) stage

// run plays the turn until nothing is left to do in its goroutine.
func (p *player) run() {
	stack.Grow16()
	p.work(p.play())
}

// play plays the turn while there are posts. It returns the job that was launched last, for its own
// goroutine to do. If a function of the panel's user ends the goroutine (runtime.Goexit), another one
// plays on. A panic ends the turn before it goes on, so that nobody waits for a turn that it has broken.
func (p *player) play() job {
	returned := false
	defer func() {
		if r := recover(); r != nil {
			p.abort(fmt.Errorf("it panicked: %v", r))
			panic(r)
		}
		if !returned {
			go p.run()
		}
	}()
	last := p.takePosts()
	returned = true
	return last
}

// abort ends the turn at once: the driver may be in the middle of a batch.
func (p *player) abort(err error) {
	p.cancel()
	p.next = nil
	for s := p.broken(err); s != nil; {
		s = s(nil)
	}
}

// errLeft says why a stage did not return.
var errLeft = errors.New("a hook ended its goroutine (runtime.Goexit)")

func (p *player) takePosts() job {
	for p.next != nil {
		if p.driver.Done() {
			p.cancel()
			begin := p.next
			p.next = func(err error) stage { return p.broken(errors.Join(err, errLeft)) }
			p.next = begin(p.err)
			continue
		}
		last := p.last
		p.last = nil
		posts := p.receive()
		if len(posts) == 0 {
			return last // somebody else may own the turn by now
		}
		p.last = last
		p.launchNow()
		if err := p.driver.Play(posts); err != nil {
			p.err = err
			p.cancel()
		}
	}
	return nil
}

// work does a job, if there is one, brings its post, and goes on with the job that play returns.
func (p *player) work(j job) {
	for j != nil {
		post, isLate := j()
		if isLate {
			return
		}
		j = nil
		if p.inbox.add(post) {
			j = p.play()
		}
	}
}

// begin launches a job once the turn is open. Until then the turn's beginning may fail, and then none of
// its jobs may run.
func (p *player) begin(j job) {
	if p.isOpen {
		p.launch(j)
	} else {
		p.early = append(p.early, j)
	}
}

// beginAll launches the early jobs.
func (p *player) beginAll() {
	p.isOpen = true
	for _, j := range p.early {
		p.launch(j)
	}
	p.early = nil
}

// launchLast is the launch of a turn: it begins the job in last in a goroutine of its own, and keeps j in
// its place.
func (p *player) launchLast(j job) {
	if last := p.last; last != nil {
		go func() {
			stack.Grow16()
			p.work(last)
		}()
	}
	p.last = j
}

// launchNow launches the last job, before something that may take its time.
func (p *player) launchNow() { p.launchLast(nil) }
