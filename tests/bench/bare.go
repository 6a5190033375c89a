package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
)

// playBare sends the bodies of a recording, the rounds one after the other and the calls of
// a round at once, and reads the answers to their ends. It is the least that a client in Go
// can do.
func playBare(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bare", flag.ContinueOnError)
	base := flags.String("base", "", "the base `URL` of the service")
	recording := flags.String("bodies", "", "the `file` of the recorded bodies")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("bare: %w", err)
	}
	file, rounds, err := openRecording(*recording)
	if err != nil {
		return err
	}
	defer file.Close()
	transport := &http.Transport{}
	for _, bodies := range rounds {
		transport.MaxIdleConnsPerHost = max(transport.MaxIdleConnsPerHost, len(bodies))
	}
	defer transport.CloseIdleConnections()
	for _, bodies := range rounds {
		if err := sendRound(ctx, transport, *base, file, bodies); err != nil {
			return err
		}
	}
	return nil
}

func sendRound(ctx context.Context, transport http.RoundTripper, base string, file *os.File, bodies []recordedBody) error {
	errs := make([]error, len(bodies))
	var calls sync.WaitGroup
	for i, recorded := range bodies {
		calls.Go(func() {
			body, err := recorded.read(file)
			if err == nil {
				err = send(ctx, transport, base, body)
			}
			errs[i] = err
		})
	}
	calls.Wait()
	return errors.Join(errs...)
}

func send(ctx context.Context, transport http.RoundTripper, base string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("send a recorded body: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("send a recorded body: the service answers %s", response.Status)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return fmt.Errorf("read an answer: %w", err)
	}
	return nil
}
