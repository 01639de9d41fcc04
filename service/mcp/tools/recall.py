"""What does this borrower's memory say about something?"""

from service.mcp.tool import Tool

TOOL = Tool(
    operation="recall",
    title="Look something up in a borrower's memory",
    description=(
        "Finds facts, past conversations and decisions of this one borrower by words, in English, Hinglish or Hindi. "
        "Each hit has its source and date. `current`: what may be acted upon; `history`: also what was replaced or "
        "decided on an older version. No hit means that nothing was said about it, not that it is not so."
    ),
    reads=True,
)
