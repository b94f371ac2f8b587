"""How the lab says that it cannot run: as invalid input with a remedy, which the command line words and exits 2 for."""

from stackplan.model.diagnosis import Diagnosis, Invalid


class LabFailed(Invalid):
    """The lab cannot be started, found or ended; the one diagnosis says why and what to do."""

    def __init__(self, summary: str, *, observed: str | None = None, remedy: str | None = None) -> None:
        super().__init__([Diagnosis(summary=summary, observed=observed, remedy=remedy)])
        self.summary = summary
        self.observed = observed
        self.remedy = remedy
