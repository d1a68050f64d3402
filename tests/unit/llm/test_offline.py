"""Without a language model every request is refused in one line."""

import pytest

from comind.errors import ModelServiceError
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.offline import RefusingModel


def test_no_model_refuses_every_request() -> None:
    """The error names the role, and how to configure a model."""
    messages = (Message(role="user", content="Well?"),)
    request = ModelRequest(role="evaluator", messages=messages, reply_name="Any", reply_schema={})
    model = RefusingModel()
    assert model.bound(request).tokens == 0
    with pytest.raises(ModelServiceError, match="no model is configured for evaluator") as caught:
        model.complete(request)
    assert "--model" in caught.value.hint
