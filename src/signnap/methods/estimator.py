"""scikit-learn's manners: parameters that can be read, set and copied, and what a pipeline asks of its steps."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from typing import Any, ClassVar, TypeVar

from ..errors import SignnapError, unknown_name
from .settings import METHODS

E = TypeVar("E", bound="Estimator")


class Estimator:
    """Holds the keywords that it was made with, as they were given; None means that the preset decides.

    Each is an attribute, too. What ``fit`` finds out ends in an underscore.
    """

    name: ClassVar[str]
    #: keywords that take objects of the user's own, and the settings that such an object leaves without use
    own_parts: ClassVar[Mapping[str, Sequence[str]]] = {}

    _params: dict[str, Any]

    def __init_subclass__(cls, **options: Any) -> None:
        """Show scikit-learn, and readers, the keywords of a method."""
        super().__init_subclass__(**options)
        if hasattr(cls, "name"):
            stated = inspect.signature(cls.__init__).parameters
            keyword = lambda name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
            shown = [stated.get(n, keyword(n)).replace(annotation=inspect.Parameter.empty) for n in cls.parameters()]
            cls.__signature__ = inspect.Signature(sorted(shown, key=lambda each: each.kind))  # type: ignore[attr-defined]

    def __init__(self, *, preset: str = "paper", **settings: Any) -> None:
        self._params = dict.fromkeys(self.parameters())
        self.set_params(preset=preset, **settings)

    @classmethod
    def parameters(cls) -> list[str]:
        """The names of all keywords."""
        if cls.name not in METHODS:
            raise SignnapError(
                f"the method {cls.name!r} has no settings: expected them in METHODS of methods/settings.py"
            )
        names = [field.name for field in fields(METHODS[cls.name])]
        return [*names, *(name for name in cls.own_parts if name not in names), "preset"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters as given; None means that the preset decides."""
        return dict(self._params)

    def set_params(self: E, **params: Any) -> E:
        """Change parameters; an unknown one is an error naming the nearest."""
        for name in params:
            if name not in self._params:
                raise unknown_name("parameter", name, self._params)
        if params.get("method") not in (None, self.name):
            raise SignnapError(f"method is {params['method']!r}, but this is {self.name!r}")
        self._params = self._params | params  # copies of this model keep theirs
        return self

    def set_output(self: E, *, transform: str | None = None) -> E:
        """Have ``transform`` return arrays ("default"), or data frames whose index has the graph's ids ("pandas")."""
        if transform not in (None, "default", "pandas"):
            raise SignnapError(f"transform is {transform!r}: expected default or pandas")
        if transform == "pandas":
            _expect_pandas()
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # scikit-learn's clone copies what has this name
        return self

    def _twin(self: E, **changes: Any) -> E:
        """An estimator like this, not fitted, with other parameters."""
        twin = type(self)(**self._params | changes)
        return twin.set_output(transform=vars(self).get("_sklearn_output_config", {}).get("transform"))

    def __getattr__(self, name: str) -> Any:
        """A parameter; whoever copies an instance asks before there are any."""
        try:
            return vars(self)["_params"][name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self).get("_params", ()):
            self.set_params(**{name: value})
        else:
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._params.items() if value is not None)
        return f"{type(self).__name__}({given})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "encoder_")

    def __sklearn_tags__(self) -> Any:
        """What a pipeline asks of its steps; whoever calls this has loaded scikit-learn already."""
        from sklearn.utils import Tags, TargetTags, TransformerTags

        return Tags(None, TargetTags(required=False), TransformerTags(), no_validation=True)

    def _expect_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise SignnapError(f"this {type(self).__name__} is not fitted yet: call fit first")


def _expect_pandas() -> None:
    """Data frames need what is not among the dependencies: say so before anything is trained."""
    try:
        import_module("pandas")
    except ImportError as error:
        raise SignnapError("transform is 'pandas', which is not installed") from error
