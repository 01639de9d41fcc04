"""Something has happened."""

from service.mcp.tool import Tool

TOOL = Tool(
    operation="post_event",
    title="Tell that something has happened",
    description=(
        "Post what your own code did or saw happen: identity was verified, a link was sent, the borrower opted out. Never what "
        "somebody said happened. `event.event_id` makes it safe to send again: the same id and body count once. Each type "
        "needs the scope of whoever may tell it; payments and dues are the lender's systems' to tell."
    ),
    reads=False,
    whole="event",
)
