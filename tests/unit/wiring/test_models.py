"""Settings, endpoint and context window of a role's model."""

import pytest

from comind.campaign.agent import Role
from comind.errors import ModelServiceError, UsageError
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.settings import ModelSettings
from comind.wiring.models import (
    build_embedder,
    build_model,
    context_warnings,
    is_offline,
    resolve_settings,
    settings_for,
    uses_recordings,
)
from tests.doubles.endpoint import Endpoint

_ROLES = {"analyzer": Role("reads"), "coding_agent": Role("codes")}
_ASKED = ModelRequest(
    role="x", messages=(Message(role="user", content="Well?"),), reply_name="Any", reply_schema={}
)


def test_roles_take_from_the_default_what_they_leave_open() -> None:
    """A role inherits the default's settings, unless it names another model."""
    models = {
        "default": ModelSettings(temperature=0.7, context_tokens=16_000, stream=False),
        "analyzer": ModelSettings(temperature=0.1, stream=True),
        "monitor": ModelSettings(name="small", context_tokens=4_000),
    }
    found = resolve_settings("large", models, _ROLES)
    assert found["default"].name == "large"
    assert (found["analyzer"].temperature, found["analyzer"].context_tokens) == (0.1, 16_000)
    assert found["analyzer"].stream, "what is said counts, though it is what would be assumed"
    assert (found["monitor"].name, found["monitor"].temperature) == ("small", None)
    assert settings_for("analyzer", found, "large") == found["analyzer"]
    assert settings_for("monitor", found, "large") == found["monitor"]
    assert settings_for("coding_agent", found, "large") == found["default"]
    assert settings_for("anything", {}, "large").name == "large"


def test_an_unknown_role_is_told_with_the_known_ones() -> None:
    """An unknown role is an error with the list of roles."""
    with pytest.raises(UsageError, match="no role 'analyser'") as caught:
        resolve_settings("m", {"analyser": ModelSettings()}, _ROLES)
    assert "analyzer" in caught.value.hint


def test_settings_of_another_default_are_not_taken_over() -> None:
    """Settings of a model in params.yaml do not apply to another one of the command line."""
    models = {"default": ModelSettings(name="one", context_tokens=2_000)}
    assert resolve_settings("two", models, _ROLES)["default"].context_tokens is None
    assert resolve_settings("one", models, _ROLES)["default"].context_tokens == 2_000


@pytest.mark.parametrize(
    ("listed", "context"),
    [
        ({"max_model_len": 4_096}, 4_096),
        ({"meta": {"n_ctx": 8_192}}, 8_192),
        ({"loaded_context_length": 4_096, "max_context_length": 32_768}, 4_096),
        ({"top_provider": {"context_length": 65_536}}, 65_536),
        ({"limits": {"max_input_tokens": 100_000}}, 100_000),
        ({"meta": 3}, None),
        ({"context_length": -1}, None),
    ],
)
def test_an_endpoint_says_how_much_its_model_reads(
    listed: dict[str, object], context: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The context window comes from params.yaml, else the endpoint's list, else the price list."""
    with Endpoint(lambda asked: "", models=[{"id": "mine", **listed}]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert resolve_settings("mine", {}, _ROLES)["default"].context_tokens == context
        assert resolve_settings("gpt-4o-mini", {}, _ROLES)["default"].context_tokens == 128_000


@pytest.mark.parametrize(
    ("path", "page", "context"),
    [
        (
            "/api/v0/models",
            {"data": [{"id": "other"}, {"id": "mine", "max_context_length": 4_096}]},
            4_096,
        ),
        ("/props", {"default_generation_settings": {"n_ctx": 16_384}, "total_slots": 1}, 16_384),
        ("/props", {"detail": "Not Found"}, None),
        ("/props", [], None),
    ],
)
def test_servers_that_say_it_beside_their_list_are_asked_there(
    path: str, page: object, context: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LM Studio and llama.cpp report the context window on other pages than the list of models."""
    with Endpoint(lambda asked: "", models=[{"id": "mine"}], pages={path: page}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert resolve_settings("mine", {}, _ROLES)["default"].context_tokens == context


def test_an_assumed_context_is_said_once_for_each_model() -> None:
    """Each model with an unknown context window has one warning with the assumed value and its key."""
    models = {
        "default": ModelSettings(name="mine"),
        "analyzer": ModelSettings(name="mine", temperature=0.1),
        "coding_agent": ModelSettings(name="large", context_tokens=128_000),
        "monitor": ModelSettings(name="small"),
        "evaluator": ModelSettings(name="offline"),
        "embeddings": ModelSettings(name="e"),
    }
    first, second = context_warnings(models)
    assert "context window of the model mine is not known: 32768 tokens are assumed" in first
    assert "solve.models.default.context_tokens" in first
    assert "solve.models.monitor.context_tokens" in second
    assert context_warnings(resolve_settings("offline", {}, _ROLES)) == []


def test_a_model_may_have_an_endpoint_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Base URL and the variable of the key are settings; the key itself never is."""
    monkeypatch.setenv("OTHER_KEY", "sk-other")
    with Endpoint(lambda asked: "{}") as server:
        settings = ModelSettings(base_url=server.url, key_variable="OTHER_KEY")
        build_model("m", settings).complete(_ASKED)
        assert [asked.key for asked in server.requests] == ["sk-other"]
    assert "sk-other" not in settings.model_dump_json()
    with pytest.raises(ModelServiceError, match="no endpoint") as caught:
        build_model("m", ModelSettings(key_variable="A_KEY"))
    assert "set A_KEY" in caught.value.hint


def test_one_role_with_a_language_model_is_enough() -> None:
    """A campaign is offline only if no role has a model."""
    other = {"coding_agent": ModelSettings(name="large")}
    assert is_offline("offline", resolve_settings("offline", {}, _ROLES))
    assert is_offline("offline", {})
    assert not is_offline("offline", resolve_settings("offline", other, _ROLES))
    assert not is_offline("large", {})


def test_embeddings_have_a_model_only_where_one_is_named() -> None:
    """An embedder is built only if its model is named; the campaign's model is never used."""
    for said in ({}, {"embeddings": ModelSettings(temperature=0.1)}):
        found = resolve_settings(
            "large", {"default": ModelSettings(base_url="http://a/v1"), **said}, _ROLES
        )
        assert "embeddings" not in found
        assert build_embedder(found) is None
    assert build_embedder({"embeddings": ModelSettings(name="offline")}) is None


@pytest.mark.parametrize(
    ("said", "base_url", "key_variable"),
    [
        ({}, "http://a/v1", "A_KEY"),
        ({"key_variable": "B_KEY"}, "http://a/v1", "B_KEY"),
        ({"base_url": "http://b/v1"}, "http://b/v1", "OPENAI_API_KEY"),
    ],
)
def test_embeddings_share_the_endpoint_of_the_default_alone(
    said: dict[str, str], base_url: str, key_variable: str
) -> None:
    """Embeddings inherit endpoint and key from the default, unless they name an endpoint."""
    default = ModelSettings(
        base_url="http://a/v1", key_variable="A_KEY", temperature=0.7, context_tokens=2_000
    )
    models = {"default": default, "embeddings": ModelSettings.model_validate({"name": "e", **said})}
    found = resolve_settings("large", models, _ROLES)["embeddings"]
    wanted = ModelSettings(name="e", base_url=base_url, key_variable=key_variable)
    assert found == wanted


def test_an_embedder_asks_the_endpoint_of_its_role(monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedder uses endpoint and key of its settings; without an endpoint it is an error."""
    monkeypatch.setenv("OTHER_KEY", "sk-other")
    with Endpoint(lambda asked: "") as server:
        settings = ModelSettings(name="e", base_url=server.url, key_variable="OTHER_KEY")
        embedder = build_embedder({"embeddings": settings})
        assert embedder is not None
        embedder.embed(["one", "two"])
        assert [(asked.path, asked.key) for asked in server.requests] == [("/v1/embeddings", "sk-other")]
    with pytest.raises(ModelServiceError, match="no endpoint for the model e"):
        build_embedder({"embeddings": ModelSettings(name="e", key_variable="A_KEY")})


def test_embeddings_write_no_code() -> None:
    """A campaign whose only model is for embeddings is offline."""
    found = resolve_settings("offline", {"embeddings": ModelSettings(name="e")}, _ROLES)
    assert found["embeddings"].name == "e"
    assert is_offline("offline", found)


def test_recorded_replies_are_a_model() -> None:
    """A demo's recording is a model under its full name, without requests to an endpoint."""
    name = "recorded:demo-mosaic"
    model = build_model(name)
    assert model.name == name
    found = resolve_settings(name, {}, _ROLES)
    assert uses_recordings(found)
    assert context_warnings(found) == []
    assert not is_offline(name, found)
    assert not uses_recordings(resolve_settings("large", {}, _ROLES))


def test_an_unknown_recording_is_told_with_the_known_ones() -> None:
    """A demo without a recording is an error of one line."""
    with pytest.raises(UsageError, match="recorded:demo-tumours: there is no such recording") as caught:
        build_model("recorded:demo-tumours")
    assert "recorded:demo-mosaic" in caught.value.hint
