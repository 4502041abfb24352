"""The interface of scikit-learn's estimators: parameters that can be read, set and copied, and what pipelines need."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from typing import Any, ClassVar, TypeVar

from ..errors import SignnapError, unknown_name
from ..registry import METHODS
from .settings import BaseSettings

E = TypeVar("E", bound="Estimator")


class Estimator:
    """Parameters that scikit-learn can read, set and copy, and what its pipelines need to know.

    The parameters keep the values that were given; None stands for the value of the preset. Each parameter is an
    attribute, too. Attributes that ``fit`` sets end in an underscore.
    """

    name: ClassVar[str]
    #: parameters that accept objects of the user's own, with the settings that such an object replaces
    own_parts: ClassVar[Mapping[str, Sequence[str]]] = {}

    _params: dict[str, Any]

    def __init_subclass__(cls, **options: Any) -> None:
        """Give each method a signature with its parameters, for scikit-learn and for readers."""
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
    def settings_class(cls) -> type[BaseSettings]:
        """The dataclass of this method's settings."""
        if cls.name not in METHODS:
            raise SignnapError(f"the method {cls.name!r} has no settings: expected a line in METHODS of registry.py")
        return METHODS[cls.name].settings_class()

    @classmethod
    def parameters(cls) -> list[str]:
        """The names of all parameters."""
        names = [field.name for field in fields(cls.settings_class())]
        return [*names, *(name for name in cls.own_parts if name not in names), "preset"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters as given; None stands for the value of the preset."""
        return dict(self._params)

    def set_params(self: E, **params: Any) -> E:
        """Change parameters. The error for an unknown parameter names the nearest one."""
        for name in params:
            if name not in self._params:
                raise unknown_name("parameter", name, self._params)
        if params.get("method") not in (None, self.name):
            raise SignnapError(f"method is {params['method']!r}, but this is {self.name!r}")
        self._params = self._params | params  # a new dict, because copies of this model share the old one
        return self

    def set_output(self: E, *, transform: str | None = None) -> E:
        """Let ``transform`` return arrays ("default"), or data frames with the graph's ids as index ("pandas")."""
        if transform not in (None, "default", "pandas"):
            raise SignnapError(f"transform is {transform!r}: expected default or pandas")
        if transform == "pandas":
            _expect_pandas()
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # the name that scikit-learn's clone copies
        return self

    def _twin(self: E, **changes: Any) -> E:
        """An estimator with the same parameters except ``changes``, not fitted."""
        twin = type(self)(**self._params | changes)
        return twin.set_output(transform=vars(self).get("_sklearn_output_config", {}).get("transform"))

    def __getattr__(self, name: str) -> Any:
        """A parameter. ``copy`` asks for attributes before there are any parameters."""
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
        """The tags of a transformer. scikit-learn is the only caller, so it is loaded already."""
        from sklearn.utils import Tags, TargetTags, TransformerTags

        return Tags(None, TargetTags(required=False), TransformerTags(), no_validation=True)

    def _expect_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise SignnapError(f"this {type(self).__name__} is not fitted yet: call fit first")


def _expect_pandas() -> None:
    """Raise an error before training if pandas, which is not among the dependencies, is not installed."""
    try:
        import_module("pandas")
    except ImportError as error:
        raise SignnapError("transform is 'pandas', which is not installed") from error
