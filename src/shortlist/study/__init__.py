"""Ask/tell: choose what to evaluate next, record the results, know when to stop."""

import re

AGAIN = ", measured again"  # ends the key of a result that was told before and measured again
# The key of a row without one of its own, or of a trial: the file or the study, then which.
ROW_KEY = re.compile(rf"(.*), ((?:row|trial) [0-9]+)({AGAIN})?", re.DOTALL)
