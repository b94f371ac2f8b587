"""One file a finding, each with `find(told, subject)`; `stackplan.audit.audit` finds them by their place."""
