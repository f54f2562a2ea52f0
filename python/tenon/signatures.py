"""What inspect.signature() says of functions and classes that are C++'s.

pybind11 writes names, types and defaults into the first line of a docstring, where no program looks for them.
"""

import ast
import inspect
import re

_ARGUMENT = re.compile(r"(\w+): [\w.\[\], ]+?(?: = (.+?))?(?=, \w+: |\) -> \w+$)")


def _default(text):
    if not text:
        return inspect.Parameter.empty
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):  # an object that is no literal
        return None


def of(arguments, **keywords):
    """Of (name, default) pairs, and of arguments that are given by name alone."""
    kinds = inspect.Parameter
    shown = [kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=default) for name, default in arguments]
    has_default = False
    for i, one in enumerate(shown):  # of overloads; Python wants defaults last
        has_default = has_default or one.default is not kinds.empty
        if has_default and one.default is kinds.empty:
            shown[i] = one.replace(default=None)
    names = {one.name for one in shown}
    shown += [kinds(name, kinds.KEYWORD_ONLY, default=default) for name, default in keywords.items() if name not in names]
    return inspect.Signature(shown)


def of_docstring(doc, **keywords):
    """Of the first line of a docstring."""
    line = (doc or "").split("\n", 1)[0]
    return of([(name, _default(default)) for name, default in _ARGUMENT.findall(line)], **keywords)
