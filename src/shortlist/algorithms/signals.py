"""What the compiled loops are told by numbers and bits, and what they say when they return."""

PULL, STOP, DESIGN_WANTED, SINGULAR = 0, 1, 2, 3
BAD_CANDIDATES, BAD_AMBIGUOUS, BAD_SELECTION = 4, 5, 6  # a user's rule out of bounds
ROOM_WANTED, SHARES_WANTED = 7, 8  # by an allocation
PILOT_ENDS = -1
STOPPED, EXHAUSTED = 1, 0
MTH_GAPS, OUTSIDE_GAPS, DESIGN, BOTH, LAGGED = 1, 2, 4, 8, 16
CHECK_STOP, INITIALIZED, CANDIDATES_MAY_STAY, TARGET, PILOT = 32, 64, 128, 256, 512
SCREENED = 2048
# Places of the rules in ``Settings.numbers``, and of the allocation.
INDICES_RULE, THRESHOLD_RULE, CANDIDATES_RULE, AMBIGUOUS_RULE = 0, 1, 2, 3
SELECTION_RULE, STOPPING_RULE, ALLOCATION_USED = 4, 5, 6
