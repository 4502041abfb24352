"""``python -m signnap`` is the same program as ``signnap``."""

from .cli import main

if __name__ == "__main__":
    main()
