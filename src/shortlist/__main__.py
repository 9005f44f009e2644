"""``python -m shortlist`` is the program ``shortlist``."""

from shortlist.cli.app import main

if __name__ == "__main__":
    main()
