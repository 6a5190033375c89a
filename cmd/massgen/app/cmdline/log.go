package cmdline

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/internal/system/logs"
)

// FormatFlag returns the flag for the format of the log.
func (f *DisplayFlags) FormatFlag(category string) cli.Flag {
	return &cli.StringFlag{Name: "log-format", Category: category, Usage: "write the log as `FORMAT`: text or json", DefaultText: logs.Text, Action: func(_ *cli.Context, text string) error {
		if text != logs.Text && text != logs.JSON {
			return fmt.Errorf("--log-format is %q: it is %s or %s", wording.Shortened(text, 40), logs.Text, logs.JSON)
		}
		f.LogFormat = text
		return nil
	}}
}

// LevelFlag returns the flag for the level of the log of a program that nobody watches.
func LevelFlag(to *string) cli.Flag {
	return TextFlag("", "log-level", to, "log from `LEVEL` on: debug, info, warn or error (also LOG_LEVEL); info without it")
}

// WorkerFlags returns the flags of a worker for its log and its metrics.
func (f *DisplayFlags) WorkerFlags() []cli.Flag {
	return []cli.Flag{
		LevelFlag(&f.LogLevel),
		TextFlag("", "metrics-listen", &f.MetricsListen, "answer GET /metrics, /healthz and /readyz at `HOST:PORT`, without a token; :9464 is all addresses of this machine"),
	}
}

// ServiceLog returns the log of a program that nobody watches, on standard error: from the level of the flag, of
// LOG_LEVEL, or info on. If it is JSON, all that the console writes to standard error becomes lines of the log.
func ServiceLog(env *Env, c *Console, f *DisplayFlags, level string) (*slog.Logger, error) {
	name, text := "--log-level", level
	if text == "" {
		name = "LOG_LEVEL"
		text, _ = env.Lookup(name)
	}
	from := slog.LevelInfo
	if text != "" {
		var err error
		if from, err = logs.Level(text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if f.Debug {
		from = slog.LevelDebug
	}
	log, err := logs.New(c.Err, f.LogFormat, from, c.Secrets.Redact)
	if err != nil {
		return nil, fmt.Errorf("--log-format: %w", err)
	}
	if f.LogFormat == logs.JSON {
		c.Err = &lineLog{log: log}
	}
	return log, nil
}

// lineLog turns lines for people into lines of a log. It is safe for concurrent use.
type lineLog struct {
	log  *slog.Logger
	mu   sync.Mutex
	rest []byte // without its end
}

// Write implements io.Writer.
func (l *lineLog) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, data...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(data), nil
		}
		l.rest = rest
		text := strings.TrimPrefix(string(line), "massgen: ")
		level := slog.LevelInfo
		if warning, ok := strings.CutPrefix(text, "warning: "); ok {
			text, level = warning, slog.LevelWarn
		}
		if strings.TrimSpace(text) != "" {
			l.log.Log(context.Background(), level, text)
		}
	}
}
