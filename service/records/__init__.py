"""What is stored of borrowers, and how it is read back: records, links, the journal, lists.

Functions of a connection, to be given to `database.read` or `database.write`. Every one takes the tenant and, where it reads
notes or conversations, the borrower, and filters by them first. Nothing is concluded here: derived columns are computed from a
state that the writer hands over (`derived`), and are rebuilt, never merged back.

A provisional borrower that turned out to be somebody answers with that one; what was told of it is told of that one too, but
for what took effect before it was theirs (`journal.sources_of`).

    borrower     one record, and whose an identifier or a loan is
    journal      what was merged; the time line; all that is stored of one borrower
    journeys     lists across borrowers
    operations   what came in and came again, missing reports, what is not merged yet
    aside        what was kept and not merged
    beside       what is kept beside a record for lists and look-ups
    saving       records over the version that was read
    pages        cursors
"""

from service.records.aside import (
    REASONS,
    SET_ASIDE,
    Aside,
    open_set_aside,
    put_aside,
    set_aside,
    set_aside_conflict,
    set_aside_item,
    set_aside_open,
    set_aside_open_by_reason,
    settle_set_aside,
)
from service.records.beside import CALLBACK, Derived, Row, derived, save_derived, stored_derived, stored_derived_each
from service.records.borrower import (
    BORROWER,
    IDENTIFIER,
    LOAN,
    Stored,
    borrowers_of,
    borrowers_of_each,
    held,
    is_provisional,
    owners_of_each,
    owners_of_loan,
    resolve_id,
    stored,
    stored_each,
    time_zone_of,
)
from service.records.journal import (
    EVENTS_SINCE,
    HIDDEN,
    JOURNAL,
    Merged,
    bodies,
    ended_at,
    events_since,
    export,
    is_merged,
    merged_entries,
    merged_entry,
    timeline,
)
from service.records.journeys import FLAGS, JOURNEY, borrowers
from service.records.operations import (
    REPEAT,
    STARTED,
    count_repeat,
    count_repeats,
    counted,
    is_behind,
    merged_up_to,
    missing_page,
    missing_reports,
    unmerged,
)
from service.records.pages import WHOLE_NUMBERS, BadCursor, Page
from service.records.saving import (
    Save,
    add_to_journal,
    record_row,
    redirect_of,
    remove_record,
    replace_record,
    save_each,
    save_record,
)

__all__ = [
    "BORROWER",
    "CALLBACK",
    "EVENTS_SINCE",
    "FLAGS",
    "HIDDEN",
    "IDENTIFIER",
    "JOURNAL",
    "JOURNEY",
    "LOAN",
    "REASONS",
    "REPEAT",
    "SET_ASIDE",
    "STARTED",
    "WHOLE_NUMBERS",
    "Aside",
    "BadCursor",
    "Derived",
    "Merged",
    "Page",
    "Row",
    "Save",
    "Stored",
    "add_to_journal",
    "bodies",
    "borrowers",
    "borrowers_of",
    "borrowers_of_each",
    "count_repeat",
    "count_repeats",
    "counted",
    "derived",
    "ended_at",
    "events_since",
    "export",
    "held",
    "is_behind",
    "is_merged",
    "is_provisional",
    "merged_entries",
    "merged_entry",
    "merged_up_to",
    "missing_page",
    "missing_reports",
    "open_set_aside",
    "owners_of_each",
    "owners_of_loan",
    "put_aside",
    "record_row",
    "redirect_of",
    "remove_record",
    "replace_record",
    "resolve_id",
    "save_derived",
    "save_each",
    "save_record",
    "set_aside",
    "set_aside_conflict",
    "set_aside_item",
    "set_aside_open",
    "set_aside_open_by_reason",
    "settle_set_aside",
    "stored",
    "stored_derived",
    "stored_derived_each",
    "stored_each",
    "time_zone_of",
    "timeline",
    "unmerged",
]
