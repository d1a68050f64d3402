"""The kinds of grouping, one a file; `comind.splits.grouping` finds them.

column        equal cells of a column
date          the day of a time
id_parts      parts of composite ids: runs of letters and digits
prefix        what precedes the last separator, or the first characters
series        ids of time series, without their date or number
pixel_ids     ids of pixels, of one picture
blocks        blocks of the plane over two coordinates
duplicates    equal and nearly equal rows
"""
