"""Tokens with a known prefix: one row for each, as data.

Responsible for the prefix, alphabet and length of each service's tokens. Leaves searching to
``engine``. These are facts that the services publish, and that scanners such as gitleaks,
detect-secrets and trufflehog collect.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Token(NamedTuple):
    """A kind of token."""

    kind: str
    begins: str  # searched literally
    rest: str  # the pattern after the prefix
    after: str = r"[A-Za-z0-9_]"  # the pattern that must not follow the token


def n(characters: str, least: int, most: int | None = None) -> str:
    """``least`` to ``most`` of these characters; without ``most``, exactly ``least``."""
    return f"[{characters}]{{{least}}}" if most is None else f"[{characters}]{{{least},{most}}}"


def many(characters: str, least: int) -> str:
    """At least ``least`` of these characters, and all that follow."""
    return f"[{characters}]{{{least},}}+"


AN: Final = "A-Za-z0-9"
W: Final = r"A-Za-z0-9_\-"
B64: Final = "A-Za-z0-9+/"
HEX: Final = "0-9a-f"
HEXES: Final = "0-9a-fA-F"
CAPS: Final = "A-Z0-9"
SMALL: Final = "a-z0-9"
# What must not follow a token in which its prefix may stand again: were there anything, a run of
# prefixes would be read to its end from each of them.
NOTHING: Final = "(?!)"
UUID: Final = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def _each(kind: str, beginnings: str, rest: str, after: str = r"[A-Za-z0-9_]") -> tuple[Token, ...]:
    """The same row for several prefixes."""
    return tuple(Token(kind, begins, rest, after) for begins in beginnings.split())


TOKENS: Final[tuple[Token, ...]] = (
    *_each("aws-access-key", "AKIA ASIA ABIA ACCA", n(CAPS, 16)),
    Token("aws-bedrock-key", "ABSK", many(B64, 100) + "=*", NOTHING),
    *_each("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", n(AN, 36, 255)),
    Token("github-token", "github_pat_", n("A-Za-z0-9_", 40, 255)),
    *_each(
        "gitlab-token",
        "glpat- glptt- gldt- glrt- glcbt- glagent- glsoat- glffct- glft- glimt- gloas- GR1348941",
        many(W + ".", 20),
    ),
    Token(
        "slack-token",
        "xox",
        r"[abceoprs](?:\.xox[bp])?-(?=[a-z-]{0,80}+\d)[A-Za-z0-9-]{10,}+",
        NOTHING,
    ),
    Token("slack-token", "xoxd-", many(W + "%", 20)),
    Token("slack-token", "xapp-", r"\d-[A-Za-z0-9-]{20,}+", NOTHING),
    Token("slack-webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/-]{20,}+"),
    *_each(
        "stripe-key",
        "sk_live_ sk_test_ rk_live_ rk_test_ sk_org_live_ sk_org_test_ sk_prod_",
        many(AN, 16),
    ),
    Token("stripe-key", "whsec_", many(B64, 24) + "=*"),
    Token("anthropic-key", "sk-ant-", many(W, 24)),
    Token("openai-key", "sk-", rf"(?:proj|svcacct|admin|or-v1|None)-{many(W, 20)}"),
    Token("openai-key", "sk-", many(AN, 32)),
    Token("openai-key", "sess-", n(AN, 40), W),
    Token("google-api-key", "AIza", n(W, 35), f"[{W}]"),
    Token("google-token", "ya29.", many(W, 20)),
    Token("google-token", "GOCSPX-", n(W, 28), f"[{W}]"),
    Token("google-token", "1//0", many(W, 38)),
    Token("firebase-key", "AAAA", rf"{n(W, 7)}:{many(W, 130)}"),
    Token("npm-token", "npm_", n(AN, 36)),
    Token("pypi-token", "pypi-", many(W, 50)),
    Token("rubygems-key", "rubygems_", n(HEX, 48)),
    Token("cargo-token", "cio", n(AN, 32)),
    Token("nuget-key", "oy2", n(SMALL, 43)),
    Token("clojars-token", "CLOJARS_", n(SMALL, 60)),
    Token("sendgrid-key", "SG.", rf"{n(W, 22)}\.{n(W, 43)}", f"[{W}]"),
    Token("sendinblue-key", "xkeysib-", rf"{n(HEX, 64)}-{n(AN, 16)}"),
    Token("twilio-key", "SK", n(HEX, 32)),
    Token("mailgun-key", "key-", n(HEX, 32)),
    Token("digitalocean-token", "do", rf"[opr]_v1_{n(HEX, 64)}"),
    Token("huggingface-token", "hf_", many(AN, 34)),
    Token("huggingface-token", "api_org_", n("A-Za-z", 34)),
    Token("databricks-token", "dapi", rf"{n(HEX, 32)}(?:-\d)?"),
    Token("shopify-token", "shp", rf"(?:at|ca|pa|ss|ua)_{n(HEXES, 32)}"),
    Token("linear-key", "lin_api_", many(AN, 32)),
    Token("linear-key", "lin_oauth_", many(AN, 32)),
    Token("notion-token", "ntn_", many(AN, 40)),
    Token("notion-token", "secret_", n(AN, 43)),
    *_each("vault-token", "hvs. hvb. hvr.", many(W, 24)),
    Token("vault-token", "s.", n(AN, 24), f"[{W}.]"),
    Token(
        "doppler-token",
        "dp.",
        rf"(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{n(AN, 40, 44)}",
    ),
    Token("atlassian-token", "ATATT3", many(W + "=", 60)),
    Token("atlassian-token", "ATCTT3", many(W + "=", 60)),
    Token("bitbucket-token", "ATBB", n(AN, 24, 40)),
    Token("age-key", "AGE-SECRET-KEY-1", n(CAPS, 58)),
    Token("age-key", "AGE-PLUGIN-", rf"[A-Z0-9-]{{1,40}}-1{many(CAPS, 30)}"),
    Token("groq-key", "gsk_", many(AN, 40)),
    Token("xai-key", "xai-", many(AN, 60)),
    Token("perplexity-key", "pplx-", many(AN, 40)),
    Token("replicate-token", "r8_", n(AN, 37)),
    Token("fireworks-key", "fw_", n(AN, 22, 40)),
    Token("elevenlabs-key", "sk_", n(HEX, 48)),
    Token("langsmith-key", "lsv2_", rf"(?:pt|sk)_{n(HEX, 32)}_{n(HEX, 10)}"),
    Token("langfuse-key", "sk-lf-", UUID),
    Token("pinecone-key", "pcsk_", many(AN + "_", 40)),
    Token("tavily-key", "tvly-", many(W, 20)),
    Token("cerebras-key", "csk-", many(AN, 40)),
    Token("nvidia-key", "nvapi-", many(W, 40)),
    Token("docker-token", "dckr_", rf"(?:pat|oat)_{many(W, 27)}"),
    Token("newrelic-key", "NR", rf"(?:AK|JS|RA|AL|II|IQ|SP)-{many(AN, 19)}"),
    Token("grafana-token", "glsa_", rf"{n(AN, 32)}_{n(HEXES, 8)}"),
    Token("grafana-token", "glc_", many(B64, 32) + "=*"),
    Token("grafana-token", "eyJrIjoi", many(AN, 60) + "=*"),
    Token("sentry-token", "sntry", rf"[su]_{many(B64 + '=_', 40)}"),
    Token("planetscale-token", "pscale_", r"(?:tkn|pw|oauth|api)_[\w.=-]{32,}+"),
    Token("supabase-key", "sbp_", n(HEX, 40)),
    Token("supabase-key", "sb_secret_", many(W, 20)),
    Token("neon-key", "napi_", many(AN, 40)),
    Token("neon-password", "npg_", n(AN, 12, 40)),
    Token("aiven-token", "AVNS_", many(W, 16)),
    Token("clickhouse-key", "4b1d", n(AN, 38)),
    Token("discord-webhook", "discord.com/api/webhooks/", rf"\d{{17,20}}/{many(W, 60)}"),
    Token("discord-webhook", "discordapp.com/api/webhooks/", rf"\d{{17,20}}/{many(W, 60)}"),
    Token("teams-webhook", "webhook.office.com/webhookb2/", r"[\w@/-]{60,}+"),
    Token("node-key", "infura.io/v3/", n(HEX, 32)),
    Token("node-key", "alchemy.com/v2/", n(W, 20, 48), f"[{W}]"),
    Token("node-key", "quiknode.pro/", n(HEX, 40)),
    Token("recollect-token", "rct_", n(W, 43), f"[{W}]"),
    Token("heroku-key", "HRKU-", many(W, 36)),
    Token("figma-token", "fig", rf"(?:d|o|oh|dr)_{many(W, 36)}"),
    Token("airtable-token", "pat", rf"{n(AN, 14)}\.{n(HEX, 64)}"),
    Token("asana-token", "1/", rf"\d{{13,20}}:{n(HEX, 32)}"),
    Token("asana-token", "2/", rf"\d{{13,20}}/\d{{13,20}}:{n(HEX, 32)}"),
    Token("postman-key", "PMAK-", rf"{n(HEX, 24)}-{n(HEX, 34)}"),
    Token("postman-key", "PMAT-", n(CAPS, 26)),
    Token("fly-token", "fo1_", n(W, 43), f"[{W}]"),
    *_each("fly-token", "fm1r_ fm1a_ fm2_", many(B64 + "=,_", 60)),
    Token("netlify-token", "nfp_", n(AN, 36, 40)),
    Token("netlify-token", "nf", rf"[cou]_{n(AN, 36, 40)}"),
    Token("render-key", "rnd_", n(AN, 24, 40)),
    *_each("vercel-token", "vcp_ vci_ vca_ vcr_ vck_ vercel_blob_rw_", many(AN + "_", 24)),
    Token("circleci-token", "CCI", rf"(?:PAT|PRJ)_{n(AN, 20, 24)}_{n(HEX, 40)}"),
    Token("buildkite-token", "bk", rf"(?:ua|at|aj|ct|pt)_{many(AN, 36)}"),
    Token("1password-token", "ops_eyJ", many(B64 + r"_\-", 60) + "=*"),
    Token(
        "1password-key",
        "A3-",
        r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    ),
    Token("square-token", "EAAA", n(W, 56, 64), f"[{W}]"),
    Token("square-token", "sq0", rf"(?:atp|csp|idp)-{many(W, 22)}"),
    Token("paypal-token", "access_token$", rf"(?:production|sandbox)\${n(AN, 16)}\${n(HEX, 32)}"),
    Token("facebook-token", "EAA", many(AN, 90)),
    Token("twitter-token", "AAAAAAAAAAAAAAAAAAAAA", many(AN + "%", 40), NOTHING),
    Token("instagram-token", "IG", rf"(?:QV|AA){many(AN, 80)}"),
    Token("tailscale-key", "tskey-", rf"[a-z]{{2,10}}-{n(AN, 8, 20)}(?:-{many(AN, 20)})?"),
    Token("pulumi-token", "pul-", n(HEX, 40)),
    Token("dynatrace-token", "dt0", rf"[a-z]\d\d\.{n(CAPS + 'a-z', 8, 24)}\.{n(CAPS + 'a-z', 64)}"),
    Token("okta-token", "SSWS ", many(W, 36)),
    Token("pagerduty-key", "u+", n(W, 18), f"[{W}]"),
    Token("adobe-secret", "p8e-", n(AN, 32)),
    Token("alibaba-key", "LTAI", n(AN, 12, 24)),
    Token("tencent-key", "AKID", n(AN, 32)),
    Token("artifactory-key", "AKCp", n(AN, 60, 75)),
    Token("artifactory-token", "cmVmd", n(AN, 59)),
    *_each("easypost-key", "EZAK EZTK", n(AN, 54)),
    Token("duffel-token", "duffel_", rf"(?:test|live)_{n(W + '=', 43)}"),
    *_each("shippo-token", "shippo_live_ shippo_test_", n(HEXES, 40)),
    *_each("flutterwave-key", "FLWSECK_TEST- FLWSECK-", many(SMALL, 12) + "(?:-X)?"),
    Token("razorpay-key", "rzp_", rf"(?:live|test)_{n(AN, 14)}"),
    Token("plaid-token", "access-", rf"(?:sandbox|development|production)-{UUID}"),
    Token("frameio-token", "fio-u-", n(W + "=", 64), f"[{W}]"),
    Token("infracost-key", "ico-", n(AN, 32)),
    Token("intra42-secret", "s-s4t2", rf"(?:ud|af)-{n(HEX, 64)}"),
    Token("openshift-token", "sha256~", n(W, 43), f"[{W}]"),
    Token("prefect-token", "pn", rf"[ub]_{n(AN, 36)}"),
    Token("readme-key", "rdme_", n(SMALL, 70)),
    Token("scalingo-token", "tk-us-", n(W, 48), f"[{W}]"),
    Token("harness-key", "pat.", rf"{n(W, 22)}\.{n(AN, 24)}\.{n(AN, 20)}"),
    Token("harness-key", "sat.", rf"{n(W, 22)}\.{n(AN, 24)}\.{n(AN, 20)}"),
    *_each("settlemint-token", "sm_aat_ sm_pat_ sm_sat_", n(AN, 16)),
    *_each("sourcegraph-token", "sgp_ slk_", rf"(?:(?:[0-9a-f]{{16}}|local)_)?{n(HEX, 40, 64)}"),
    Token("octopus-key", "API-", n(CAPS, 26, 32)),
    Token("sonar-token", "sq", rf"[upa]_{n(HEX, 40)}"),
    Token("hubspot-token", "pat-", rf"(?:na|eu)\d-{UUID}"),
    Token("cloudflare-key", "v1.0-", rf"{n(HEX, 24)}-{n(HEX, 146)}"),
    Token("mapbox-token", "sk.eyJ", rf"{many(W, 40)}\.{many(W, 16)}"),
    Token("launchdarkly-key", "sdk-", UUID),
    Token("launchdarkly-key", "api-", UUID),
    Token("contentful-token", "CFPAT-", n(W, 43), f"[{W}]"),
    Token("typeform-token", "tfp_", many(W + ".", 40)),
    Token("dropbox-token", "sl.", many(W, 100)),
    Token("firecrawl-key", "fc-", n(HEX, 32)),
    Token("jina-key", "jina_", many(AN, 50)),
    Token("deno-token", "ddp_", n(AN, 36)),
    Token("deno-token", "ddo_", n(AN, 36)),
    Token("rootly-token", "rootly_", n(HEX, 64)),
    Token("convex-key", "prod:", rf"[a-z]+-[a-z]+-\d+\|{many(B64, 40)}=*"),
    Token("resend-key", "re_", rf"{n(AN, 8, 10)}_{n(AN, 20, 28)}"),
    # Password hashes, which allow guessing the password offline.
    Token("password-hash", "$apr1$", rf"{n('A-Za-z0-9./', 1, 8)}\${n('A-Za-z0-9./', 22)}"),
    Token("password-hash", "$1$", rf"{n('A-Za-z0-9./', 1, 8)}\${n('A-Za-z0-9./', 22)}"),
    Token(
        "password-hash",
        "$5$",
        rf"(?:rounds=\d+\$)?{n('A-Za-z0-9./', 1, 16)}\${n('A-Za-z0-9./', 43)}",
    ),
    Token(
        "password-hash",
        "$6$",
        rf"(?:rounds=\d+\$)?{n('A-Za-z0-9./', 1, 16)}\${n('A-Za-z0-9./', 86)}",
    ),
    *_each("password-hash", "$2a$ $2b$ $2y$", rf"\d\d\${n('A-Za-z0-9./', 53)}"),
    Token("password-hash", "$y$", r"[./A-Za-z0-9]+\$[./A-Za-z0-9]{10,}+\$[./A-Za-z0-9]{43}"),
    Token(
        "password-hash",
        "$argon2",
        rf"(?:id|i|d)\$[\w=$,]{{8,60}}\$[{B64}]{{10,90}}\$[{B64}]{{20,}}+",
    ),
    Token("password-hash", "{SSHA}", many(B64, 28) + "=*"),
)
