"""A conclusion, kept with the version of the source that it rests on."""

from service.mcp.tool import Tool

TOOL = Tool(
    operation="take_decision",
    title="Keep a decision",
    description=(
        "Keep a conclusion that you drew about a borrower, with the source and the version of it that you read. It "
        "comes back `stale` at once when another version is known: read the source anew and decide anew. Name in "
        "`replaces` what it takes the place of."
    ),
    reads=False,
)
