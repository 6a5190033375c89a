package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// seen is what clients saw of their streams.
type seen struct {
	// whole is how many streams had all of their chunks in order, and nothing else.
	whole int
	// faults are the first ones of the others.
	faults []string
	// late is how long chunks took from the model to the client, in order.
	late []time.Duration
}

// at returns the delay that a part of the chunks, as 0.99, kept to.
func (s seen) at(part float64) time.Duration {
	if len(s.late) == 0 {
		return 0
	}
	return s.late[int(part*float64(len(s.late)-1))]
}

// ask has clients ask at once, and beside them some that read nothing until the others are done.
func ask(ctx context.Context, url string, o options) (seen, error) {
	slowly, leave := context.WithCancel(ctx)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var mu sync.Mutex
	var s seen
	var quick, slow sync.WaitGroup
	for i := range o.slow {
		slow.Go(func() {
			response, err := open(slowly, client, url, fmt.Sprintf("slow%d", i))
			if err != nil {
				return // the others would fail, too
			}
			<-slowly.Done()
			_ = response.Body.Close() // nothing was read
		})
	}
	for i := range o.streams {
		quick.Go(func() {
			// Clients do not come in step.
			time.Sleep(time.Duration(i) * o.every / time.Duration(o.streams))
			late, err := read(ctx, client, url, fmt.Sprintf("client%d", i), o.chunks())
			mu.Lock()
			defer mu.Unlock()
			s.late = append(s.late, late...)
			if err == nil {
				s.whole++
			} else if len(s.faults) < 10 {
				s.faults = append(s.faults, err.Error())
			}
		})
	}
	quick.Wait()
	leave()
	slow.Wait()
	slices.Sort(s.late)
	return s, ctx.Err()
}

func open(ctx context.Context, client *http.Client, url, question string) (*http.Response, error) {
	body := fmt.Sprintf(`{"model":"one","stream":true,"messages":[{"role":"user","content":%q}]}`, question)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	return client.Do(request)
}

// read reads a stream and returns how late each chunk was.
func read(ctx context.Context, client *http.Client, url, question string, chunks int) (late []time.Duration, err error) {
	response, err := open(ctx, client, url, question)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(response.Body, 1000))
		return nil, fmt.Errorf("%s: %s: %s %w", question, response.Status, text, err)
	}
	isDone := false
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData {
			continue
		}
		if data == "[DONE]" {
			isDone = true
			continue
		}
		var event struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return late, fmt.Errorf("%s: %s: %w", question, data, err)
		}
		for _, c := range event.Choices {
			for _, chunk := range strings.Fields(c.Delta.Content) {
				var sent int64
				if _, err := fmt.Sscanf(chunk, fmt.Sprintf("%s:%d:%%d", question, len(late)), &sent); err != nil {
					return late, fmt.Errorf("%s: chunk %d is %s", question, len(late), chunk)
				}
				late = append(late, time.Since(time.Unix(0, sent)))
			}
		}
	}
	if len(late) != chunks || !isDone {
		return late, fmt.Errorf("%s: %d chunks came, done: %v", question, len(late), isDone)
	}
	return late, nil
}
