package peers_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"
	"net/url"
	"path/filepath"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/session/database"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// adkModel answers, or calls a tool.
type adkModel struct{ work work }

// Name implements model.LLM.
func (adkModel) Name() string { return "mock" }

// GenerateContent implements model.LLM.
func (m adkModel) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		part := genai.NewPartFromText(answer)
		last := req.Contents[len(req.Contents)-1]
		if m.work.tool && last.Parts[len(last.Parts)-1].FunctionResponse == nil {
			part = genai.NewPartFromFunctionCall(toolName, argsOfTool())
		}
		yield(&model.LLMResponse{
			Content:       genai.NewContentFromParts([]*genai.Part{part}, genai.RoleModel),
			UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 10, CandidatesTokenCount: 10, TotalTokenCount: 20},
			FinishReason:  genai.FinishReasonStop, TurnComplete: true,
		}, nil)
	}
}

func argsOfTool() (args map[string]any) {
	if err := json.Unmarshal([]byte(toolArgs), &args); err != nil {
		panic(err)
	}
	return args
}

func adkInMemory(b *testing.B, w work) ask { return adkRunner(b, w, session.InMemoryService()) }

// adkOnSQLite keeps sessions in adk-go's tables, on the driver of massgen's store and with its
// settings: a log that is written ahead, and synced at each commit.
func adkOnSQLite(b *testing.B, w work) ask {
	settings := url.Values{"_txlock": {"immediate"}, "_synchronous": {"FULL"}, "_pragma": {"journal_mode(WAL)", "busy_timeout(5000)"}}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "adk.db")+"?"+settings.Encode())
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	service, err := database.NewSessionService(sqlite.New(sqlite.Config{Conn: db}), &gorm.Config{PrepareStmt: true, Logger: logger.Discard})
	if err != nil {
		b.Fatal(err)
	}
	if err := database.AutoMigrate(service); err != nil {
		b.Fatal(err)
	}
	return adkRunner(b, w, service)
}

// adkRunner makes an agent and its runner, which appends each event to the session.
func adkRunner(b *testing.B, w work, service session.Service) ask {
	config := llmagent.Config{Name: "agent", Model: adkModel{w}}
	if w.tool {
		look, err := functiontool.New(functiontool.Config{Name: toolName, Description: toolText},
			func(_ agent.Context, args lookArgs) (map[string]string, error) {
				return map[string]string{"text": looked(args.What)}, nil
			})
		if err != nil {
			b.Fatal(err)
		}
		config.Tools = []tool.Tool{look}
	}
	root, err := llmagent.New(config)
	if err != nil {
		b.Fatal(err)
	}
	run, err := runner.New(runner.Config{AppName: "peers", Agent: root, SessionService: service, AutoCreateSession: true})
	if err != nil {
		b.Fatal(err)
	}
	return func(ctx context.Context, id string) (last string, err error) {
		events := run.Run(ctx, "user", id, genai.NewContentFromText(question, genai.RoleUser), agent.RunConfig{})
		for event, err := range events {
			if err != nil {
				return "", err
			}
			if event.Content != nil && len(event.Content.Parts) > 0 {
				last = event.Content.Parts[0].Text
			}
		}
		return last, nil
	}
}
