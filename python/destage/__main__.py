"""`python -m destage` is the command `destage`."""

from destage.cli import main

if __name__ == "__main__":
    main()
