"""The operations room at `/ops`: pages that a collections team has open all day (DESIGN 16).

Made on the server, read without a script, with data from the same functions that answer the API's calls. Whatever is done
here is done by posting an event through the same intake as everybody's, or through the function behind the same call.

    session      who has signed in, and that a form came from one of our pages
    page         how a page is declared, drawn and refused
    drawing      templates, and how times, money and numbers are written in them
    reading      one borrower as the pages see them
    counts       what is counted, kept for as long as counting it took, many times over
    actions      what a person may do, each behind a page that asks whether it is meant
    tables       lists as files
"""
