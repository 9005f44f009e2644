"""Ask/tell: choose what to evaluate next, record the results, know when to stop."""

import re

AGAIN = ", measured again"  # ends the key of a result that was told before and measured again
# The key of a row without one of its own, or of a trial: the file or the study, then which, and a
# digest of what else the row says.
ROW_KEY = re.compile(
    rf"(?P<file>.*), (?P<place>(?:row|trial) [0-9]+)(?P<notes> \([0-9a-f]{{8}}\))?(?P<again>{AGAIN})?",
    re.DOTALL,
)
