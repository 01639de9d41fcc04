"""What is remembered of the borrower?"""

from service.mcp.tool import Tool

TOOL = Tool(
    operation="get_facts",
    title="Facts about a borrower",
    description=(
        "Lasting facts, each with its source in words (`said`), when it was observed and until when it holds. `stated` was said "
        "outright, `inferred` was concluded from the borrower's words and may be asked about again."
    ),
    reads=True,
)
