"""Files that people exchange with studies: observations in, trials out, graphs as text.

The command line and the web page read and write the same files.
"""
