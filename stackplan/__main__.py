"""`python -m stackplan` is the command line."""

from stackplan.cli.main import main

if __name__ == "__main__":
    main()
