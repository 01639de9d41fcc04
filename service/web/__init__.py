"""The way in over HTTP, for every call alike (API 1, 14).

    serving     a server, until the process is told to stop
    edge        the outermost layer: sizes, times, rates, one line of log for each request
    app         the application: layers, routes, pages
    calls       how one call is declared: its key, its scope, its strictly read body
    invalid     a body that a model does not take, told by field
    rendering   whatever was raised, as the refusal that is answered
    answers     the shapes of answers, for the document of the calls

What is asked, the routes know (`service.routes`, `service.pages`, `service.mcp`); refusals are named in `service.errors`.
"""
