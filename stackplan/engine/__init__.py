"""The heart: plan, judge and fold are pure; execute, rollout and journal do the I/O.

The engine knows no kind of condition or action, no installer and no transport by name, and not how a report is shown.
"""
