"""What ends by its retention (DESIGN 11, 18): at every read at once, and from the tables by a job with a receipt.

reading  a stored entry as it may be told now: without turns, prose and facts whose time is over
job      what is past its retention goes from the tables; what was forgotten is looked for again where no writer sees it come
"""
