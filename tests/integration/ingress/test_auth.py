"""Who may do what: scopes, agents, browser sessions, login links, revoked and wrong tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw_workers.domain.tokens import Scope
from openclaw_workers.store.tokens import Tokens
from tests.support.fleet import Fleet
from tests.support.ingress import Api, Ingress, new_token, start_ingress
from tests.support.ocw import Ocw
from tests.support.waiting import eventually


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[tuple[Fleet, Ingress]]:
    """An ingress of its own, because it locks addresses out and counts requests."""
    with Fleet(tmp_path / "fleet", {"gateway": {"limits": {"requestsPerMinute": 20}}}) as fleet:
        yield fleet, start_ingress(fleet)


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer nonsense"}, {"Authorization": "Basic eDp5"}])
def test_without_a_token_nothing_is_shown(ingress: Ingress, headers: dict[str, str]) -> None:
    client = Api(ingress.url, headers=headers)
    for method, path in (("GET", "/api/v1/sessions"), ("POST", "/api/v1/send"), ("GET", "/api/v1/events")):
        answer = client.http.request(method, path)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.json()["error"]["code"] == "unauthorized"
    assert client.status("GET", "/healthz") == 200


@pytest.mark.parametrize(
    ("method", "path", "needed"),
    [
        ("GET", "/api/v1/sessions", Scope.READ),
        ("POST", "/api/v1/send", Scope.CHAT),
        ("PATCH", "/api/v1/sessions/main", Scope.CHAT),
        ("POST", "/api/v1/runs/run-1/stop", Scope.CHAT),
        ("DELETE", "/api/v1/sessions/main", Scope.ADMIN),
        ("GET", "/api/v1/config", Scope.ADMIN),
        ("GET", "/api/v1/damaged", Scope.ADMIN),
        ("GET", "/api/v1/channels", Scope.READ),
        ("GET", "/api/v1/channels/telegram", Scope.ADMIN),
        ("GET", "/api/v1/tokens", Scope.ADMIN),
        ("POST", "/api/v1/tokens/none/link", Scope.ADMIN),
    ],
)
def test_a_scope_includes_those_before_it(
    fleet: Fleet, ingress: Ingress, method: str, path: str, needed: Scope
) -> None:
    for scope in Scope:
        client = Api(ingress.url, new_token(fleet, scope))
        is_refused = client.status(method, path) == 403
        assert is_refused == (not scope.covers(needed))


def test_a_chat_token_may_not_set_what_needs_an_owner(api: Api, chat: Api) -> None:
    api.send("hello", sessionKey="owner", wait="reply")
    assert chat.status("PATCH", "/api/v1/sessions/owner", json={"sendPolicy": "deny"}) == 400
    assert chat.status("PATCH", "/api/v1/sessions/owner", json={"label": "ours"}) == 200


def test_a_token_of_an_agent_sees_that_agent_only(fleet: Fleet, ingress: Ingress, api: Api) -> None:
    mine = api.send("hello", agentId="main", sessionKey="agent:main:private", wait="reply")
    work = Api(ingress.url, new_token(fleet, Scope.ADMIN, agent="work"))
    own = work.send("hello", wait="reply")

    assert own["sessionKey"] == "agent:work:main"
    assert {each["agentId"] for each in work.get("/sessions")["sessions"]} == {"work"}
    assert {each["agentId"] for each in work.get("/runs")["runs"]} == {"work"}
    assert {each["agentId"] for each in work.get("/trees")["trees"]} == {"work"}
    assert [each["agentId"] for each in work.get("/agents")["agents"]] == ["work"]
    hidden = [
        "/sessions/agent:main:private",
        "/sessions/agent:main:private/history",
        "/sessions/agent:main:private/events",
        "/sessions/agent:main:private/queue",
        "/sessions/resolve?key=agent:main:private",
        f"/runs/{mine['runId']}",
        f"/runs/{mine['runId']}/journal",
        f"/tree/{mine['runId']}",
        "/tree/agent:main:private",
        "/runs?sessionKey=agent:main:private",
        "/trees?sessionKey=agent:main:private",
        "/session-trees?key=agent:main:private",
        "/agents/main/prompt",
    ]
    for path in hidden:
        assert work.status("GET", f"/api/v1{path}") == 404, path
    assert work.status("DELETE", "/api/v1/sessions/agent:main:private") == 404
    assert work.status("POST", f"/api/v1/runs/{mine['runId']}/stop") == 404
    assert work.status("POST", "/api/v1/send", json={"text": "x", "sessionKey": "agent:main:private"}) == 403
    assert work.status("POST", "/api/v1/send", json={"text": "x", "agentId": "main"}) == 403
    for method, path in (("GET", "/tokens"), ("POST", "/tokens"), ("DELETE", "/tokens/0"), ("POST", "/tokens/0/link")):
        assert work.status(method, f"/api/v1{path}") == 403, "it would make one for all agents"


def test_a_browser_logs_in_by_token_and_out(fleet: Fleet, ingress: Ingress, stranger: Api) -> None:
    page = Api(ingress.url, headers={"Origin": ingress.url})
    answer = page.http.post("/auth/login", json={"token": new_token(fleet, Scope.CHAT)})

    cookie = answer.headers["set-cookie"].lower()
    assert answer.status_code == 200
    assert all(part in cookie for part in ("ocw_session=", "httponly", "samesite=strict", "path=/"))
    assert page.get("/me")["scope"] == "chat"
    sent = page.send("hello", sessionKey="browser", wait="reply")
    assert fleet.stores.reader.row(sent["sessionKey"])["lastChannel"] == "web"
    kept = "; ".join(f"{name}={value}" for name, value in page.http.cookies.items())
    assert page.status("POST", "/auth/logout") == 200
    assert stranger.status("GET", "/api/v1/me", headers={"Cookie": kept}) == 401
    assert page.status("POST", "/auth/login", json={"token": "ocw_000000000000_" + "a" * 43}) == 401
    assert page.status("POST", "/auth/login", content=b"{") == 422


def test_a_login_link_works_once(fleet: Fleet, ingress: Ingress, ocw: Ocw) -> None:
    token = new_token(fleet, Scope.READ)
    link = ocw("tokens", "link", token.split("_")[1], "--json").json["url"]
    first, second = Api(ingress.url), Api(ingress.url)

    answer = first.http.get(link)
    assert answer.headers["refresh"] == "0; url=/"
    assert first.get("/me")["scope"] == "read"
    assert second.http.get(link).status_code == 401
    assert second.status("GET", "/api/v1/me") == 401


def test_a_request_with_a_cookie_needs_the_origin_of_our_page(fleet: Fleet, ingress: Ingress) -> None:
    page = Api(ingress.url, headers={"Origin": ingress.url})
    page.http.post("/auth/login", json={"token": new_token(fleet, Scope.ADMIN)})
    bare = Api(ingress.url)
    bare.http.cookies = page.http.cookies

    def status(**headers: str) -> int:
        return bare.status("POST", "/api/v1/sessions/nothing/reset", headers=headers)

    assert status() == 403
    assert status(Origin="http://evil.example") == 403
    assert status(Origin="null") == 403
    assert status(**{"Sec-Fetch-Site": "same-site"}) == 403
    assert status(Origin=ingress.url) == 404
    assert status(**{"Sec-Fetch-Site": "same-origin"}) == 404


def test_a_revoked_token_ends_within_seconds_with_its_browser_sessions(
    fleet: Fleet, ingress: Ingress, ocw: Ocw
) -> None:
    token = new_token(fleet, Scope.READ)
    program, page = Api(ingress.url, token), Api(ingress.url, headers={"Origin": ingress.url})
    page.http.post("/auth/login", json={"token": token})
    assert program.get("/me") == page.get("/me")

    assert ocw("tokens", "revoke", token.split("_")[1]).code == 0

    eventually(lambda: program.status("GET", "/api/v1/me") == 401, within=10)
    eventually(lambda: page.status("GET", "/api/v1/me") == 401, within=10)


def test_tokens_are_made_and_listed_without_their_secrets(fleet: Fleet, ingress: Ingress, ocw: Ocw) -> None:
    made = ocw("tokens", "create", "--scope", "chat", "--name", "laptop", "--agent", "work", "--json").json
    client = Api(ingress.url, made["token"])
    assert client.get("/me")["agent"] == "work"
    listed = {each["id"]: each for each in ocw("tokens", "list", "--json").json["tokens"]}
    assert (listed[made["id"]]["name"], listed[made["id"]]["scope"]) == ("laptop", "chat")
    assert listed[made["id"]]["usedAt"]
    secret = made["token"].rpartition("_")[2]
    assert all(secret not in str(value) for value in fleet.stores.redis.hvals(fleet.stores.keys.tokens))
    assert ocw("tokens", "revoke", "nothing").code == 5
    assert ocw("tokens", "create", "--person", "nobody").code == 2


def test_wrong_tokens_lock_an_address_out_but_not_who_was_there_before(strict: tuple[Fleet, Ingress]) -> None:
    fleet, ingress = strict
    known = Api(ingress.url, new_token(fleet, Scope.READ))
    assert known.status("GET", "/api/v1/me") == 200
    guesses = [Api(ingress.url, f"ocw_{number:012x}_" + "a" * 43) for number in range(15)]
    statuses = [guess.status("GET", "/api/v1/me") for guess in guesses]
    fresh = Api(ingress.url, new_token(fleet, Scope.READ))

    assert statuses[0] == 401
    assert statuses[-1] == 429
    assert fresh.error("GET", "/api/v1/me") == (429, "rate_limited"), "a new token has to wait too"
    assert fresh.status("POST", "/auth/login", json={"token": "x"}) == 429
    assert known.status("GET", "/api/v1/me") == 200


def test_a_token_may_make_so_many_requests_a_minute(strict: tuple[Fleet, Ingress]) -> None:
    fleet, ingress = strict
    busy, calm = (Api(ingress.url, new_token(fleet, Scope.READ)) for _ in range(2))
    answers = [busy.http.get("/api/v1/me") for _ in range(25)]

    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert calm.status("GET", "/api/v1/me") == 200


def test_without_authentication_everybody_on_this_machine_is_the_owner(tmp_path: Path) -> None:
    with Fleet(tmp_path / "fleet", {"gateway": {"auth": "none"}}) as fleet:
        client = Api(start_ingress(fleet).url)
        assert client.get("/me") == {
            "ok": True,
            "tokenId": None,
            "scope": "admin",
            "agent": None,
            "person": None,
            "authority": "owner",
        }
        assert client.send("hello")["accepted"]
        assert client.status("GET", "/api/v1/me", headers={"Origin": "http://evil.example"}) == 403


def test_an_open_ingress_is_refused_outside_of_loopback(fleet: Fleet, ocw: Ocw, tmp_path: Path) -> None:
    config = tmp_path / "open.yaml"
    config.write_text("gateway: {auth: none, bind: lan}\n")
    assert ocw("--config", str(config), "ingress").code == 3
    config.write_text("gateway: {auth: none}\n")
    assert ocw("--config", str(config), "ingress", "--bind", "lan").code == 2


def test_a_damaged_token_record_is_no_token(fleet: Fleet, ingress: Ingress) -> None:
    token = new_token(fleet, Scope.ADMIN)
    fleet.stores.redis.hset(fleet.stores.keys.tokens, token.split("_")[1], "{half")
    assert Api(ingress.url, token).status("GET", "/api/v1/me") == 401
    assert all(each.id != token.split("_")[1] for each, _ in Tokens(fleet.stores.redis, fleet.stores.keys).all())


def test_a_token_bound_to_a_person_has_their_authority(tmp_path: Path) -> None:
    telegram = {"botToken": "1:x", "owners": ["1"], "dmPolicy": "allowlist", "allowFrom": ["2"], "enabled": False}
    config = {"channels": {"telegram": telegram}, "session": {"dmScope": "per-peer"}}
    with Fleet(tmp_path / "fleet", config) as fleet:
        ingress = start_ingress(fleet)
        owner, guest, nobody = (
            Api(ingress.url, new_token(fleet, Scope.CHAT, person=f"telegram:{number}")) for number in (1, 2, 3)
        )
        reported = [
            (each["scope"], each["authority"]) for each in (client.get("/me") for client in (owner, guest, nobody))
        ]
        sent = guest.send("hello")

        assert reported == [("chat", "owner"), ("chat", "authorized"), ("read", "anyone")]
        assert sent["sessionKey"] == "agent:main:dm:2"
        assert (
            owner.status("POST", "/api/v1/send", json={"text": "/queue collect", "sessionKey": "agent:main:dm:2"})
            == 200
        )
        assert guest.status("POST", "/api/v1/send", json={"text": "/queue collect"}) == 400
        assert nobody.status("POST", "/api/v1/send", json={"text": "hello"}) == 403
