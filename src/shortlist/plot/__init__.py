"""Pictures of studies, comparisons and drug screens."""

from __future__ import annotations

from shortlist.plot.comparison import LABEL_WIDTH as LABEL_WIDTH
from shortlist.plot.comparison import LOG_FROM as LOG_FROM
from shortlist.plot.comparison import Share as Share
from shortlist.plot.comparison import samples as samples
from shortlist.plot.comparison import shares as shares
from shortlist.plot.drug_screen import LABELS as LABELS
from shortlist.plot.drug_screen import rewards as rewards
from shortlist.plot.feature_plane import plane as plane
from shortlist.plot.figure import COLOURS as COLOURS
from shortlist.plot.figure import FRAME as FRAME
from shortlist.plot.figure import ROW as ROW
from shortlist.plot.figure import SHARE_ROW as SHARE_ROW
from shortlist.plot.figure import save as save
from shortlist.plot.figure import stack as stack
from shortlist.plot.interval_rows import answer as answer
from shortlist.plot.interval_rows import intervals as intervals
from shortlist.plot.over_time import shrinking as shrinking
from shortlist.plot.pull_bars import pulls as pulls
from shortlist.plot.towards_stop import stopping as stopping
