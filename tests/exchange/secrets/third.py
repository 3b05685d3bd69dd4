"""A third set of made-up secrets, written without sight of the rules and looked at once.

260 texts as they stand in the transcripts of an assistant that helps with programs. Tokens are made
from a fixed seed with the beginnings and lengths that the services publish, so that no line here
holds anything that looks like a live one. The list stays as it was when it was first run.
"""

# fmt: off
# ruff: noqa: E501  (a text and its secret are read best on one line)

from __future__ import annotations

import base64
import json
import random
import string

from tests.exchange.secrets import Planted

RNG = random.Random("third set of secrets")
UPPER, LOWER, DIGIT = string.ascii_uppercase, string.ascii_lowercase, string.digits
ALNUM = UPPER + LOWER + DIGIT
WORDS = (
    "falcon harbor maple copper lantern orchid granite thunder velvet meadow saffron pepper "
    "rocket glacier walnut tiger mirror bottle castle dragon"
).split()
THIRD: list[Planted] = []


def pick(signs: str, length: int) -> str:
    return "".join(RNG.choice(signs) for _ in range(length))


def alnum(length: int) -> str:
    return pick(ALNUM, length)


def low(length: int) -> str:
    return pick(LOWER + DIGIT, length)


def hexa(length: int) -> str:
    return pick("0123456789abcdef", length)


def url(length: int) -> str:
    """Signs of base64url, with a letter or a digit at both ends."""
    return alnum(1) + pick(ALNUM + "-_", length - 2) + alnum(1)


def b64(octets: int) -> str:
    return base64.b64encode(RNG.randbytes(octets)).decode()


def uuid() -> str:
    return "-".join((hexa(8), hexa(4), "4" + hexa(3), "a" + hexa(3), hexa(12)))


def human() -> str:
    """What a person makes up: `Falcon2024!`."""
    return RNG.choice(WORDS).title() + pick("12", 1) + pick(DIGIT, 3) + RNG.choice("!#$?")


def phrase(joint: str = "-") -> str:
    return joint.join(RNG.choice(WORDS) for _ in range(4))


def strong(length: int = 18) -> str:
    """What a generator of passwords makes."""
    return alnum(3) + pick(ALNUM + "!#%^*-_=+.~", length - 6) + alnum(3)


def packed(value: object) -> str:
    text = json.dumps(value, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def jwt(**claims: object) -> str:
    head = packed({"alg": "HS256", "typ": "JWT"})
    return ".".join((head, packed({"iat": 1760000000, **claims}), url(43)))


def lines(octets: int, width: int = 64) -> list[str]:
    body = b64(octets)
    return [body[i : i + width] for i in range(0, len(body), width)]


def case(label: str, text: str, *secrets: str) -> None:
    """`§` (or `§1`, `§2` …) stands for the secret."""
    for number, secret in enumerate(secrets, 1):
        text = text.replace(f"§{number}", secret)
    if len(secrets) == 1:
        text = text.replace("§", secrets[0])
    assert "§" not in text, label
    THIRD.append(Planted(label, text, secrets))


# -- Tokens of providers, where an assistant meets them ---------------------------------------

case("github classic, remote url", "$ git remote -v\norigin\thttps://§@github.com/acme/api.git (fetch)\n", "gh" + "p_" + alnum(36))
case("github fine-grained, export", "export GH_TOKEN=§\ngh repo list acme", "github" + "_pat_" + alnum(22) + "_" + alnum(59))
case("github app, actions log", "remote: Invalid username or token § for https://github.com/acme/web", "gh" + "s_" + alnum(36))
case("gitlab, curl header", "curl --header 'PRIVATE-TOKEN: §' https://gitlab.example.com/api/v4/projects", "gl" + "pat-" + url(20))
case("gitlab runner, register", "gitlab-runner register --url https://gitlab.com --token § --executor docker", "gl" + "rt-" + url(20))
case("gitlab job token, clone", "git clone https://gitlab-ci-token:§@gitlab.com/acme/infra.git", "gl" + "cbt-" + hexa(2) + "_" + url(20))
case("bitbucket app password", "git clone https://jane:§@bitbucket.org/acme/site.git", "AT" + "BB" + alnum(32))
case("atlassian, curl basic", "curl -u jane@acme.io:§ https://acme.atlassian.net/rest/api/3/myself", "AT" + "ATT3xFf" + "GF0" + url(170) + "=" + pick("0123456789ABCDEF", 8))
case("aws credentials file", "[default]\naws_access_key_id = §1\naws_secret_access_key = §2\nregion = eu-west-1\n", "AK" + "IA" + pick(UPPER + "234567", 16), b64(30))
case("aws session, export", 'export AWS_SESSION_TOKEN="§"', "IQo" + "Jb3JpZ2lu" + b64(420))
case("aws sts output", '{\n    "Credentials": {\n        "AccessKeyId": "§1",\n        "SecretAccessKey": "§2",\n        "Expiration": "2026-03-01T10:00:00Z"\n    }\n}', "AS" + "IA" + pick(UPPER + "234567", 16), b64(30))
case("aws access key output table", "|  AccessKeyId      |  §1  |\n|  SecretAccessKey  |  §2  |\n|  Status           |  Active |", "AK" + "IA" + pick(UPPER + "234567", 16), b64(30))
case("aws boto3", 's3 = boto3.client("s3", aws_access_key_id="§1", aws_secret_access_key="§2")', "AK" + "IA" + pick(UPPER + "234567", 16), b64(30))
case("aws ecr login", "$ aws ecr get-login-password\n§\n", "eyJwYXlsb2FkIjoi" + b64(600).replace("=", ""))
case("aws configure dialogue", "$ aws configure\nAWS Access Key ID [None]: §1\nAWS Secret Access Key [None]: §2\nDefault region name [None]: us-east-1\n", "AK" + "IA" + pick(UPPER + "234567", 16), b64(30))
case("aws bedrock key", "AWS_BEARER_TOKEN_BEDROCK=§", "AB" + "SK" + b64(98))
case("aws presigned url", "https://acme.s3.amazonaws.com/report.csv?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=3600&X-Amz-Signature=§", hexa(64))
case("google api key, script tag", '<script src="https://maps.googleapis.com/maps/api/js?key=§&callback=init"></script>', "AI" + "za" + "Sy" + url(33))
case("google oauth secret, json", '{"installed":{"client_id":"1234-abc.apps.googleusercontent.com","client_secret":"§"}}', "GOC" + "SPX-" + url(28))
case("gcloud access token", "$ gcloud auth print-access-token\n§", "ya" + "29.a0" + url(200))
case("google refresh token", '"refresh_token": "§",\n"scopes": ["https://www.googleapis.com/auth/drive"]', "1/" + "/0" + url(98))
KEY = "\\n".join(lines(1200))
case("google service account", '{\n  "type": "service_account",\n  "private_key_id": "abc",\n  "private_key": "-----BEGIN ' + 'PRIVATE KEY-----\\n§\\n-----END PRIVATE KEY-----\\n",\n  "client_email": "x@y.iam.gserviceaccount.com"\n}', KEY)
case("azure client secret", "AZURE_CLIENT_ID=00000000-0000-0000-0000-000000000000\nAZURE_CLIENT_SECRET=§\n", alnum(3) + "8Q~" + url(34))
case("azure sp output", '{\n  "appId": "f0a1",\n  "displayName": "deploy",\n  "password": "§",\n  "tenant": "72f9"\n}', alnum(3) + "8Q~" + url(34))
case("azure storage connection", "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=§;EndpointSuffix=core.windows.net", b64(64))
case("azure service bus", '"ServiceBus": "Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=§"', b64(32))
case("azure sas url", "azcopy copy ./dist 'https://acme.blob.core.windows.net/web?sv=2022-11-02&ss=b&srt=co&sp=rwl&se=2026-12-31&sig=§'", b64(32).replace("+", "%2B").replace("/", "%2F").replace("=", "%3D"))
case("azure cosmos", "AccountEndpoint=https://acme.documents.azure.com:443/;AccountKey=§;", b64(64))
case("azure devops pat", "git clone https://build:§@dev.azure.com/acme/shop/_git/shop", low(52))
case("azure openai, python", 'client = AzureOpenAI(azure_endpoint="https://acme.openai.azure.com", api_key="§")', hexa(32))
case("slack bot, env", "SLACK_BOT_TOKEN=§\nSLACK_CHANNEL=#ops", "xo" + "xb-" + pick(DIGIT, 12) + "-" + pick(DIGIT, 13) + "-" + alnum(24))
case("slack app, log", "connecting with § ... ok", "xa" + "pp-1-A0" + pick(UPPER + DIGIT, 9) + "-" + pick(DIGIT, 13) + "-" + hexa(64))
case("slack webhook", "curl -X POST -d '{\"text\":\"hi\"}' https://hooks.slack.com/services/T0123ABCD/B0456EFGH/§", alnum(24))
case("slack signing secret", "SLACK_SIGNING_SECRET=§", hexa(32))
case("discord bot, python", 'bot.run("§")', "MT" + alnum(24) + "." + "G" + url(5) + "." + url(38))
case("discord webhook", "WEBHOOK=https://discord.com/api/webhooks/112233445566778899/§", url(68))
case("telegram, url", "curl https://api.telegram.org/bot§/getMe", pick("123456789", 10) + ":AA" + url(33))
case("stripe live, ruby", 'Stripe.api_key = "§"', "sk" + "_live_" + alnum(99))
case("stripe restricted, curl", "curl https://api.stripe.com/v1/charges -u §:", "rk" + "_live_" + alnum(24))
case("stripe test, cli", "> Ready! Your webhook signing secret is § (^C to quit)", "whs" + "ec_" + hexa(64))
case("twilio, python", 'client = Client("AC' + hexa(32) + '", "§")', hexa(32))
case("twilio, env", "TWILIO_ACCOUNT_SID=AC" + hexa(32) + "\nTWILIO_AUTH_TOKEN=§", hexa(32))
case("sendgrid, yaml", "mail:\n  provider: sendgrid\n  api_key: §\n", "S" + "G." + url(22) + "." + url(43))
case("mailgun, curl", "curl -s --user 'api:§' https://api.mailgun.net/v3/mg.acme.io/messages", hexa(32) + "-" + hexa(8) + "-" + hexa(8))
case("mailchimp, js", "mailchimp.setConfig({ apiKey: '§', server: 'us14' });", hexa(32) + "-us14")
case("postmark, header", "X-Postmark-Server-Token: §", uuid())
case("resend, env", "RESEND_API_KEY=§", "re" + "_" + alnum(8) + "_" + alnum(24))
case("openai project, python", "openai.api_key = '§'", "sk" + "-proj-" + url(74) + "T3Blbk" + "FJ" + url(74))
case("openai error log", "openai.AuthenticationError: Incorrect API key provided: §. You can find your API key at https://platform.openai.com", "sk" + "-" + alnum(20) + "T3Blbk" + "FJ" + alnum(20))
case("anthropic, shell", "export ANTHROPIC_API_KEY=§ && python agent.py", "sk" + "-ant-api03-" + url(93) + "AA")
case("anthropic, x-api-key", '-H "x-api-key: §" -H "anthropic-version: 2023-06-01"', "sk" + "-ant-api03-" + url(93) + "AA")
case("openrouter, toml", '[llm]\nprovider = "openrouter"\nkey = "§"', "sk" + "-or-v1-" + hexa(64))
case("deepseek, env", "DEEPSEEK_API_KEY=§", "sk" + "-" + hexa(32))
case("hugging face, login", "huggingface-cli login --token §", "hf" + "_" + pick(UPPER + LOWER, 34))
case("groq, typescript", 'const groq = new Groq({ apiKey: "§" });', "gs" + "k_" + alnum(52))
case("replicate, chat", "use my replicate token §, it has credit left", "r8" + "_" + alnum(37))
case("perplexity, json", '{"mcpServers":{"ppl":{"env":{"PERPLEXITY_API_KEY":"§"}}}}', "pp" + "lx-" + alnum(48))
case("xai, bearer", "Authorization: Bearer §", "x" + "ai-" + alnum(80))
case("mistral, env", "MISTRAL_API_KEY=§", alnum(32))
case("cohere, python", 'co = cohere.Client("§")', alnum(40))
case("elevenlabs, header", "xi-api-key: §", "s" + "k_" + hexa(48))
case("pinecone, python", 'pc = Pinecone(api_key="§")', "pc" + "sk_" + alnum(6) + "_" + alnum(63))
case("langsmith, env", "LANGCHAIN_TRACING_V2=true\nLANGCHAIN_API_KEY=§", "ls" + "v2_pt_" + hexa(32) + "_" + hexa(10))
case("wandb, login", "$ wandb login §\nwandb: Appending key for api.wandb.ai to your netrc file", hexa(40))
case("tavily, mcp json", '"env": {"TAVILY_API_KEY": "§"}', "tv" + "ly-dev-" + alnum(32))
case("brave, header", "X-Subscription-Token: §", "BS" + "A" + url(28))
case("firecrawl, env", "FIRECRAWL_API_KEY=§", "f" + "c-" + hexa(32))
case("npm, npmrc", "//registry.npmjs.org/:_authToken=§\n", "np" + "m_" + alnum(36))
case("npmrc, basic", "//npm.acme.io/:_auth=§\nalways-auth=true", base64.b64encode(b"deploy:" + strong(14).encode()).decode())
case("pypi, pypirc", "[pypi]\nusername = __token__\npassword = §\n", "py" + "pi-AgEIcHlwaS5vcmc" + url(150))
case("pypi, twine", "twine upload -u __token__ -p § dist/*", "py" + "pi-AgEIcHlwaS5vcmc" + url(150))
case("crates.io, login", "cargo login §", "c" + "io" + alnum(32))
case("rubygems, credentials", "---\n:rubygems_api_key: §\n", "ruby" + "gems_" + hexa(48))
case("nuget, push", "dotnet nuget push Acme.1.0.0.nupkg -k § -s https://api.nuget.org/v3/index.json", "oy" + "2" + low(43))
case("docker hub pat, login", "echo § | docker login -u acme --password-stdin", "dckr" + "_pat_" + url(27))
case("cloudflare token, wrangler", "CLOUDFLARE_API_TOKEN=§ npx wrangler deploy", url(40))
case("cloudflare global key", 'curl -H "X-Auth-Email: ops@acme.io" -H "X-Auth-Key: §" https://api.cloudflare.com/client/v4/zones', hexa(37))
case("cloudflare tunnel", "cloudflared service install §", packed({"a": hexa(32), "t": uuid(), "s": b64(32)}))
case("digitalocean, terraform", 'provider "digitalocean" {\n  token = "§"\n}', "do" + "p_v1_" + hexa(64))
case("heroku, auth token", "$ heroku auth:token\n ›   Warning: token will expire\n§", "HR" + "KU-AA" + url(58))
case("heroku, uuid env", "HEROKU_API_KEY=§", uuid())
case("vercel, cli", "vercel deploy --prod --token=§", alnum(24))
case("netlify, env", "NETLIFY_AUTH_TOKEN=§", "nf" + "p_" + alnum(36))
case("fly, secret", 'FLY_API_TOKEN="FlyV1 §"', "fm" + "2_" + b64(240))
case("supabase service role", "SUPABASE_SERVICE_ROLE_KEY=§", jwt(role="service_role", iss="supabase"))
case("supabase secret key", "createClient(url, '§')", "sb" + "_secret_" + url(22) + "_" + alnum(8))
case("planetscale url", "DATABASE_URL='mysql://u1:§@aws.connect.psdb.cloud/shop?sslaccept=strict'", "pscale" + "_pw_" + url(43))
case("neon url", "psql 'postgresql://neondb_owner:§@ep-cool-1.eu-central-1.aws.neon.tech/neondb?sslmode=require'", "np" + "g_" + alnum(12))
case("databricks, cfg", "[DEFAULT]\nhost = https://adb-1.azuredatabricks.net\ntoken = §\n", "da" + "pi" + hexa(32) + "-2")
case("snowflake, python", 'conn = snowflake.connector.connect(user="ETL", password="§", account="xy12345")', strong())
case("datadog, helm", "helm install dd datadog/datadog --set datadog.apiKey=§1 --set datadog.appKey=§2", hexa(32), hexa(40))
case("datadog, header", "DD-API-KEY: §", hexa(32))
case("new relic, ini", "license_key = §", hexa(36) + "NRAL")
case("new relic user key", "Api-Key: §", "NR" + "AK-" + pick(UPPER + DIGIT, 27))
case("sentry, env", "SENTRY_AUTH_TOKEN=§", "snt" + "rys_" + packed({"iat": 1, "url": "https://sentry.io"}) + "_" + url(43))
case("grafana, curl", 'curl -H "Authorization: Bearer §" https://grafana.acme.io/api/search', "gl" + "sa_" + alnum(32) + "_" + hexa(8))
case("pagerduty, header", "Authorization: Token token=§", "u" + "+" + alnum(18))
case("linear, header", 'headers: { Authorization: "§" }', "lin" + "_api_" + alnum(40))
case("notion, python", 'notion = Client(auth="§")', "nt" + "n_" + pick(DIGIT, 11) + alnum(35))
case("airtable, bearer", "-H 'Authorization: Bearer §'", "pat" + alnum(14) + "." + hexa(64))
case("figma, header", "X-Figma-Token: §", "fi" + "gd_" + url(40))
case("shopify, ruby", 'session = ShopifyAPI::Auth::Session.new(shop: "acme.myshopify.com", access_token: "§")', "sh" + "pat_" + hexa(32))
case("hubspot, env", "HUBSPOT_ACCESS_TOKEN=§", "pa" + "t-na1-" + uuid())
case("paypal secret, js", "const PAYPAL_SECRET = '§';", "E" + url(79))
case("algolia admin, js", "const client = algoliasearch('B1G2GM9NG0', '§');", hexa(32))
case("mapbox secret", "MAPBOX_SECRET_TOKEN=§", "s" + "k." + packed({"u": "acme", "a": low(25)}) + "." + url(22))
case("terraform cloud rc", 'credentials "app.terraform.io" {\n  token = "§"\n}', alnum(14) + ".atlas" + "v1." + url(67))
case("vault, output", "Key                  Value\n---                  -----\ntoken                §\ntoken_accessor       x\n", "hv" + "s.CAES" + "I" + url(86))
case("vault unseal", "Unseal Key 1: §1\nInitial Root Token: §2", b64(33), "hv" + "s." + alnum(24))
case("doppler", "doppler configure set token §", "dp" + ".st.prd." + alnum(43))
case("circleci", "Circle-Token: §", "CC" + "IPAT_" + alnum(22) + "_" + hexa(40))
case("sonarqube", "sonar-scanner -Dsonar.host.url=https://sonar.acme.io -Dsonar.token=§", "sq" + "p_" + hexa(40))
case("codecov, shell", "bash <(curl -s https://codecov.io/bash) -t §", uuid())
case("snyk", "snyk auth §", uuid())
case("okta", "Authorization: SSWS §", "00" + url(40))
case("auth0, env", "AUTH0_DOMAIN=acme.eu.auth0.com\nAUTH0_CLIENT_SECRET=§", url(64))
case("tailscale", "tailscale up --authkey § --ssh", "ts" + "key-auth-k" + alnum(10) + "CNTRL-" + alnum(32))
case("ngrok", "ngrok config add-authtoken §", "2" + alnum(26) + "_" + alnum(21))
case("age key", "# created: 2026-01-01\n# public key: age1xyz\n§", "AGE-SEC" + "RET-KEY-1" + pick("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))
case("firebase server key", "Authorization: key=§", "AA" + "AA" + url(7) + ":APA91b" + url(134))
case("pulumi", "PULUMI_ACCESS_TOKEN=§ pulumi up", "pu" + "l-" + hexa(40))
case("jenkins", "curl -X POST -u admin:§ https://ci.acme.io/job/build/build", "11" + hexa(32))
case("alchemy url", "RPC_URL=https://eth-mainnet.g.alchemy.com/v2/§", url(32))
case("infura url", 'rpc: "https://mainnet.infura.io/v3/§"', hexa(32))
case("ethereum key, hardhat", "accounts: ['0x§']", hexa(64))
case("ethereum key, env", "DEPLOYER_PRIVATE_KEY=§", hexa(64))
case("twitter bearer", 'BEARER = "§"', "AAAAAAAAAAAAAAAAAAAAA" + alnum(30) + "%3D" + alnum(50))

# -- Files of settings ------------------------------------------------------------------------

case("env, laravel", "APP_NAME=Shop\nAPP_KEY=base64:§\nAPP_DEBUG=true", b64(32))
case("env, django", "DJANGO_SECRET_KEY='§'", "django-insecure-" + pick(LOWER + DIGIT + "!@#$%^&*(-_=+)", 50))
case("env, rails", "RAILS_MASTER_KEY=§", hexa(32))
case("env, nextauth", "NEXTAUTH_URL=http://localhost:3000\nNEXTAUTH_SECRET=§", b64(32))
case("env, jwt secret", "JWT_SECRET=§\nJWT_EXPIRES=7d", phrase("-"))
case("env, db pass", "DB_HOST=10.0.0.5\nDB_USER=app\nDB_PASS=§\nDB_NAME=app", human())
case("env, smtp", "SMTP_HOST=smtp.gmail.com\nSMTP_USER=bot@acme.io\nSMTP_PASSWORD=§", " ".join(pick(LOWER, 4) for _ in range(4)))
case("env, password with hash", 'ADMIN_PASSWORD="§"  # change after launch', strong(14) + "#" + alnum(3))
case("env, salted", "SESSION_SECRET=§", phrase("_"))
case("env, encryption", "ENCRYPTION_KEY=§", hexa(64))
case("env, pgp passphrase", "GPG_PASSPHRASE=§", phrase(" "))
case("env, generic token", "INTERNAL_API_TOKEN=§", alnum(48))
case("yaml, spring", "spring:\n  datasource:\n    url: jdbc:postgresql://db/app\n    username: app\n    password: §\n", human())
case("properties, jdbc", "spring.datasource.username=sa\nspring.datasource.password=§\n", strong(16))
case("properties, keystore", "server.ssl.key-store-password=§", low(10))
case("compose, postgres", "services:\n  db:\n    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: §\n      POSTGRES_DB: app\n", phrase(""))
case("compose, list", "    environment:\n      - MYSQL_ROOT_PASSWORD=§\n      - MYSQL_DATABASE=wp\n", human())
case("compose, minio", "      MINIO_ROOT_USER: minio\n      MINIO_ROOT_PASSWORD: §\n", low(14))
case("compose, redis command", "    command: redis-server --requirepass § --appendonly yes", alnum(20))
case("k8s secret data", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\ndata:\n  username: YWRtaW4=\n  password: §\n", base64.b64encode(strong(15).encode()).decode())
case("k8s stringData", "kind: Secret\nstringData:\n  API_KEY: §\n", alnum(40))
case("k8s env value", "        env:\n        - name: DB_PASSWORD\n          value: \"§\"\n", strong(16))
case("k8s create", "kubectl create secret generic db --from-literal=username=app --from-literal=password='§'", strong(16))
case("k8s dockerconfig", '.dockerconfigjson: §', packed({"auths": {"ghcr.io": {"auth": b64(30)}}}))
case("docker config", '{"auths": {"https://index.docker.io/v1/": {"auth": "§"}}}', base64.b64encode(b"acme:" + strong(16).encode()).decode())
case("kubeconfig token", "users:\n- name: admin\n  user:\n    token: §\n", jwt(iss="kubernetes/serviceaccount"))
case("kubeconfig key", "    client-key-data: §\n", base64.b64encode(("-----BEGIN RSA " + "PRIVATE KEY-----\n" + "\n".join(lines(900))).encode()).decode())
case("terraform rds", 'resource "aws_db_instance" "main" {\n  username = "admin"\n  password = "§"\n}', human())
case("terraform tfvars", 'db_master_password = "§"\n', strong(20))
case("terraform state", '"attributes": {"id": "x", "result": "§", "bcrypt_hash": null, "special": true}', strong(20))
case("ansible vars", "ansible_user: deploy\nansible_become_pass: §\n", human())
case("helm values", "auth:\n  rootPassword: §\n  replicationPassword: \"\"\n", alnum(16))
case("toml, app", "[database]\nhost = \"db\"\npasswd = \"§\"\n", strong(14))
case("ini, odbc", "[app]\nuid = sa\npwd = §\n", human())
case("php config", "$cfg['db'] = ['user' => 'root', 'pass' => '§'];", strong(12))
case("wp-config", "define( 'DB_PASSWORD', '§' );", strong(16))
case("wp salts", "define('AUTH_KEY',         '§');", pick(ALNUM + "!@#$%^&*()-_[]{}<>~`+=,.;:/?|", 64))
case("xml, maven", "<server>\n  <id>nexus</id>\n  <username>deploy</username>\n  <password>§</password>\n</server>", strong(14))
case("xml, web.config", '<add key="SmtpPassword" value="§" />', human())
case("xml, connection string", '<add name="Default" connectionString="Server=sql1;Database=Shop;User Id=shop;Password=§;Encrypt=True" />', strong(16))
case("appsettings", '"ConnectionStrings": { "Db": "Server=tcp:acme.database.windows.net,1433;User ID=app;Password=§;" }', strong(16))
case("gradle properties", "signing.keyId=24875D73\nsigning.password=§\nossrhPassword=x1", human())
case("android keystore", "storePassword=§\nkeyAlias=upload\n", low(9))
case("netrc", "machine api.acme.io\n  login jane\n  password §\n", strong(14))
case("pgpass", "db.acme.io:5432:shop:app:§", strong(14))
case("my.cnf", "[client]\nuser=root\npassword=§\n", human())
case("wpa_supplicant", 'network={\n  ssid="Acme"\n  psk="§"\n}', phrase(""))
case("wireguard", "[Interface]\nPrivateKey = §\nAddress = 10.0.0.2/32\n", b64(32))
case("rclone", "[b2]\ntype = b2\naccount = 0012\nkey = §\n", "K" + "001" + alnum(27))
case("htpasswd command", "htpasswd -bc .htpasswd admin §", human())

# -- Addresses with a password ----------------------------------------------------------------

case("postgres url, env", "DATABASE_URL=postgres://app:§@db.internal:5432/shop", strong(16).replace("#", "x"))
case("postgres url, weak", "postgresql://postgres:§@localhost:5432/dev", low(8))
case("mysql sqlalchemy", 'engine = create_engine("mysql+pymysql://root:§@127.0.0.1/shop")', human().replace("?", "!").replace("#", "!"))
case("mongodb srv", "mongosh 'mongodb+srv://jane:§@cluster0.ab1cd.mongodb.net/app'", alnum(16))
case("redis url without user", "REDIS_URL=rediss://:§@cache.acme.io:6380/0", alnum(32))
case("amqp", "CELERY_BROKER_URL = 'amqp://worker:§@rabbit:5672/vhost'", phrase(""))
case("clickhouse", "clickhouse://default:§@ch.acme.io:8443/logs", strong(12).replace("#", "x"))
case("kafka jaas", 'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="app" password="§";', strong(16))
case("jdbc oracle", "jdbc:oracle:thin:scott/§@//ora:1521/ORCL", human().rstrip("!#$?"))
case("jdbc mysql query", "jdbc:mysql://db:3306/shop?user=app&password=§&useSSL=false", alnum(14))
case("smtp url", "EMAIL_URL=smtp://bot%40acme.io:§@smtp.acme.io:587", alnum(16))
case("libpq string", "psql \"host=db dbname=shop user=app password=§ sslmode=require\"", strong(14))
case("proxy", "export https_proxy=http://jane:§@proxy.corp:3128", human().replace("#", "!").replace("?", "!"))

# -- The shell --------------------------------------------------------------------------------

case("pgpassword", "PGPASSWORD=§ psql -h db -U app shop", low(10))
case("mysql -p", "mysql -u root -p§ shop < dump.sql", alnum(12))
case("mysqldump long", "mysqldump --user=root --password='§' shop > dump.sql", strong(14))
case("sshpass", "sshpass -p '§' ssh deploy@10.0.0.7", human())
case("curl -u", "curl -u jane:§ https://nexus.acme.io/repository/x", strong(12))
case("docker run -e", "docker run -d -e POSTGRES_PASSWORD=§ -p 5432:5432 postgres", phrase(""))
case("docker login -p", "docker login registry.acme.io -u ci -p §", strong(14))
case("redis-cli -a", "redis-cli -h cache -a § ping", alnum(20))
case("mongosh -p", "mongosh --host db -u admin -p § --authenticationDatabase admin", alnum(14))
case("openssl pass", "openssl pkcs12 -export -in c.pem -inkey k.pem -out c.p12 -passout pass:§", low(12))
case("sql alter user", "ALTER USER app WITH PASSWORD '§';", strong(14))
case("sql identified by", "CREATE USER 'app'@'%' IDENTIFIED BY '§';", human())
case("chpasswd", "echo 'deploy:§' | sudo chpasswd", strong(12))
case("sudo -S", "echo '§' | sudo -S apt-get update", human())
case("gh secret set", "gh secret set DEPLOY_KEY --body '§'", alnum(40))
case("az login", "az login --service-principal -u app -p § --tenant acme.io", alnum(34))
case("powershell", "$cred = ConvertTo-SecureString '§' -AsPlainText -Force", strong(14))
case("net use", "net use Z: \\\\fs01\\share § /user:ACME\\jane", human())
case("heroku config set", "heroku config:set SECRET_KEY_BASE=§", hexa(128))
case("ssh private key, cat", "$ cat ~/.ssh/id_ed25519\n-----BEGIN OPENSSH " + "PRIVATE KEY-----\n§\n-----END OPENSSH PRIVATE KEY-----", "\n".join(lines(280, 70)))
case("rsa key, cut off", "-----BEGIN RSA " + "PRIVATE KEY-----\n§\n", "\n".join(lines(600)))
case("pgp key block", "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----\n\n§\n-----END PGP PRIVATE KEY BLOCK-----", "\n".join(lines(500)))

# -- Code -------------------------------------------------------------------------------------

case("python constant", 'API_SECRET = "§"', alnum(32))
case("python requests auth", 'requests.get(url, auth=("jane", "§"))', strong(12))
case("python paramiko", 'ssh.connect("10.0.0.7", username="root", password="§")', human())
case("python smtplib", 'server.login("bot@acme.io", "§")', strong(14))
case("javascript jwt sign", "const token = jwt.sign({ id }, '§', { expiresIn: '7d' });", phrase("-"))
case("typescript config", "export const config = { dbPassword: '§', port: 5432 };", human())
case("express session", "app.use(session({ secret: '§', resave: false }));", phrase(" "))
case("go const", 'const apiToken = "§"', alnum(40))
case("go struct", 'cfg := mysql.Config{User: "root", Passwd: "§", Net: "tcp"}', strong(14))
case("rust", 'let client_secret = String::from("§");', alnum(36))
case("java", 'private static final String DB_PASSWORD = "§";', human())
case("java setter", 'dataSource.setPassword("§");', strong(14))
case("csharp", 'var smtp = new NetworkCredential("bot@acme.io", "§");', strong(14))
case("kotlin", 'val apiKey = "§"', alnum(32))
case("php pdo", "$pdo = new PDO('mysql:host=db;dbname=shop', 'root', '§');", human())
case("ruby", "ActionMailer::Base.smtp_settings = { user_name: 'bot', password: '§' }", strong(14))
case("swift", 'let apiKey = "§"', alnum(32))
case("c header", '#define WIFI_PASSWORD "§"', phrase(""))

# -- What people write ------------------------------------------------------------------------

case("chat, wifi", "oh and the wifi password is § if you need it", human())
case("chat, login", "log in as admin / § on staging", strong(12))
case("chat, pw", "user: jane@acme.io pw: §", human())
case("chat, database", "The database password for prod is `§`, please don't commit it.", strong(14))
case("chat, key is", "my api key is §", alnum(32))
case("chat, here", "here's the token: §", alnum(40))
case("chat, changed to", "I changed the root password to § yesterday", human())
case("chat, passphrase", "the passphrase for the ssh key is \"§\"", phrase(" "))
case("chat, pin", "The PIN for the alarm is §.", pick(DIGIT, 6))
case("chat, table", "| host | user | password |\n|---|---|---|\n| db1 | root | § |", strong(12))
case("chat, german", "das Passwort lautet §", human())
case("chat, recovery phrase", "my seed phrase: §", "legal winner thank year wave sausage worth useful legal winner thank yellow")

# -- Traffic ----------------------------------------------------------------------------------

case("http basic", "> GET / HTTP/1.1\n> Host: acme.io\n> Authorization: Basic §\n", base64.b64encode(b"jane:" + strong(14).encode()).decode())
case("http bearer opaque", "Authorization: Bearer §\nAccept: */*", low(40))
case("http bearer jwt", "authorization: Bearer §", jwt(sub="42"))
case("http cookie", "Cookie: theme=dark; sessionid=§; csrftoken=abc", low(32))
case("http set-cookie", "Set-Cookie: connect.sid=s%3A§; Path=/; HttpOnly", url(32) + "." + alnum(43))
case("http form login", "POST /login HTTP/1.1\nContent-Type: application/x-www-form-urlencoded\n\nusername=jane&password=§&remember=1", alnum(12))
case("http json login", '{"email": "jane@acme.io", "password": "§"}', human())
case("oauth response", '{"access_token":"§1","token_type":"Bearer","expires_in":3600,"refresh_token":"§2"}', url(64), url(64))
case("oauth code exchange", "grant_type=client_credentials&client_id=web&client_secret=§", url(40))
case("url access_token", "GET https://api.acme.io/v1/me?access_token=§", alnum(40))
case("x-api-key header", "x-api-key: §", alnum(40))
case("password reset link", "https://app.acme.io/reset-password?token=§", url(43))

# -- Logs of builds ---------------------------------------------------------------------------

case("actions, inline env", "Run ./deploy.sh\n  env:\n    DEPLOY_TOKEN: §\n    NODE_VERSION: 20", alnum(40))
case("printenv", "HOME=/root\nPATH=/usr/bin\nSECRET_TOKEN=§\nTERM=xterm", hexa(40))
case("set -x", "+ curl -sS -H 'X-Vault-Token: §' https://vault.acme.io/v1/secret/data/app", "hv" + "s." + alnum(24))
case("log, connection failed", "sqlalchemy.exc.OperationalError: could not connect with postgresql://app:§@db/shop", strong(12).replace("#", "x"))
case("log, generated", "Generated root password: §", strong(12))
case("log, argocd", "$ kubectl get secret argocd-initial-admin-secret -o jsonpath='{.data.password}' | base64 -d\n§\n", url(16))
