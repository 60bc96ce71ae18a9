"""The program `lumos`: `python -m lumos replay traces/` does what the command of the same words does."""

import sys
import warnings

import lumos


def main() -> int:
    warnings.showwarning = lambda message, *_: print(f"lumos: {message}", file=sys.stderr)
    try:
        sys.stdout.write(lumos.run(*sys.argv[1:]))
    except (lumos.LumosError, lumos.Interrupted) as error:
        print(f"lumos: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("\nlumos: interrupted", file=sys.stderr)
        return lumos.Interrupted.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
