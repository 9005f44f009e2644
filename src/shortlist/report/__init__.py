"""A study as one HTML page, for a reader who was not there."""

from shortlist.report.page import html as html
from shortlist.report.page import write as write
