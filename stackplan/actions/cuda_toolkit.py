"""Installing a CUDA toolkit, and nothing but the toolkit."""

import enum
import re

from stackplan.actions import _toolkit_apt
from stackplan.actions._apt_foretold import simulation_changes
from stackplan.actions._offer import offer_query
from stackplan.actions._sources import Address, read_address
from stackplan.actions._target import told
from stackplan.actions._toolkit_failures import explain_toolkit_failure
from stackplan.actions._toolkit_forecast import installed_answers
from stackplan.actions._transfer_failures import unoffered
from stackplan.actions.download import read_sha256
from stackplan.model.arguments import Arguments, Value
from stackplan.model.change import Held, State, differences
from stackplan.model.concern import Concern, Matter
from stackplan.model.condition import Condition
from stackplan.model.debian_package import DPKG_QUERY, dpkg_state
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.facts import Facts, Known, Query, Unknown
from stackplan.model.frozen import dataclass
from stackplan.model.job import Job, Task
from stackplan.model.kind import ActionKind, CannotAct, Evidence, Prediction
from stackplan.model.regular import regular

COMMON_LINK = "/usr/local/cuda"
APT_LOCK_TIMEOUT_S = 300
_DRIVER_PACKAGE = regular(r"cuda(-\d+-\d+)?|cuda-(drivers|runtime|demo-suite)\b.*|nvidia-(driver|dkms|kernel)\b.*")


class Method(enum.Enum):
    RUNFILE = "runfile"
    APT = "apt"


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaToolkit(ActionKind):
    """Installs a toolkit from NVIDIA's runfile or its apt packages; the driver is never touched.

    A runfile from a `url` needs its `sha256`, which is compared before anything of it is run; a plan asks whether the
    address gives it out. `/usr/local/cuda` is
    left leading where it led, whatever the installer did to it, unless `default: true`. apt is not let remove or set
    back any package. Afterwards the nvcc of the prefix has to report the release, without that being written down.
    """

    arguments: Arguments
    version: str
    method: Method
    prefix: str
    url: Address | None
    path: str | None
    sha256: str | None
    packages: tuple[str, ...]
    default: bool

    @classmethod
    def read(cls, arguments: Arguments) -> "CudaToolkit":
        version = arguments.text("version")
        if not re.fullmatch(r"\d+\.\d+(\.\d+)?", version):
            raise arguments.invalid(
                "version", "`version` is not a toolkit's version", expected="such as 13.0 or 13.0.1"
            )
        method = _method(arguments)
        _check_together(arguments, method)
        return cls(
            arguments=arguments,
            version=version,
            method=method,
            prefix=_prefix(arguments, version, method),
            url=read_address(arguments, "url") if "url" in arguments else None,
            path=arguments.optional_text("path"),
            sha256=read_sha256(arguments) if "sha256" in arguments else None,
            packages=_packages(arguments),
            default=arguments.flag("default", default=False),
        )

    @property
    def release(self) -> str:
        """The first two numbers of the version, which is what nvcc reports."""
        return ".".join(self.version.split(".")[:2])

    def describe(self) -> str:
        return f"install the CUDA {self.version} toolkit into {self.prefix}"

    def concerns(self) -> tuple[Concern, ...]:
        return Concern(Matter.TOOLKIT, self.prefix, changed=True), Concern(Matter.PROGRAM, "nvcc")

    def queries(self) -> tuple[Query, ...]:
        apt = (DPKG_QUERY,) if self.method is Method.APT else ()
        return (self._build_query(), self._nvcc_query(), *apt)

    def job(self, facts: Facts) -> Job | CannotAct:
        answer = facts[self._build_query()]
        if not isinstance(answer, Known):
            return CannotAct(f"it is not known where the toolkit can go: {answer.why}")
        return self._runfile_job(facts) if self.method is Method.RUNFILE else self._apt_job(facts)

    def state(self, facts: Facts) -> State:
        state: dict[tuple[str, str], Held] = {}
        nvcc = told(facts[self._nvcc_query()])
        build = told(facts[self._build_query()])
        if nvcc.get("exists") is True:
            text = str(nvcc.get("release"))
            state["toolkit", self.prefix] = Held(text, f"{nvcc.get('version')} {build.get('version')}")
        elif build.get("exists") is True:
            state["toolkit", self.prefix] = Held("a folder without nvcc")
        link = build.get("link")
        if isinstance(link, dict) and link.get("kind") == "link":
            state["link", str(link.get("path"))] = Held(str(link.get("leads_to")))
        if self.method is Method.APT and isinstance(packages := facts[DPKG_QUERY], Known):
            state |= dpkg_state(told(packages))
        return state

    def forecast(self, facts: Facts) -> tuple[Query, ...]:
        if self.url is not None:
            return (offer_query(self.url, self.arguments),)
        if self.method is Method.RUNFILE or not isinstance(facts[DPKG_QUERY], Known):
            return ()
        return (_toolkit_apt.simulation(self._wanted, facts),)

    def predict(self, facts: Facts) -> Prediction | Unknown:
        build = self._build_query()
        about, nvcc = facts[build], facts[self._nvcc_query()]
        if not isinstance(about, Known) or not isinstance(nvcc, Known):
            return Unknown("what is installed there is not known")
        if self.method is Method.APT:
            return self._predict_apt(facts)
        if self.url is not None:
            offer = facts[offer_query(self.url, self.arguments)]
            if not isinstance(offer, Known):
                return Unknown(f"whether the runfile is to be had could not be told: {offer.why}")
            if (obstacle := unoffered(offer, self.url, self.arguments)) is not None:
                return Prediction(changes=(), answers={}, failures=(obstacle,))
        if told(nvcc).get("release") == self.release and told(about).get("version") in (None, self.version):
            return Unknown(f"CUDA {self.release} is there already; what its installer mends is not known")
        asked = build.asked_by(facts.user)
        answers = installed_answers(facts, asked, self.version, self.release, link_moves=self.default)
        after = facts.foreseen(answers)
        return Prediction(changes=differences(self.state(facts), self.state(after)), answers=answers)

    def _predict_apt(self, facts: Facts) -> Prediction | Unknown:
        """Return what apt's simulation foretells: its packages, and the release where the compiler is among them."""
        if not isinstance(packages := facts[DPKG_QUERY], Known):
            return Unknown(f"what dpkg has installed is not known: {packages.why}")
        answer = facts[_toolkit_apt.simulation(self._wanted, facts)]
        if not isinstance(answer, Known):
            return Unknown(f"apt could not be asked: {answer.why}")
        if failures := _toolkit_apt.failures(self.arguments, answer, facts, self.release):
            return Prediction(changes=(), answers={}, failures=failures)
        build = self._build_query().asked_by(facts.user)
        changes = simulation_changes(answer)
        answers = _toolkit_apt.answers(self._wanted, facts, build, changes)
        after = facts.foreseen(answers)
        return Prediction(changes=differences(self.state(facts), self.state(after)), answers=answers)

    def implied(self) -> tuple[Condition, ...]:
        at = self.arguments.at
        arguments = Arguments({"prefix": self.prefix, "release": self.release}, at)
        return (Condition(kind="nvcc", arguments=arguments, at=at),)

    def diagnose(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return explain_toolkit_failure(evidence, self.release)

    def _runfile_job(self, facts: Facts) -> Job | CannotAct:
        build = told(facts[self._build_query()])
        place = build.get("place")
        if isinstance(place, dict) and place.get("writable") is not True:
            summary = (
                f"{build.get('user')} may not write into {place.get('path')}, which belongs to {place.get('owner')}"
            )
            remedy = "Add `become: true` to the step." if place.get("owner") == "root" else None
            return CannotAct(summary, remedy)
        name = self.url.file_name if self.url is not None else (self.path or "").rpartition("/")[2]
        if (machine := _wrong_machine(name, str(build.get("machine")))) is not None:
            summary = f"{name} is for {machine}, and the node is {build.get('machine')}"
            return CannotAct(summary, "Name the runfile for the node's architecture (`_linux` or `_linux_sbsa`).")
        arguments = self._common("runfile")
        if self.url is not None:
            arguments["url"] = self.url.text
        else:
            arguments["path"] = self.path
        arguments["sha256"] = self.sha256
        source = self.url.shown if self.url is not None else self.path
        display = f"sh {name} --silent --toolkit --toolkitpath={self.prefix} --override  (from {source})"
        return Job((Task(kind="cuda_toolkit", arguments=arguments, display=display),))

    def _apt_job(self, facts: Facts) -> Job | CannotAct:
        build = told(facts[self._build_query()])
        if build.get("apt_get") is None:
            return CannotAct("the node has no apt-get", "Use `method: runfile`.")
        if build.get("uid") != 0:
            return CannotAct(f"{build.get('user')} may not install apt packages", "Add `become: true` to the step.")
        settings = (
            f"DPkg::Lock::Timeout={APT_LOCK_TIMEOUT_S}",
            "Dpkg::Options::=--force-confdef",
            "Dpkg::Options::=--force-confold",
        )
        options = [part for setting in settings for part in ("-o", setting)]
        argv = ["apt-get", "install", "-y", *_toolkit_apt.OPTIONS, "--no-remove", *options, *self._apt_packages()]
        arguments = self._common("apt")
        arguments["argv"] = tuple(argv)
        # Restarting services is for another step to do, in sight; nobody is there to answer a question.
        arguments["environment"] = {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_MODE": "l"}
        return Job((Task(kind="cuda_toolkit", arguments=arguments, display=" ".join(argv)),))

    @property
    def _wanted(self) -> _toolkit_apt.Toolkit:
        return _toolkit_apt.Toolkit(self._apt_packages(), self.release, self.default)

    def _apt_packages(self) -> tuple[str, ...]:
        if self.packages:
            return self.packages
        name = f"cuda-toolkit-{self.release.replace('.', '-')}"
        return (name if self.version == self.release else f"{name}={self.version}-*",)

    def _common(self, method: str) -> dict[str, Value]:
        return {"method": method, "prefix": self.prefix, "link": COMMON_LINK, "default": self.default}

    def _build_query(self) -> Query:
        return Query("toolkit_build", {"prefix": self.prefix, "link": COMMON_LINK})

    def _nvcc_query(self) -> Query:
        return Query("nvcc", {"prefix": self.prefix})


def _method(arguments: Arguments) -> Method:
    text = arguments.optional_text("method") or ("runfile" if "url" in arguments or "path" in arguments else "apt")
    try:
        return Method(text)
    except ValueError:
        raise arguments.invalid("method", "`method` is not one of its choices", expected="runfile, apt") from None


def _check_together(arguments: Arguments, method: Method) -> None:
    if method is Method.APT:
        for key in ("url", "path", "sha256"):
            if key in arguments:
                raise arguments.invalid(key, f"`{key}` belongs to `method: runfile`", remedy="remove it, or the method")
        return
    if "packages" in arguments:
        raise arguments.invalid("packages", "`packages` belongs to `method: apt`", remedy="remove it, or the method")
    if ("url" in arguments) == ("path" in arguments):
        what = "two runfiles" if "url" in arguments else "no runfile"
        key = "path" if "path" in arguments else "method"
        raise arguments.invalid(key, f"`cuda_toolkit` has {what}", expected="exactly one of `url`, `path`")
    if "url" in arguments and "sha256" not in arguments:
        summary = "a runfile that is downloaded and run needs its `sha256`"
        remedy = "add `sha256: …`; NVIDIA publishes md5 only, so take it from a copy that you trust (`sha256sum FILE`)"
        raise Invalid([Diagnosis(summary=summary, at=arguments.place("url"), remedy=remedy)])


def _prefix(arguments: Arguments, version: str, method: Method) -> str:
    usual = f"/usr/local/cuda-{'.'.join(version.split('.')[:2])}"
    prefix = arguments.text("prefix", usual).rstrip("/")
    if not prefix.startswith(("/", "~/")) or any(character.isspace() for character in prefix):
        expected = "a path that begins with / or ~/, without white space"
        raise arguments.invalid("prefix", "`prefix` is not a whole path", expected=expected)
    if prefix == COMMON_LINK:
        remedy = f"write `prefix: {usual}` and `default: true`"
        raise arguments.invalid("prefix", f"{COMMON_LINK} is the common link, not a toolkit's folder", remedy=remedy)
    if method is Method.APT and prefix != usual:
        remedy = f"remove `prefix`, or write `prefix: {usual}`"
        raise arguments.invalid("prefix", f"apt packages of {version} always go to {usual}", remedy=remedy)
    return prefix


def _packages(arguments: Arguments) -> tuple[str, ...]:
    names = arguments.texts("packages")
    wrong = []
    for index, name in enumerate(names):
        place = arguments.place("packages", index)
        bare = name.partition("=")[0]
        if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]+(=[A-Za-z0-9.+:~*-]+)?", name):
            wrong.append(Diagnosis(summary="not the name of an apt package", observed=name, at=place))
        elif _DRIVER_PACKAGE.fullmatch(bare):
            summary = f"{bare} brings a driver along; this action installs toolkits only"
            remedy = "write cuda-toolkit-X-Y, or parts of it such as cuda-nvcc-X-Y"
            wrong.append(Diagnosis(summary=summary, observed=name, at=place, remedy=remedy))
    if wrong:
        raise Invalid(wrong)
    return names


def _wrong_machine(name: str, machine: str) -> str | None:
    """Return what a runfile of this name is for when it is not for `machine`; None when it is, or does not say."""
    match = re.fullmatch(r"cuda_[\d.]+_[\d.]+_linux(_sbsa)?\.run", name)
    if match is None:
        return None
    meant = "aarch64" if match[1] else "x86_64"
    return meant if machine in ("x86_64", "aarch64") and machine != meant else None


KIND = CudaToolkit
