"""What of a node's environment would surprise a playbook: pure functions from facts to findings, one file a finding.

`subject` says what a playbook's kinds are concerned with and asks; `told` reads the answer; `audit` has every module of
`findings` look at it. Imports model only.
"""
