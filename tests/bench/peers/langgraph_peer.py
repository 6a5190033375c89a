"""Measures mocked turns of LangGraph, and prints them as go test prints benchmarks."""

import sys
import time
import warnings

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

warnings.simplefilter("ignore")  # of the move of create_react_agent
from langgraph.prebuilt import create_react_agent  # noqa: E402

QUESTION = "What is the cheapest source of energy?"
ANSWER = "The sun costs little, and shines for all."


class Model(BaseChatModel):
    """Answers at once, or calls the tool first."""

    tool: bool

    @property
    def _llm_type(self):
        return "mock"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        message = AIMessage(content=ANSWER)
        if self.tool and not isinstance(messages[-1], ToolMessage):
            message = AIMessage(content="", tool_calls=[{"id": "1", "name": "look", "args": {"what": "the sun"}}])
        message.usage_metadata = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
        return ChatResult(generations=[ChatGeneration(message=message)])


@tool
def look(what: str) -> str:
    """Looks something up."""
    return what + " is there"


def measure(name, uses_tool, turns, seconds):
    agent = create_react_agent(Model(tool=uses_tool), [look] if uses_tool else [], checkpointer=InMemorySaver())
    n, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        n += 1
        for _ in range(turns):
            state = agent.invoke({"messages": [HumanMessage(QUESTION)]}, {"configurable": {"thread_id": f"session-{n}"}})
            assert state["messages"][-1].content == ANSWER
    took = time.perf_counter() - began
    print(f"BenchmarkPeers/{name}/langgraph {n} {took / n * 1e9:.0f} ns/op", flush=True)


if __name__ == "__main__":
    each = float(sys.argv[1])
    measure("turn", False, 1, each)
    measure("tool", True, 1, each)
    measure("session", False, 25, each)
