"""Reply types and requests of the tests of models."""

import json

from pydantic import BaseModel, Field

from comind.llm.model_ports import Message, ModelRequest


class Step(BaseModel):
    goal: str
    code: str = Field(json_schema_extra={"format": "python"}, default="")


class Verdict(BaseModel):
    stop: bool


PROMPT = ModelRequest(
    role="monitor",
    messages=(
        Message(role="system", content="You watch."),
        Message(role="user", content="Is it stuck?"),
    ),
    max_tokens=50,
    temperature=0.2,
)
STOP = json.dumps({"stop": True})
