"""May this decision still be acted upon?"""

from service.mcp.tool import Tool

TOOL = Tool(
    operation="check_decision",
    title="Check a decision before acting on it",
    description=(
        "Ask right before you act on a decision, with `source_version` if you have just read the source. "
        "`stale_context`: do not act, and conclude nothing, also not the opposite. `source_unavailable`: nobody "
        "knows, do not act."
    ),
    reads=False,
)
