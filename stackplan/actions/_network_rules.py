"""Rules for what stands between the node and an index: certificates, proxies, patience."""

import re

from stackplan.actions._failure import Failure
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.regular import regular

_CERTIFICATE = regular(r"[^\n]*(?:invalid peer certificate|CERTIFICATE_VERIFY_FAILED|UnknownIssuer)[^\n]*")
_PROXY = regular(
    r"[^\n]*(?:tunnel error|Tunnel connection failed|ProxyError|Cannot connect to proxy|407 Proxy Auth)[^\n]*",
    re.IGNORECASE,
)
_PATIENCE = regular(
    r"UV_HTTP_TIMEOUT \(current value: (?P<uv>\d+)s\)|Read timed out\. \(read timeout=(?P<pip>[\d.]+)\)"
)


def distrusted(failure: Failure) -> Diagnosis | None:
    """SP214: the index answers with a certificate that the node does not trust."""
    match = _found(failure, _CERTIFICATE)
    if match is None:
        return None
    variable = "PIP_CERT" if "CERTIFICATE_VERIFY_FAILED" in match[0] else "SSL_CERT_FILE"
    summary = "The node does not trust the certificate with which the index, or a proxy before it, answered."
    remedy = (
        "Install the certificate of the authority that signed it on the node (update-ca-certificates), and name it for "
        f"the installer with `env: {{{variable}: PATH}}` on the step ({failure.at})."
    )
    return failure.diagnosis("SP214", summary, remedy, key="index_url", causes=(match[0].strip()[:300],))


def proxy_in_the_way(failure: Failure) -> Diagnosis | None:
    """SP215: the proxy that the login names does not let the installer through."""
    match = _found(failure, _PROXY)
    if match is None:
        return None
    summary = "The proxy that the step's environment names did not connect the installer to the index."
    remedy = (
        "See what HTTPS_PROXY, HTTP_PROXY and NO_PROXY are for the step's user on the node; set them in `env` of the "
        f"step ({failure.at}) where they have to be others, a password from a secret variable."
    )
    return failure.diagnosis("SP215", summary, remedy, key="index_url", causes=(match[0].strip()[:300],))


def gave_up_waiting(failure: Failure) -> Diagnosis | None:
    """SP216: a download came too slowly for the installer's own patience."""
    match = _found(failure, _PATIENCE)
    if match is None:
        return None
    waited = match["uv"] or match["pip"]
    variable = "UV_HTTP_TIMEOUT" if match["uv"] else "PIP_DEFAULT_TIMEOUT"
    summary = f"The installer waited {float(waited):g} s for an answer of the index, and gave up."
    remedy = f'Add `env: {{{variable}: "300"}}` to the step ({failure.at}), or `retries: {{times: 2, delay: 30s}}`.'
    return failure.diagnosis("SP216", summary, remedy, key="index_url", causes=(match[0].strip(),))


def _found(failure: Failure, pattern: re.Pattern[str]) -> re.Match[str] | None:
    return None if failure.exit_code in (0, None) else pattern.search(failure.output)
