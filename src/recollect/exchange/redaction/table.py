"""Tokens with a known prefix: one row for each, as data.

Responsible for the prefix, alphabet and length of each service's tokens. Leaves searching to
``engine``. These are facts that the services publish, and that scanners such as gitleaks,
detect-secrets and trufflehog collect.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Row(NamedTuple):
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
UUID: Final = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def _each(kind: str, beginnings: str, rest: str, after: str = r"[A-Za-z0-9_]") -> tuple[Row, ...]:
    """The same row for several prefixes."""
    return tuple(Row(kind, begins, rest, after) for begins in beginnings.split())


TOKENS: Final[tuple[Row, ...]] = (
    *_each("aws-access-key", "AKIA ASIA ABIA ACCA", n(CAPS, 16)),
    Row("aws-bedrock-key", "ABSK", many(B64, 100) + "=*"),
    *_each("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", n(AN, 36, 255)),
    Row("github-token", "github_pat_", n("A-Za-z0-9_", 40, 255)),
    *_each(
        "gitlab-token",
        "glpat- glptt- gldt- glrt- glcbt- glagent- glsoat- glffct- glft- glimt- gloas- GR1348941",
        many(W + ".", 20),
    ),
    Row("slack-token", "xox", r"[abceoprs](?:\.xox[bp])?-(?=[a-z-]*\d)[A-Za-z0-9-]{10,}+"),
    Row("slack-token", "xoxd-", many(W + "%", 20)),
    Row("slack-token", "xapp-", r"\d-[A-Za-z0-9-]{20,}+"),
    Row("slack-webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/-]{20,}+"),
    *_each(
        "stripe-key",
        "sk_live_ sk_test_ rk_live_ rk_test_ sk_org_live_ sk_org_test_ sk_prod_",
        many(AN, 16),
    ),
    Row("stripe-key", "whsec_", many(B64, 24) + "=*"),
    Row("anthropic-key", "sk-ant-", many(W, 24)),
    Row("openai-key", "sk-", rf"(?:proj|svcacct|admin|or-v1|None)-{many(W, 20)}"),
    Row("openai-key", "sk-", many(AN, 32)),
    Row("openai-key", "sess-", n(AN, 40), W),
    Row("google-api-key", "AIza", n(W, 35), f"[{W}]"),
    Row("google-token", "ya29.", many(W, 20)),
    Row("google-token", "GOCSPX-", n(W, 28), f"[{W}]"),
    Row("google-token", "1//0", many(W, 38)),
    Row("firebase-key", "AAAA", rf"{n(W, 7)}:{many(W, 130)}"),
    Row("npm-token", "npm_", n(AN, 36)),
    Row("pypi-token", "pypi-", many(W, 50)),
    Row("rubygems-key", "rubygems_", n(HEX, 48)),
    Row("cargo-token", "cio", n(AN, 32)),
    Row("nuget-key", "oy2", n(SMALL, 43)),
    Row("clojars-token", "CLOJARS_", n(SMALL, 60)),
    Row("sendgrid-key", "SG.", rf"{n(W, 22)}\.{n(W, 43)}", f"[{W}]"),
    Row("sendinblue-key", "xkeysib-", rf"{n(HEX, 64)}-{n(AN, 16)}"),
    Row("twilio-key", "SK", n(HEX, 32)),
    Row("mailgun-key", "key-", n(HEX, 32)),
    Row("digitalocean-token", "do", rf"[opr]_v1_{n(HEX, 64)}"),
    Row("huggingface-token", "hf_", many(AN, 34)),
    Row("huggingface-token", "api_org_", n("A-Za-z", 34)),
    Row("databricks-token", "dapi", rf"{n(HEX, 32)}(?:-\d)?"),
    Row("shopify-token", "shp", rf"(?:at|ca|pa|ss|ua)_{n(HEXES, 32)}"),
    Row("linear-key", "lin_api_", many(AN, 32)),
    Row("linear-key", "lin_oauth_", many(AN, 32)),
    Row("notion-token", "ntn_", many(AN, 40)),
    Row("notion-token", "secret_", n(AN, 43)),
    *_each("vault-token", "hvs. hvb. hvr.", many(W, 24)),
    Row("vault-token", "s.", n(AN, 24), f"[{W}.]"),
    Row(
        "doppler-token",
        "dp.",
        rf"(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{n(AN, 40, 44)}",
    ),
    Row("atlassian-token", "ATATT3", many(W + "=", 60)),
    Row("atlassian-token", "ATCTT3", many(W + "=", 60)),
    Row("bitbucket-token", "ATBB", n(AN, 24, 40)),
    Row("age-key", "AGE-SECRET-KEY-1", n(CAPS, 58)),
    Row("age-key", "AGE-PLUGIN-", rf"[A-Z0-9-]{{1,40}}-1{many(CAPS, 30)}"),
    Row("groq-key", "gsk_", many(AN, 40)),
    Row("xai-key", "xai-", many(AN, 60)),
    Row("perplexity-key", "pplx-", many(AN, 40)),
    Row("replicate-token", "r8_", n(AN, 37)),
    Row("fireworks-key", "fw_", n(AN, 22, 40)),
    Row("elevenlabs-key", "sk_", n(HEX, 48)),
    Row("langsmith-key", "lsv2_", rf"(?:pt|sk)_{n(HEX, 32)}_{n(HEX, 10)}"),
    Row("langfuse-key", "sk-lf-", UUID),
    Row("pinecone-key", "pcsk_", many(AN + "_", 40)),
    Row("tavily-key", "tvly-", many(W, 20)),
    Row("cerebras-key", "csk-", many(AN, 40)),
    Row("nvidia-key", "nvapi-", many(W, 40)),
    Row("docker-token", "dckr_", rf"(?:pat|oat)_{many(W, 27)}"),
    Row("newrelic-key", "NR", rf"(?:AK|JS|RA|AL|II|IQ|SP)-{many(AN, 19)}"),
    Row("grafana-token", "glsa_", rf"{n(AN, 32)}_{n(HEXES, 8)}"),
    Row("grafana-token", "glc_", many(B64, 32) + "=*"),
    Row("grafana-token", "eyJrIjoi", many(AN, 60) + "=*"),
    Row("sentry-token", "sntry", rf"[su]_{many(B64 + '=_', 40)}"),
    Row("planetscale-token", "pscale_", r"(?:tkn|pw|oauth|api)_[\w.=-]{32,}+"),
    Row("supabase-key", "sbp_", n(HEX, 40)),
    Row("supabase-key", "sb_secret_", many(W, 20)),
    Row("neon-key", "napi_", many(AN, 40)),
    Row("neon-password", "npg_", n(AN, 12, 40)),
    Row("aiven-token", "AVNS_", many(W, 16)),
    Row("clickhouse-key", "4b1d", n(AN, 38)),
    Row("discord-webhook", "discord.com/api/webhooks/", rf"\d{{17,20}}/{many(W, 60)}"),
    Row("discord-webhook", "discordapp.com/api/webhooks/", rf"\d{{17,20}}/{many(W, 60)}"),
    Row("teams-webhook", "webhook.office.com/webhookb2/", r"[\w@/-]{60,}+"),
    Row("node-key", "infura.io/v3/", n(HEX, 32)),
    Row("node-key", "alchemy.com/v2/", n(W, 20, 48), f"[{W}]"),
    Row("node-key", "quiknode.pro/", n(HEX, 40)),
    Row("recollect-token", "rct_", n(W, 43), f"[{W}]"),
    Row("heroku-key", "HRKU-", many(W, 36)),
    Row("figma-token", "fig", rf"(?:d|o|oh|dr)_{many(W, 36)}"),
    Row("airtable-token", "pat", rf"{n(AN, 14)}\.{n(HEX, 64)}"),
    Row("asana-token", "1/", rf"\d{{13,20}}:{n(HEX, 32)}"),
    Row("asana-token", "2/", rf"\d{{13,20}}/\d{{13,20}}:{n(HEX, 32)}"),
    Row("postman-key", "PMAK-", rf"{n(HEX, 24)}-{n(HEX, 34)}"),
    Row("postman-key", "PMAT-", n(CAPS, 26)),
    Row("fly-token", "fo1_", n(W, 43), f"[{W}]"),
    *_each("fly-token", "fm1r_ fm1a_ fm2_", many(B64 + "=,_", 60)),
    Row("netlify-token", "nfp_", n(AN, 36, 40)),
    Row("netlify-token", "nf", rf"[cou]_{n(AN, 36, 40)}"),
    Row("render-key", "rnd_", n(AN, 24, 40)),
    *_each("vercel-token", "vcp_ vci_ vca_ vcr_ vck_ vercel_blob_rw_", many(AN + "_", 24)),
    Row("circleci-token", "CCI", rf"(?:PAT|PRJ)_{n(AN, 20, 24)}_{n(HEX, 40)}"),
    Row("buildkite-token", "bk", rf"(?:ua|at|aj|ct|pt)_{many(AN, 36)}"),
    Row("1password-token", "ops_eyJ", many(B64 + r"_\-", 60) + "=*"),
    Row(
        "1password-key",
        "A3-",
        r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    ),
    Row("square-token", "EAAA", n(W, 56, 64), f"[{W}]"),
    Row("square-token", "sq0", rf"(?:atp|csp|idp)-{many(W, 22)}"),
    Row("paypal-token", "access_token$", rf"(?:production|sandbox)\${n(AN, 16)}\${n(HEX, 32)}"),
    Row("facebook-token", "EAA", many(AN, 90)),
    Row("twitter-token", "AAAAAAAAAAAAAAAAAAAAA", many(AN + "%", 40)),
    Row("instagram-token", "IG", rf"(?:QV|AA){many(AN, 80)}"),
    Row("tailscale-key", "tskey-", rf"[a-z]{{2,10}}-{n(AN, 8, 20)}(?:-{many(AN, 20)})?"),
    Row("pulumi-token", "pul-", n(HEX, 40)),
    Row("dynatrace-token", "dt0", rf"[a-z]\d\d\.{n(CAPS + 'a-z', 8, 24)}\.{n(CAPS + 'a-z', 64)}"),
    Row("okta-token", "SSWS ", many(W, 36)),
    Row("pagerduty-key", "u+", n(W, 18), f"[{W}]"),
    Row("adobe-secret", "p8e-", n(AN, 32)),
    Row("alibaba-key", "LTAI", n(AN, 12, 24)),
    Row("tencent-key", "AKID", n(AN, 32)),
    Row("artifactory-key", "AKCp", n(AN, 60, 75)),
    Row("artifactory-token", "cmVmd", n(AN, 59)),
    *_each("easypost-key", "EZAK EZTK", n(AN, 54)),
    Row("duffel-token", "duffel_", rf"(?:test|live)_{n(W + '=', 43)}"),
    *_each("shippo-token", "shippo_live_ shippo_test_", n(HEXES, 40)),
    *_each("flutterwave-key", "FLWSECK_TEST- FLWSECK-", many(SMALL, 12) + "(?:-X)?"),
    Row("razorpay-key", "rzp_", rf"(?:live|test)_{n(AN, 14)}"),
    Row("plaid-token", "access-", rf"(?:sandbox|development|production)-{UUID}"),
    Row("frameio-token", "fio-u-", n(W + "=", 64), f"[{W}]"),
    Row("infracost-key", "ico-", n(AN, 32)),
    Row("intra42-secret", "s-s4t2", rf"(?:ud|af)-{n(HEX, 64)}"),
    Row("openshift-token", "sha256~", n(W, 43), f"[{W}]"),
    Row("prefect-token", "pn", rf"[ub]_{n(AN, 36)}"),
    Row("readme-key", "rdme_", n(SMALL, 70)),
    Row("scalingo-token", "tk-us-", n(W, 48), f"[{W}]"),
    Row("harness-key", "pat.", rf"{n(W, 22)}\.{n(AN, 24)}\.{n(AN, 20)}"),
    Row("harness-key", "sat.", rf"{n(W, 22)}\.{n(AN, 24)}\.{n(AN, 20)}"),
    *_each("settlemint-token", "sm_aat_ sm_pat_ sm_sat_", n(AN, 16)),
    *_each("sourcegraph-token", "sgp_ slk_", rf"(?:(?:[0-9a-f]{{16}}|local)_)?{n(HEX, 40, 64)}"),
    Row("octopus-key", "API-", n(CAPS, 26, 32)),
    Row("sonar-token", "sq", rf"[upa]_{n(HEX, 40)}"),
    Row("hubspot-token", "pat-", rf"(?:na|eu)\d-{UUID}"),
    Row("cloudflare-key", "v1.0-", rf"{n(HEX, 24)}-{n(HEX, 146)}"),
    Row("mapbox-token", "sk.eyJ", rf"{many(W, 40)}\.{many(W, 16)}"),
    Row("launchdarkly-key", "sdk-", UUID),
    Row("launchdarkly-key", "api-", UUID),
    Row("contentful-token", "CFPAT-", n(W, 43), f"[{W}]"),
    Row("typeform-token", "tfp_", many(W + ".", 40)),
    Row("dropbox-token", "sl.", many(W, 100)),
    Row("firecrawl-key", "fc-", n(HEX, 32)),
    Row("jina-key", "jina_", many(AN, 50)),
    Row("deno-token", "ddp_", n(AN, 36)),
    Row("deno-token", "ddo_", n(AN, 36)),
    Row("rootly-token", "rootly_", n(HEX, 64)),
    Row("convex-key", "prod:", rf"[a-z]+-[a-z]+-\d+\|{many(B64, 40)}=*"),
    Row("resend-key", "re_", rf"{n(AN, 8, 10)}_{n(AN, 20, 28)}"),
    # Password hashes, which allow guessing the password offline.
    Row("password-hash", "$apr1$", rf"{n('A-Za-z0-9./', 1, 8)}\${n('A-Za-z0-9./', 22)}"),
    Row("password-hash", "$1$", rf"{n('A-Za-z0-9./', 1, 8)}\${n('A-Za-z0-9./', 22)}"),
    Row(
        "password-hash",
        "$5$",
        rf"(?:rounds=\d+\$)?{n('A-Za-z0-9./', 1, 16)}\${n('A-Za-z0-9./', 43)}",
    ),
    Row(
        "password-hash",
        "$6$",
        rf"(?:rounds=\d+\$)?{n('A-Za-z0-9./', 1, 16)}\${n('A-Za-z0-9./', 86)}",
    ),
    *_each("password-hash", "$2a$ $2b$ $2y$", rf"\d\d\${n('A-Za-z0-9./', 53)}"),
    Row("password-hash", "$y$", r"[./A-Za-z0-9]+\$[./A-Za-z0-9]{10,}+\$[./A-Za-z0-9]{43}"),
    Row(
        "password-hash",
        "$argon2",
        rf"(?:id|i|d)\$[\w=$,]{{8,60}}\$[{B64}]{{10,90}}\$[{B64}]{{20,}}+",
    ),
    Row("password-hash", "{SSHA}", many(B64, 28) + "=*"),
)
