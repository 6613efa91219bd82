"""The pages of a report: an index, a page for each paper and each study, and a ledger of claims."""

from partwhole.study.pages.site import FAILED as FAILED
from partwhole.study.pages.site import Entry as Entry
from partwhole.study.pages.site import NotRun as NotRun
from partwhole.study.pages.site import site as site
