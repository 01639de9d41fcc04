"""The calls of the API as tools for agents that speak the Model Context Protocol, at `/mcp` (DESIGN 14).

    tool       what a tool is: an operation of the API under its own name, and what a model is told of it
    tools/     one file for each tool; a new one is a file there and nothing else
    asking     a tool's arguments become a request of the operation, which answers as it does over HTTP
    protocol   the protocol itself, by its own library; loaded when the first agent asks

A tool has no rules of its own: the key, its scopes and tenant, the strict reading and every refusal are the operation's.
"""
