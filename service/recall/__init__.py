"""Recall over one borrower's memory, and search across borrowers (API 7, DESIGN 11).

words      what a text is looked for by: its folded words, and how they sound
ranking    notes in the order in which they answer a query; the one interface that another ranking would have
notes      what of a borrower may be recalled, as it may be shown now
index      which borrowers' notes have which words, as keyed hashes; a pre-filter for searching across borrowers
across     who of all borrowers may answer a search: by the index, and by their records where it is behind
corrected  the index as a layer that a correction has to reach
finding    recall and search themselves
"""
