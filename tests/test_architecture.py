"""What holds of the code as a whole: who may import whom, what the core may not touch, and what is a table in the contract.

Who may import whom is stated as contracts of import-linter in `pyproject.toml`, which `make check` reads. The one between the
packages holds here as well, so that it is seen by whoever runs the tests alone, and for what is imported from the tests.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import msgspec
import pytest

from channels import CHANNELS
from service.intake.receive import SCOPE_OF
from service.keys import SCOPES
from service.web.app import application
from statemachine import elements, record, stamps
from statemachine.elements import Element, Value
from statemachine.entries import EVENT_TYPES, Event, Summary
from statemachine.wire import CHANNELS as NAMES_OF_CHANNELS
from statemachine.wire import MESSAGE_OUTCOMES, OUTCOMES
from tests.work import grows_linearly

ROOT = Path(__file__).parents[1]
PACKAGES = ("statemachine", "channels", "service")


def modules(*folders: str, with_one_of: Iterable[str] = ()) -> Iterator[tuple[str, ast.Module]]:
    """Every module beneath these folders, by its dotted name; those alone in whose text one of these words stands."""
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*.py")):
            name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            if not with_one_of or any(word in text_of(file) for word in with_one_of):
                yield name, parsed(file)


@pytest.fixture(scope="module", autouse=True)
def _trees() -> Iterator[None]:
    """Let go at the end: they are more objects than all the rest of a run, and whoever looks for garbage looks at each."""
    yield
    for kept in (text_of, parsed, imported):
        kept.cache_clear()


@cache
def text_of(file: Path) -> str:
    return file.read_text()


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(text_of(file), str(file))


@cache
def imported(tree: ast.AST) -> set[str]:
    """What is imported anywhere in it, as `module` and `module.name`."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _is_of(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


# -- who imports whom ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_point_down_only(package: str) -> None:
    above = PACKAGES[PACKAGES.index(package) + 1 :]
    wrong = {
        (module, name)
        for module, tree in modules(package)
        for name in imported(tree)
        if any(_is_of(name, other) for other in (*above, "tests"))
    }
    assert wrong == set()


def test_every_folder_of_code_is_a_package() -> None:
    """The contracts are read over packages: a folder that is none is imported all the same, and by no contract seen."""
    folders = {file.parent for package in PACKAGES for file in (ROOT / package).rglob("*.py")}
    assert {str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").exists()} == set()


PARTS = {
    "SqliteDatabase", "PostgresDatabase", "TableLog", "TableIntake", "KafkaLog", "KafkaIntake", "Outbox", "Writer",
    "Outcomes", "Keyring", "Reader", "Resumes", "Keeper", "Chats", "Sweeper", "Summariser", "Guarded", "Endpoint",
    "TableBeside", "Proposals", "Proposer",
}  # fmt: skip

STORES = {"SqliteDatabase", "PostgresDatabase"}


def test_wiring_alone_builds_the_parts_of_a_service() -> None:
    """But for the store, which commands open without the service."""
    built: dict[str, set[str]] = {}
    for module, tree in modules(*PACKAGES):
        names = {_called(node) for node in ast.walk(tree) if isinstance(node, ast.Call)} & PARTS
        if names:
            built.setdefault("service.wiring" if _is_of(module, "service.wiring") else module, set()).update(names)
    assert built == {"service.store": STORES, "service.wiring": PARTS - STORES}


def _called(call: ast.Call) -> str | None:
    """`Part` of `Part(...)` and of `Part.open(...)`."""
    match call.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=name), attr="open"):
            return name
    return None


# -- the core ------------------------------------------------------------------------------------------------------------

CORE_LIBRARIES = {"msgspec", "pydantic", "pydantic_core", "transitions"}
NOT_IN_THE_CORE = {
    "asyncio", "contextvars", "io", "logging", "multiprocessing", "os", "pathlib", "queue", "random", "secrets", "select",
    "shelve", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "sys", "tempfile", "threading", "time", "urllib",
    "uuid", "warnings",
}  # fmt: skip
CLOCKS = {"now", "today", "utcnow", "fromtimestamp", "utcfromtimestamp"}
OUTWARD = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}


def test_the_core_stands_on_the_standard_library_pydantic_and_transitions() -> None:
    wrong = {
        (module, name)
        for module, tree in modules("statemachine")
        for name in (imported_.partition(".")[0] for imported_ in imported(tree))
        if name in NOT_IN_THE_CORE or name not in {*sys.stdlib_module_names, *CORE_LIBRARIES, "statemachine"}
    }
    assert wrong == set()


def test_the_core_reads_no_clock_waits_for_nothing_and_speaks_to_nobody() -> None:
    wrong = []
    for module, tree in modules("statemachine"):
        for node in ast.walk(tree):
            is_clock = isinstance(node, ast.Attribute) and node.attr in CLOCKS
            is_outward = isinstance(node, ast.Name) and node.id in OUTWARD
            if (
                is_clock
                or is_outward
                or isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith)
            ):
                wrong.append((module, node.lineno, ast.unparse(node)[:60]))
    assert wrong == []


@pytest.mark.process
def test_an_agent_can_run_the_floor_in_its_own_process() -> None:
    """Importing the core brings in nothing of ours above it, and no third library but what those two stand on."""
    script = (
        "import json, sys; before = set(sys.modules); import statemachine.floor, statemachine.merge, statemachine.state;"
        "print(json.dumps(sorted({m.partition('.')[0] for m in set(sys.modules) - before})))"
    )
    told = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    others = {name for name in json.loads(told.stdout) if not name.startswith("_")} - set(sys.stdlib_module_names)
    assert others <= {
        "statemachine", *CORE_LIBRARIES, "annotated_types", "six", "typing_extensions", "typing_inspection",
    }  # fmt: skip
    assert {"statemachine", "pydantic"} <= others


# -- canonical bytes -----------------------------------------------------------------------------------------------------


def stored_values() -> set[type[Value]]:
    """Every class of pydantic's whose bytes are stored."""
    found: set[type[Value]] = set()
    waiting: list[type[Value]] = [Value]
    while waiting:
        for cls in waiting.pop().__subclasses__():
            if cls.__module__ in (elements.__name__, record.__name__, stamps.__name__) and cls not in found:
                found.add(cls)
                waiting.append(cls)
    return found


def test_the_fields_of_what_is_stored_stand_in_the_order_of_the_alphabet() -> None:
    """Which makes its bytes canonical: pydantic writes fields as they are declared. Elements and records sort theirs."""
    wrong = {cls.__name__: list(cls.model_fields) for cls in stored_values()}
    assert {name: fields for name, fields in wrong.items() if fields != sorted(fields)} == {}
    assert {"FactSaid", "Tombstone", "Stamps", "EvidenceJoined"} <= wrong.keys()


def test_every_element_can_be_told_from_the_others_and_is_kept_somewhere() -> None:
    kept = Element.__subclasses__()
    assert set(kept) == set(get_args(elements.AnyElement))
    kinds = {str(cls.__struct_config__.tag) for cls in kept}
    assert len(kinds) == len(kept) >= 17


def test_nothing_stored_is_a_float() -> None:
    fields = [(cls, name, field.annotation) for cls in stored_values() for name, field in cls.model_fields.items()]
    for cls in Element.__subclasses__():
        fields += [(cls, field.name, field.type) for field in msgspec.structs.fields(cls)]
    assert [(cls.__name__, name) for cls, name, kind in fields if "float" in str(kind)] == []
    assert len(fields) > 200


# -- tables of the contract ------------------------------------------------------------------------------------------------

# API 4: own fields, `*` required; who may send. What every event has is left out.
EVENTS = """
identity.verified      identifier* method*                                             A L O
identity.revoked       identifier reason*                                              A O
reminder.sent          channel* message_id* outcome*                                   A
payment_link.shared    channel* message_id* outcome*                                   A
payment.confirmed      payment_ref* amount* currency* settles                          L
payment.reversed       payment_ref* reason* amount currency                            L
promise.broken         due_date                                                        L
promise.retracted      reason* conversation_id                                         O
cycle.opened           borrower_id* cycle_id* loan_id* due_date* amount_due* currency* L
cycle.closed           cycle_id* loan_id* reason*                                      L O
contact.opted_out      channel* purpose                                                A L O
contact.opted_in       channel* purpose                                                A O
hold.placed            kind* reason* until                                             A L O
hold.lifted            kind* reason*                                                   O L
identifier.linked      borrower_id* identifier* time_zone                              L O
identifier.unlinked    borrower_id* identifier* reason*                                L O
conversation.started   channel* conversation_id* direction resume_id entered_state     A
conversation.message   channel* conversation_id* message_id* speaker* text* replaces deleted  A
conversation.ended     channel* conversation_id*                                       A
fact.stated            kind* text*                                                     A L O
"""
COMMON = {"event_id", "type", "occurred_at", "borrower_id", "identifier", "loan_id", "cycle_id", "channel",
          "conversation_id", "extra"}  # fmt: skip
ALWAYS_REQUIRED = {"event_id", "type", "occurred_at"}


def events_of_the_contract() -> Mapping[str, tuple[dict[str, bool], set[str]]]:
    """By type: its own fields and whether each is required, and the letters of who may send it."""
    table = {}
    for line in EVENTS.strip().splitlines():
        type_, *words = line.split()
        fields = {word.rstrip("*"): word.endswith("*") for word in words if word not in SCOPE_OF}
        table[type_] = (fields, {word for word in words if word in SCOPE_OF})
    return table


def test_there_are_the_events_of_the_contract_and_no_others() -> None:
    assert EVENT_TYPES.keys() == events_of_the_contract().keys()


@pytest.mark.parametrize("type_", EVENT_TYPES)
def test_an_event_has_the_fields_and_the_senders_of_the_contract(type_: str) -> None:
    fields, senders = events_of_the_contract()[type_]
    event = EVENT_TYPES[type_]
    assert set(event.senders) == senders
    assert event.model_fields.keys() == COMMON | fields.keys()
    required = {name for name, field in event.model_fields.items() if field.is_required()}
    assert required == ALWAYS_REQUIRED | {name for name, is_required in fields.items() if is_required}


def test_the_letters_of_senders_are_scopes() -> None:
    assert SCOPE_OF == {"A": "events:agent", "L": "events:ledger", "O": "events:ops"}
    assert set(SCOPE_OF.values()) < set(SCOPES)
    assert set(SCOPES) == {"read", *SCOPE_OF.values(), "search:all", "privacy", "ops"}


def test_a_summary_has_no_field_that_could_set_a_flag() -> None:
    """It shares with events who it is about and where it belongs, and nothing else (DESIGN 5)."""
    own = {name for event in EVENT_TYPES.values() for name in event.model_fields} - COMMON
    shared = own & Summary.model_fields.keys()
    assert shared == {"direction", "resume_id", "entered_state", "outcome"}
    assert not set(MESSAGE_OUTCOMES) & set(OUTCOMES) - {"failed"}, "of a message, and of a conversation"
    assert not issubclass(Summary, Event)


# API 2: every call there is, with the scope that its key needs.
CALLS = """
POST /v1/summaries                          post_summary         events:agent
POST /v1/events                             post_event           -
POST /v1/events/batch                       post_events          -
POST /v1/resume                             resume               read
POST /v1/borrowers/lookup                   lookup               read
GET  /v1/borrowers/{borrower_id}            get_borrower         read
GET  /v1/borrowers/{borrower_id}/briefing   get_briefing         read
GET  /v1/borrowers/{borrower_id}/facts      get_facts            read
GET  /v1/borrowers/{borrower_id}/flags      get_flags            read
GET  /v1/borrowers/{borrower_id}/timeline   get_timeline         read
POST /v1/borrowers/{borrower_id}/permits    take_permit          events:agent
POST /v1/borrowers/{borrower_id}/recall     recall               read
POST /v1/borrowers/{borrower_id}/forget     forget               privacy
POST /v1/search                             search               search:all
POST /v1/borrowers/{borrower_id}/context    context              read
GET  /v1/borrowers/{borrower_id}/decisions  get_decisions        read
POST /v1/decisions                          take_decision        events:agent
POST /v1/decisions/{decision_id}/check      check_decision       events:agent
POST /v1/sources                            report_source        events:agent
GET  /v1/borrowers/{borrower_id}/export     export_borrower      privacy
GET  /v1/borrowers                          list_borrowers       search:all
GET  /v1/ops/stats                          get_stats            ops
GET  /v1/ops/set-aside                      list_set_aside       ops
POST /v1/ops/set-aside/{id}/retry           retry_set_aside      events:ops
GET  /v1/ops/corrections                    list_corrections     ops
GET  /v1/ops/claims                         list_untraceable_claims ops
GET  /v1/ops/screening-examples             list_screening_examples ops
POST /v1/ops/screening-examples             add_screening_example events:ops
GET  /v1/ops/missing-reports                list_missing_reports ops
GET  /v1/ops/resumes                        list_resumes         ops
GET  /v1/ops/rollout                        get_rollout          ops
GET  /v1/ops/summaries-waiting              list_summaries_waiting ops
POST /hooks/{channel}/{vendor}/{hook_id}    take_hook            none
GET  /hooks/{channel}/{vendor}/{hook_id}    greet_hook           none
GET  /healthz                               healthz              none
GET  /readyz                                readyz               none
GET  /metrics                               metrics              none
"""


@cache
def calls_of_the_application() -> dict[tuple[str, str], dict[str, Any]]:
    document = application(SimpleNamespace(observe=None)).openapi()  # type: ignore[arg-type]
    return {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_every_call_needs_the_scope_of_the_contract() -> None:
    """`-`: the type of the event decides, within the call. A call that is added has to be added here."""
    expected = {(method, path): (id_, scope) for method, path, id_, scope in map(str.split, CALLS.strip().splitlines())}
    found = {}
    for key, operation in calls_of_the_application().items():
        told = operation.get("description", "").partition("Needs the scope `")[2].partition("`")[0]
        found[key] = (operation["operationId"], told or ("-" if operation.get("security") else "none"))
    assert found == expected


def test_reads_of_notes_and_conversations_name_their_borrower() -> None:
    """What is read with `read` is of one named borrower; what reads across them has a scope of its own (DESIGN 11)."""
    across = {"lookup", "resume"}  # they find the borrower, and answer of no other
    for (method, path), operation in calls_of_the_application().items():
        if "Needs the scope `read`" in operation.get("description", "") and operation["operationId"] not in across:
            assert path.startswith("/v1/borrowers/{borrower_id}"), (method, path)


def test_every_channel_is_one_that_entries_know() -> None:
    assert tuple(CHANNELS) == NAMES_OF_CHANNELS


# -- the tests themselves --------------------------------------------------------------------------------------------------

STOPWATCHES = {"perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time", "timeit"}


def test_no_unit_test_asserts_a_time() -> None:
    """Speed is measured among the benchmarks, as a ratio within one run; a clock in an assertion fails on a busy machine."""
    wrong = []
    for module, tree in modules("tests/statemachine", "tests/channels", "tests/service", with_one_of=STOPWATCHES):
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_benchmark(function):
                timed = {
                    target.id
                    for node in ast.walk(function)
                    if isinstance(node, ast.Assign) and _reads_a_stopwatch(node.value)
                    for target in node.targets
                    if isinstance(target, ast.Name)
                }
                for node in ast.walk(function):
                    if isinstance(node, ast.Assert) and (_reads_a_stopwatch(node.test) or _names(node.test) & timed):
                        wrong.append((module, node.lineno))
    assert wrong == []


def _is_benchmark(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(decorator) == "pytest.mark.benchmark" for decorator in function.decorator_list)


def _reads_a_stopwatch(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Attribute | ast.Name) and _name(n) in STOPWATCHES for n in ast.walk(node))


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _name(node: ast.Attribute | ast.Name) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


def test_counted_work_tells_linear_from_quadratic() -> None:
    def linear(size: int) -> None:
        for _ in range(size):
            abs(size)

    def quadratic(size: int) -> None:
        for _ in range(size):
            linear(size)

    assert grows_linearly(linear, 100)
    assert not grows_linearly(quadratic, 100)


def test_no_test_is_skipped_for_good() -> None:
    """Whoever skips says within the test what is not there; the run names it."""
    for_good = {"pytest.mark.skip", "pytest.mark.skipif", "pytest.mark.xfail"}
    found = [
        (module, node.lineno)
        for module, tree in modules("tests", with_one_of=("skip", "xfail"))
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in for_good
    ]
    assert found == []
