"""The command line: parse words, call one function, print."""
