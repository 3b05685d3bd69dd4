"""The settings of ``recollect serve``, and where each comes from.

Responsible for their names, forms and defaults. Leaves reading the environment to ``config``.
Invariants: a flag wins over a variable, a variable over the default; a wrong value or an unknown
``RECOLLECT_`` variable stops the start.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from recollect import config
from recollect.errors import ConfigError
from recollect.interfaces.http.limits import rates
from recollect.propose import settings as proposer

PREFIX: Final = "RECOLLECT_SERVE_"
_TESTS: Final = "RECOLLECT_TEST_"
_ENVIRONMENT: Final = "the environment"
Seconds = Annotated[int, Meta(ge=0, le=3_600)]
Count = Annotated[int, Meta(ge=1, le=20_000)]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a service listens and what it allows."""

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535)] = 7357
    hostname: tuple[str, ...] = ()
    tls_cert: str | None = None
    tls_key: str | None = None
    root_path: str = ""
    unix: str | None = None
    grace: Seconds = 20
    drain_delay: Seconds = 0
    rate: str = "auto"
    strict: bool = False
    streams: Count | None = None
    streams_per_token: Count | None = None
    metrics: bool = False
    metrics_port: Annotated[int, Meta(ge=0, le=65_535)] | None = None
    log_requests: bool = False
    traces: str | None = None
    work: bool = False
    ui: bool = False
    oauth: bool = False

    @property
    def is_local(self) -> bool:
        """True if nothing but this machine reaches it."""
        return self.unix is not None or _is_loopback(self.host)

    @property
    def is_secure(self) -> bool:
        """True if it is reached over https: it has a certificate, or a proxy is named."""
        return self.tls_cert is not None or not self.is_local or bool(self.hostname)


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting as ``--print-config`` shows it; of a secret only whether it is set."""

    name: str
    value: Any
    source: str


def resolved(
    flags: Mapping[str, Any], variables: Mapping[str, str] | None = None
) -> tuple[Options, list[Setting]]:
    """The settings that hold, and where each comes from."""
    found = config.own_variables() if variables is None else variables
    _check_known(found)
    given, shown = dict[str, Any](), list[Setting]()
    for field in msgspec.structs.fields(Options):
        name, variable = field.name, PREFIX + field.name.upper()
        source, value = "default", field.default
        flag = flags.get(name)
        if not (flag is None or flag is False or flag == ()):  # 0 is a port, and equals False
            source, value = f"--{name.replace('_', '-')}", flag
        elif found.get(variable):
            source, value = variable, _read(field, variable, found[variable])
        given[name] = value
        shown.append(Setting(name=name, value=value, source=source))
    options = _converted(given)
    _check(options)
    return options, [*shown, *_secrets(found)]


def _read(field: msgspec.structs.FieldInfo, variable: str, text: str) -> Any:
    value = text.split(",") if field.name == "hostname" else text
    try:
        return msgspec.convert(value, field.type, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{variable}: {error}", hint="correct it, or unset it") from error


def _converted(given: Mapping[str, Any]) -> Options:
    try:
        return msgspec.convert(given, Options)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), hint="see `recollect serve --help`") from error


def _check_known(found: Mapping[str, str]) -> None:
    """Refuses a variable with our prefix that nothing reads: its name may be mistyped."""
    named = [*vars(config).items(), *vars(proposer).items()]
    ours = {value for name, value in named if name.endswith("_VARIABLE")}
    ours |= {PREFIX + field.name.upper() for field in msgspec.structs.fields(Options)}
    for name in sorted(found):
        if name not in ours and not name.startswith(_TESTS):
            raise ConfigError(
                f"nothing reads the variable {name}", hint="correct its name, or unset it"
            )


def _check(options: Options) -> None:
    """Refuses what would be open to everybody, or could not be reached."""
    if not options.is_local and not options.hostname:
        raise ConfigError(
            f"--host {options.host} can be reached from other machines",
            hint="name what they call it: --hostname memory.example",
        )
    if (options.tls_cert is None) != (options.tls_key is None):
        raise ConfigError("--tls-cert and --tls-key belong together", hint="give both")
    path = options.root_path
    if path and not (path.startswith("/") and not path.endswith("/") and "//" not in path):
        raise ConfigError(f"--root-path: {path!r} is not a path", hint="such as /memory")
    rates.parsed(options.rate, is_local=options.is_local)
    if options.oauth and not options.ui:
        raise ConfigError(
            "--oauth needs a page on which people approve assistants", hint="add --ui"
        )
    if options.oauth and not options.hostname:
        raise ConfigError(
            "--oauth needs a name over https, under which people and assistants reach it",
            hint="add --hostname with the name that a proxy serves, or that --tls-cert is for",
        )


def _secrets(found: Mapping[str, str]) -> list[Setting]:
    names = (
        config.TOKEN_VARIABLE, config.EMBEDDER_KEY_VARIABLE, proposer.KEY_VARIABLE,
        config.MASTER_KEY_VARIABLE, config.MCP_TOKEN_VARIABLE,
    )  # fmt: skip
    return [
        Setting(name=name, value="set" if found.get(name) else "not set", source=_ENVIRONMENT)
        for name in names
    ]


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
